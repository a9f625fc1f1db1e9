import pytest

from onelog.binary.fields import Lengths, Order, array32, bytes32, i8, i32, struct, text16, text_uvarint, uuid
from onelog.binary.layout import Form, declaration_of, form_of, least_bytes_of, placed, prefix_of
from onelog.binary.message import SIGNED, message


@message()
class Part:
    number: int = i32()
    id: object = uuid(since=3)


@message(flexible=2, lengths=SIGNED)
class Whole:
    name: str = text16(until=2)
    parts: list[Part] = array32(Part)
    one: Part = struct(Part)
    second: str = text16(tag=2)
    first: str = text16(tag=1, tag_since=3)


WHOLE = declaration_of(Whole)


@pytest.mark.parametrize(
    ("version", "plain", "tagged", "absent"),
    [
        (1, ["name", "parts", "one", "first"], [], ["second"]),
        (2, ["name", "parts", "one", "first"], ["second"], []),
        (3, ["parts", "one"], ["first", "second"], ["name"]),
    ],
)
def test_a_field_is_in_order_or_tagged_or_not_there(
    version: int, plain: list[str], tagged: list[str], absent: list[str]
) -> None:
    places = placed(WHOLE, form_of(WHOLE, version))
    assert [list(places.plain), list(places.tagged), list(places.absent)] == [plain, tagged, absent]


@pytest.mark.parametrize(
    ("version", "least"), [(1, 2 + 4 + 4 + 2), (2, 1 + 1 + (4 + 1) + 1 + 1), (3, 1 + (4 + 16 + 1) + 1)]
)
def test_the_fewest_bytes_of_a_struct_are_known(version: int, least: int) -> None:
    assert least_bytes_of(WHOLE, form_of(WHOLE, version)) == least


@pytest.mark.parametrize(
    ("field", "lengths", "flexible", "code", "is_compact"),
    [
        (text16(), Lengths.UNSIGNED, False, "H", False),
        (text16(), Lengths.SIGNED, False, "h", False),
        (text16(nullable=True), Lengths.UNSIGNED, False, "h", False),
        (bytes32(), Lengths.LENIENT, False, "i", False),
        (text16(), Lengths.SIGNED, True, "", True),
        (text16(compact=False), Lengths.SIGNED, True, "h", False),
        (text_uvarint(), Lengths.UNSIGNED, False, "", False),
        (text_uvarint(nullable=True), Lengths.UNSIGNED, False, "", True),
    ],
)
def test_a_length_has_the_form_that_field_message_and_version_agree_on(
    field: object, lengths: Lengths, flexible: bool, code: str, is_compact: bool
) -> None:
    form = Form(version=0, order=Order.BIG, flexible=flexible, lengths=lengths, elements_max=1)
    prefix = prefix_of(field, form)  # type: ignore[arg-type]  # declared as what it becomes in a class
    assert (prefix.code, prefix.compact) == (code, is_compact)
    assert prefix.may_be_negative == (is_compact or code in ("h", "i"))


def test_a_class_that_is_not_declared_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="str is not declared with @message"):
        declaration_of(str)


def test_two_fields_of_one_version_cannot_share_a_tag() -> None:
    @message(flexible=0)
    class Twice:
        first: int = i8(tag=3)
        second: int = i8(tag=3)

    declaration = declaration_of(Twice)
    with pytest.raises(AssertionError, match="second: tag 3 twice"):
        placed(declaration, form_of(declaration, 0))


def test_a_tag_may_mean_something_else_in_a_later_version() -> None:
    @message(flexible=0)
    class Renewed:
        first: int = i8(tag=3, until=1)
        second: int = i8(tag=3, since=2)

    declaration = declaration_of(Renewed)
    assert list(placed(declaration, form_of(declaration, 1)).tagged) == ["first"]
    assert list(placed(declaration, form_of(declaration, 2)).tagged) == ["second"]

from typing import Any

import pytest

from onelog.binary.fields import (
    NO_UUID,
    Field,
    Fixed,
    Struct,
    array32,
    as_field,
    boolean,
    bytes32,
    choice8,
    f64,
    i32,
    option,
    records32,
    struct,
    text16,
    uuid,
    varint,
)
from onelog.binary.message import message


@message()
class Inner:
    number: int = i32(default=5)


@pytest.mark.parametrize(
    ("field", "zero"),
    [
        (i32(), 0),
        (f64(), 0.0),
        (boolean(), False),
        (varint(), 0),
        (uuid(), NO_UUID),
        (text16(), ""),
        (bytes32(), b""),
        (records32(), None),
        (array32(i32()), []),
        (option(i32()), None),
        (choice8({1: Inner}), 0),
        (struct(Inner), Inner(number=5)),
        (text16(nullable=3), None),
        (text16(nullable=True, default=""), ""),
        (array32(i32(), default=[1]), [1]),
    ],
)
def test_a_field_has_a_zero_of_its_kind_unless_it_says_another(field: Field, zero: Any) -> None:
    assert field.zero() == zero


def test_a_zero_that_can_change_is_a_fresh_one() -> None:
    for made in (array32(i32()), array32(i32(), default=[1]), struct(Inner)):
        assert as_field(made).zero() is not as_field(made).zero()


def test_a_field_exists_from_its_first_version_to_its_last() -> None:
    field = as_field(i32(since=2, until=4))
    assert [version for version in range(7) if field.is_in(version)] == [2, 3, 4]


def test_true_is_not_the_version_1() -> None:
    assert as_field(text16(nullable=True)).is_nullable_in(0)
    assert not as_field(text16(nullable=1)).is_nullable_in(0)
    assert as_field(text16(nullable=0)).is_nullable_in(0)
    assert not as_field(text16()).is_nullable_in(9)


def test_an_element_is_a_field_or_a_declared_class() -> None:
    assert as_field(i32()).kind == Fixed("i", 0)
    assert as_field(Inner).kind == Struct(Inner)

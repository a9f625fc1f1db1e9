import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.errors import BinaryError
from onelog.binary.fields import (
    Records,
    array32,
    bytes32,
    choice8,
    choice16,
    i16,
    i32,
    i64,
    records32,
    struct,
    text16,
    u8,
)
from onelog.binary.message import LENIENT, LITTLE, SIGNED, codec, message
from onelog.binary.varint import write_uvarint
from tests.support.wire_layouts import Case, cases


@message()
class Part:
    index: int = i32()
    records: Records = records32()
    epoch: int = i32(since=3, tag=1, default=-1)


@message()
class Topic:
    name: str = text16()
    parts: list[Part] = array32(Part)


@message(flexible=2, lengths=SIGNED)
class Produce:
    """A small message with everything in it."""

    client: str | None = text16(nullable=True, since=1)
    acks: int = i16(default=-1)
    topics: list[Topic] = array32(Topic)
    note: str = text16(tag=0, since=2)


def produce(**values: Any) -> Produce:
    part = Part(index=7, records=b"a batch")
    return Produce(client="me", topics=[Topic(name="orders", parts=[part, part])], **values)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_every_value_survives_every_layout(case: Case) -> None:
    found = case.codec.encode_bytes(case.value)
    again, end = case.codec.decode(found)
    assert end == len(found)
    assert again == case.value
    assert case.codec.encode_bytes(again) == found


@settings(max_examples=60, deadline=None)
@given(cases(), st.binary(min_size=1, max_size=10))
def test_what_lies_around_a_message_is_left_alone(case: Case, surplus: bytes) -> None:
    whole = case.codec.encode_bytes(case.value)
    again, end = case.codec.decode(memoryview(surplus + whole + surplus), len(surplus))
    assert (again, end) == (case.value, len(surplus) + len(whole))


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_message_cut_anywhere_is_refused(case: Case) -> None:
    whole = case.codec.encode_bytes(case.value)
    for end in range(len(whole)):
        with pytest.raises(BinaryError, match=r"^Outer"):
            case.codec.decode(memoryview(whole)[:end])


@settings(max_examples=100, deadline=None)
@given(cases(), st.data())
def test_nonsense_is_a_message_or_a_binary_error_and_never_a_third_thing(
    case: Case, data: st.DataObject
) -> None:
    whole = bytearray(case.codec.encode_bytes(case.value))
    for _ in range(data.draw(st.integers(0, 4))):
        if whole:
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        _, end = case.codec.decode(bytes(whole) + data.draw(st.binary(max_size=10)))
    except BinaryError:
        return
    assert end <= len(whole) + 10


def tagged_section(tags: dict[int, bytes]) -> bytes:
    out = bytearray()
    write_uvarint(out, len(tags))
    for tag, value in sorted(tags.items()):
        write_uvarint(out, tag)
        write_uvarint(out, len(value))
        out += value
    return bytes(out)


def test_unknown_tags_are_skipped_at_every_level() -> None:
    unknown = {40: b"from the future", 3000: bytes(200)}
    part = b"\x00\x00\x00\x07" + b"\x02r" + tagged_section({1: b"\x00\x00\x00\x09"} | unknown)
    topic = b"\x02t" + b"\x02" + part + tagged_section(unknown)
    whole = b"\x00" + b"\xff\xff" + b"\x02" + topic + tagged_section({0: b"\x03hi"} | unknown)
    found, end = codec(Produce, 3).decode(whole)
    assert end == len(whole)
    assert found == Produce(topics=[Topic(name="t", parts=[Part(index=7, records=b"r", epoch=9)])], note="hi")


@pytest.mark.parametrize("size", [0, 1, 3, 4])
def test_a_tag_whose_size_is_not_that_of_its_value_is_refused(size: int) -> None:
    whole = b"\x00\xff\xff\x01" + tagged_section({0: b"\x02hi"[:size].ljust(size, b"x")})
    with pytest.raises(BinaryError, match=r"Produce\.note at byte"):
        codec(Produce, 2).decode(whole + bytes(9))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_hostile_lengths_are_refused_and_allocate_nothing(version: int) -> None:
    before_topics = {0: "ffff", 1: "ffffffff", 2: "00ffff", 3: "00ffff"}[version]
    counts = ["ffffffff0f", "ffffffff07"] if version >= 2 else ["7fffffff", "80000000", "fffffffe"]
    decode = codec(Produce, version).decode
    tracemalloc.start()
    try:
        for count in counts:
            with pytest.raises(BinaryError, match=r"Produce\.topics at byte .* a count of"):
                decode(bytes.fromhex(before_topics + count) + bytes(1000))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", ["ffffffff", "00"])
def test_null_is_refused_where_it_may_not_be(count: str) -> None:
    version = 1 if count == "ffffffff" else 2
    head = "ffffffff" if version == 1 else "00ffff"
    with pytest.raises(BinaryError, match="a count of -1"):
        codec(Produce, version).decode(bytes.fromhex(head + count))


def test_a_message_has_so_many_elements_and_no_more() -> None:
    @message(elements_max=10)
    class Few:
        rows: list[list[int]] = array32(array32(u8()))

    few = codec(Few)
    assert few.decode(few.encode_bytes(Few(rows=[[1] * 4, [2] * 4])))[0].rows[1] == [2] * 4
    with pytest.raises(BinaryError, match=r"rows\[\] at byte .* a count of 5; expected 0 to 4"):
        few.decode(few.encode_bytes(Few(rows=[[1] * 4, [2] * 5])))


def test_text_that_is_no_utf8_is_refused_where_it_breaks() -> None:
    with pytest.raises(BinaryError, match=r"Produce\.client at byte 3: invalid start byte; expected UTF-8"):
        codec(Produce, 1).decode(b"\x00\x02a\xff\xff\xff\x00\x00\x00\x00")


def test_lengths_are_unsigned_unless_the_message_says_otherwise() -> None:
    @message()
    class Unsigned:
        text: str = text16()

    @message(lengths=LENIENT)
    class Lenient:
        text: str = text16()
        rows: list[int] = array32(i32())

    long = "x" * 40_000
    assert codec(Unsigned).decode(codec(Unsigned).encode_bytes(Unsigned(text=long)))[0].text == long
    assert codec(Lenient).decode(bytes.fromhex("ffff80000000")) == (Lenient(), 6)


def test_the_order_of_the_message_is_that_of_what_is_inside() -> None:
    @message()
    class Inside:
        number: int = i32()

    @message(byte_order=LITTLE)
    class Outside:
        numbers: list[int] = array32(i16())
        inside: Inside = struct(Inside)

    value = Outside(numbers=[1, 2], inside=Inside(number=3))
    assert codec(Outside).encode_bytes(value).hex() == "02000000" + "01000200" + "03000000"


def test_large_bytes_are_neither_copied_out_nor_in() -> None:
    whole = bytearray(codec(Produce, 2).encode_bytes(produce()))
    found, _ = codec(Produce, 2).decode(whole)
    records = found.topics[0].parts[0].records
    whole[whole.index(b"a batch")] = ord("A")
    assert bytes(records) == b"A batch"
    first, second = b"x" * 1000, memoryview(b"y" * 1000)
    found.topics[0].parts[0].records = [first, second]
    buffers = codec(Produce, 2).encode(found)
    assert any(buffer is first for buffer in buffers)
    assert any(buffer is second for buffer in buffers)
    assert codec(Produce, 2).decode(b"".join(buffers))[0].topics[0].parts[0].records == first + bytes(second)


def mistaken(cls: Any, **values: Any) -> Any:
    """A value that no type checker would let through."""
    return cls(**values)


@pytest.mark.parametrize(
    ("value", "version", "said"),
    [
        (produce(acks=1 << 15), 0, r"Produce\.acks"),
        (produce(note=None), 2, r"Produce\.note cannot be written"),
        (Produce(client="x" * 32768), 1, r"Produce\.client cannot be written"),
        (Produce(topics=[mistaken(Topic, parts=["text"])]), 0, r"topics\[\]\.parts\[\]\.\w+"),
        (mistaken(Produce, client=5), 1, r"Produce\.client cannot be written"),
    ],
)
def test_what_cannot_be_written_names_its_field(value: Produce, version: int, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        codec(Produce, version).encode(value)
    assert not isinstance(caught.value, BinaryError)


def test_what_a_version_does_not_have_keeps_its_default() -> None:
    found, _ = codec(Produce, 0).decode(codec(Produce, 0).encode_bytes(produce(note="lost")))
    assert found == Produce(topics=produce().topics)
    assert (found.client, found.note) == (None, "")


def test_values_are_plain_and_do_not_share_what_can_change() -> None:
    one, other = Produce(), Produce()
    one.topics.append(Topic(name="t"))
    assert other.topics == []
    assert one != other
    assert one != object()
    assert repr(Topic(name="t")) == "Topic(name='t', parts=[])"
    with pytest.raises(AttributeError):
        one.topic = []  # type: ignore[attr-defined]  # the misspelling is what is tested
    with pytest.raises(TypeError, match="unexpected keyword"):
        mistaken(Produce, topic=[])


def test_a_class_keeps_its_own_words_and_methods() -> None:
    @message()
    class Named:
        """A name."""

        name: bytes = bytes32()

        @property
        def size(self) -> int:
            return len(self.name)

    assert Named.__doc__ == "A name."
    assert Named(name=b"four").size == 4


def test_a_message_without_fields_is_no_bytes() -> None:
    @message()
    class Ping:
        """Are you there?"""

    assert codec(Ping).encode(Ping()) == []
    assert codec(Ping).decode(b"") == (Ping(), 0)
    assert repr(Ping()) == "Ping()"


def test_functions_are_made_once() -> None:
    assert codec(Produce, 2) is codec(Produce, 2)
    assert codec(Produce, 2).decode is codec(Produce, 2).decode
    with pytest.raises(TypeError, match="int is not declared with @message"):
        codec(int)


def test_numbers_and_truths_of_fixed_size_are_read_by_one_call() -> None:
    @message()
    class Wide:
        a: int = i64()
        b: int = i16()

    assert codec(Wide).decode(codec(Wide).encode_bytes(Wide(a=-1, b=2))) == (Wide(a=-1, b=2), 10)
    with pytest.raises(BinaryError, match=r"Wide\.a to Wide\.b at byte 0: 9 bytes; expected more"):
        codec(Wide).decode(bytes(9))


@message()
class Circle:
    radius: int = i16()


@message()
class Nothing:
    """A case without fields."""


@message()
class Drawing:
    shape: Circle | Nothing = choice8({1: Circle, 2: Nothing}, is_closed=True)
    error: Circle | int = choice16({-7: Circle})
    size: int = u8()


def test_a_number_stands_for_the_fields_of_a_case_or_for_itself() -> None:
    drawing = Drawing(shape=Circle(radius=3), error=5, size=9)
    assert codec(Drawing).encode_bytes(drawing) == bytes.fromhex("01 0003 0005 09")
    assert codec(Drawing).decode(bytes.fromhex("01 0003 0005 09")) == (drawing, 6)
    failed = Drawing(shape=Nothing(), error=Circle(radius=4))
    assert codec(Drawing).encode_bytes(failed) == bytes.fromhex("02 fff9 0004 00")
    assert codec(Drawing).decode(bytes.fromhex("02 fff9 0004 00")) == (failed, 6)


def test_a_number_that_stands_for_nothing_is_refused_where_only_cases_may_be() -> None:
    with pytest.raises(BinaryError, match=r"shape.*the byte 3.*1 or 2"):
        codec(Drawing).decode(bytes.fromhex("03 0003 0005 09"))

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.cursor import Reader, Writer
from onelog.binary.errors import BinaryError
from onelog.binary.fields import Order

WIDTHS = {"i8": (8, True), "i16": (16, True), "i32": (32, True), "i64": (64, True)} | {
    "u8": (8, False),
    "u16": (16, False),
    "u32": (32, False),
    "u64": (64, False),
    "uvarint": (32, False),
    "varint": (32, True),
    "varlong": (64, True),
}


def bounds(kind: str) -> tuple[int, int]:
    bits, signed = WIDTHS[kind]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


numbers = st.sampled_from(sorted(WIDTHS)).flatmap(
    lambda kind: st.tuples(st.just(kind), st.integers(*bounds(kind)))
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(Order), st.lists(numbers, max_size=8))
def test_numbers_of_every_width_come_back_in_order(order: Order, values: list[tuple[str, int]]) -> None:
    writer = Writer(order=order)
    for kind, value in values:
        getattr(writer, kind)(value)
    reader = Reader(b"".join(writer.buffers()), order=order)
    assert [getattr(reader, kind)("x") for kind, _ in values] == [value for _, value in values]
    assert reader.left == 0


@pytest.mark.parametrize("kind", sorted(WIDTHS))
def test_a_number_that_is_not_whole_names_its_field(kind: str) -> None:
    writer = Writer()
    getattr(writer, kind)(bounds(kind)[1])
    whole = b"".join(writer.buffers())
    for end in range(len(whole)):
        with pytest.raises(BinaryError, match="bundle count at byte 0"):
            getattr(Reader(whole[:end]), kind)("bundle count")


def test_what_is_taken_is_a_view_and_a_part_cannot_be_left() -> None:
    data = bytearray(b"\x01abcdef")
    reader = Reader(data, pos=1)
    part = reader.part(2, "bundle")
    assert part.text(2, "name") == "ab"
    with pytest.raises(BinaryError, match="0 bytes; expected 1 bytes"):
        part.u8("flags")
    taken = reader.take(2, "key")
    data[3] = ord("C")
    assert bytes(taken) == b"Cd"
    assert reader.left == 2


@pytest.mark.parametrize("count", [-1, 3, 1 << 32])
def test_more_than_there_is_is_refused(count: int) -> None:
    with pytest.raises(BinaryError, match="value at byte 0"):
        Reader(b"ab").take(count, "value")
    with pytest.raises(BinaryError, match="0 to 2"):
        Reader(b"abcd").count(count, "records", least_bytes=2)
    assert Reader(b"abcd").count(2, "records", least_bytes=2) == 2


def test_text_that_is_no_utf8_is_refused_where_it_breaks() -> None:
    with pytest.raises(BinaryError, match="name at byte 2: invalid start byte; expected UTF-8"):
        Reader(b"ab\xffd").text(4, "name")


def test_large_bytes_are_spliced_in_and_not_copied() -> None:
    writer = Writer()
    large = b"x" * 1000
    writer.u8(1)
    writer.splice(large)
    writer.splice(large)
    writer.put(b"end")
    assert writer.size == 2004
    assert writer.buffers() == [b"\x01", large, large, b"end"]
    assert writer.buffers()[1] is large

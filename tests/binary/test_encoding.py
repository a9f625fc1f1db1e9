import re

from onelog.binary.encoding import encoder
from onelog.binary.fields import Records, array32, i16, i32, records32, text16
from onelog.binary.layout import declaration_of, form_of
from onelog.binary.message import message


@message()
class Row:
    key: int = i16()
    data: Records = records32()


@message(flexible=1)
class Table:
    first: int = i32()
    second: int = i16()
    rows: list[Row] = array32(Row)
    note: str = text16(tag=3)
    more: str = text16(tag=2)


def encode(value: Table, version: int) -> list[bytes]:
    declaration = declaration_of(Table)
    return [bytes(part) for part in encoder(declaration, form_of(declaration, version))(value)]


def test_neighbours_of_fixed_size_are_packed_together_with_the_count_behind_them() -> None:
    declaration = declaration_of(Table)
    made = encoder(declaration, form_of(declaration, 0))
    packs = [name for name in made.__code__.co_names if re.fullmatch(r"pack\d+", name)]
    # The beginning; then of a row: its key, the length that means null, the length of what is there.
    assert len(packs) == 4


def test_buffers_come_in_order_around_those_that_are_spliced_in() -> None:
    found = encode(Table(first=1, rows=[Row(key=2, data=b"abc"), Row(key=3)]), 0)
    assert found == [
        bytes.fromhex("00000001 0000 00000002 0002 00000003"),
        b"abc",
        bytes.fromhex("0003 ffffffff"),
    ]


def test_nothing_is_written_behind_what_is_spliced_in_last() -> None:
    assert encode(Table(rows=[Row(data=b"")]), 0)[-1] == b""


def test_tags_are_written_ascending_and_only_when_they_say_something() -> None:
    assert encode(Table(), 1) == [bytes.fromhex("00000000 0000 01 00")]
    assert encode(Table(note="n", more="m"), 1) == [
        bytes.fromhex("00000000 0000 01 02 02 02 026d 03 02 026e")
    ]

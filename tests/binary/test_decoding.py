import re

from onelog.binary.decoding import decoder
from onelog.binary.fields import array32, i16, i32, i64, struct, text16
from onelog.binary.layout import declaration_of, form_of
from onelog.binary.message import message


@message()
class Row:
    key: int = i16()
    number: int = i64()


@message()
class Table:
    first: int = i32()
    second: int = i16()
    row: Row = struct(Row)
    rows: list[Row] = array32(Row)
    name: str = text16(since=1)


def test_neighbours_of_fixed_size_are_read_together_with_the_count_behind_them() -> None:
    declaration = declaration_of(Table)
    decode = decoder(declaration, form_of(declaration, 0))
    unpacks = [name for name in decode.__code__.co_names if re.fullmatch(r"unpack\d+", name)]
    # first, second, row.key, row.number and the count at once; then one for each row.
    assert len(unpacks) == 2
    whole = bytes.fromhex("00000001 0002 0003 0000000000000004 00000001 0005 0000000000000006")
    expected = Table(first=1, second=2, row=Row(key=3, number=4), rows=[Row(key=5, number=6)])
    assert decode(whole) == (expected, len(whole))

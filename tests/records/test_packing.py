"""Both forms of the loops that make records, of objects and of columns."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.records import forms, packing
from onelog.records.record import Header, Record
from tests.support.some_records import BATCHES, BYTES, INT64, offset_deltas

PLAIN = forms.load_plain("onelog.records.packing")
FORMS = [PLAIN, packing] if packing.COMPILED else [PLAIN]
MICROS = st.integers(-(1 << 53), 1 << 53)

two_forms = pytest.mark.skipif(
    not packing.COMPILED, reason="no compiled kernels here; one form equals itself"
)
each_form = pytest.mark.parametrize("form", FORMS, ids=["plain", "compiled"][: len(FORMS)])


def view(numbers: list[int], kind: str) -> memoryview:
    size = 8 if kind == "q" else 4
    data = b"".join(number.to_bytes(size, "little", signed=True) for number in numbers)
    return memoryview(data).cast("q" if kind == "q" else "i")


def strings(form: ModuleType, cells: list[bytes | None], *, bit: int = 0) -> Any:
    """A column as Arrow has it, its validity beginning at some bit."""
    ends = [0]
    bits = 0
    for row, cell in enumerate(cells):
        ends.append(ends[-1] + len(cell or b""))
        bits |= (cell is not None) << (bit + row)
    validity = bits.to_bytes((bit + len(cells)) // 8 + 1, "little")
    return form.Strings(validity, bit, view(ends, "i"), b"".join(cell or b"" for cell in cells))


def rows(form: ModuleType, records: list[Record], *, bit: int = 0) -> Any:
    headers = [header for record in records for header in record.headers]
    ends = [0]
    for record in records:
        ends.append(ends[-1] + len(record.headers))
    return form.Rows(
        view([record.timestamp_ms * 1000 for record in records], "q"),
        strings(form, [record.key for record in records], bit=bit),
        strings(form, [record.value for record in records], bit=bit),
        view(ends, "i"),
        strings(form, [header.key.encode() for header in headers]),
        strings(form, [header.value for header in headers]),
    )


def outcome(form: ModuleType, made: Any, size: int, row: int, row_end: int, base: int) -> Any:
    out = memoryview(bytearray(size))
    try:
        return form.pack_rows(out, made, row, row_end, base), bytes(out)
    except ValueError as error:
        return str(error)


@each_form
def test_a_record_has_the_bytes_of_the_drawing(form: ModuleType) -> None:
    record = Record(b"k", None, 1002, (Header("n", b"vv"), Header("", None)))
    #         length attr  ts    delta key       value headers n         vv          "" null
    expected = "1c    00   04    06    02 6b     01    04      02 6e     04 76 76    00 01".replace(" ", "")
    assert form.pack([record], 1000, [3]).hex() == expected


@each_form
@settings(max_examples=100, deadline=None)
@given(records=BATCHES, bit=st.integers(0, 9))
def test_columns_become_the_same_bytes_as_records(form: ModuleType, records: list[Record], bit: int) -> None:
    records = [Record(r.key, r.value, r.timestamp_ms // 2**12, r.headers) for r in records]
    base = records[0].timestamp_ms
    packed = bytes(form.pack(records, base, None))
    out = memoryview(bytearray(len(packed)))
    latest = max(record.timestamp_ms for record in records)
    assert form.pack_rows(out, rows(form, records, bit=bit), 0, len(records), base) == (
        len(records),
        len(packed),
        latest,
    )
    assert bytes(out) == packed


@each_form
def test_as_many_rows_are_packed_as_fit(form: ModuleType) -> None:
    made = rows(form, [Record(b"", b"x" * 10, 5)] * 3)
    end, used, _ = form.pack_rows(memoryview(bytearray(40)), made, 0, 3, 5)
    assert (end, used) == (2, 34)
    end, used, _ = form.pack_rows(memoryview(bytearray(40)), made, 2, 3, 5)
    assert (end, used) == (3, 17)
    assert form.pack_rows(memoryview(bytearray(16)), made, 0, 3, 5)[:2] == (0, 0)
    assert form.pack_rows(memoryview(bytearray(40)), made, 0, 1, 5)[:2] == (1, 17)


@each_form
def test_absent_columns_are_nulls_and_no_headers(form: ModuleType) -> None:
    out = memoryview(bytearray(7))
    assert form.pack_rows(out, form.Rows(view([9000], "q"), None, None, None, None, None), 0, 1, 9)[:2] == (
        1,
        7,
    )
    assert bytes(out) == bytes(form.pack([Record(None, None, 9)], 9, None))


@each_form
@pytest.mark.parametrize("ends", [[0, 5], [-1, 2], [3, 1], [0, 1 << 30], [-9, -3]])
def test_columns_that_point_outside_of_their_bytes_are_refused(form: ModuleType, ends: list[int]) -> None:
    column = form.Strings(None, 0, view(ends, "i"), b"1234")
    made = form.Rows(view([0], "q"), column, None, None, None, None)
    with pytest.raises(ValueError, match="row 0 of the columns points outside"):
        form.pack_rows(memoryview(bytearray(100)), made, 0, 1, 0)


@each_form
def test_the_time_of_a_row_is_rounded_down_to_milliseconds(form: ModuleType) -> None:
    made = form.Rows(view([1999, -1], "q"), None, None, None, None, None)
    assert [made.timestamp_ms(0), made.timestamp_ms(1)] == [1, -1]


@two_forms
@settings(max_examples=100, deadline=None)
@given(records=BATCHES, base=INT64, data=st.data())
def test_both_forms_pack_records_the_same(records: list[Record], base: int, data: st.DataObject) -> None:
    deltas = data.draw(st.one_of(st.none(), offset_deltas(len(records))))
    assert PLAIN.pack(records, base, deltas) == packing.pack(records, base, deltas)


@two_forms
@settings(max_examples=100, deadline=None)
@given(
    times=st.lists(MICROS, max_size=4),
    ends=st.lists(st.integers(-3, 12), min_size=1, max_size=8),
    header_ends=st.lists(st.integers(-2, 6), min_size=5, max_size=6),
    cell=BYTES,
    size=st.integers(0, 200),
    row=st.integers(-1, 5),
    row_end=st.integers(-1, 5),
    base=INT64,
)
def test_both_forms_agree_on_columns_of_nonsense(
    times: list[int],
    ends: list[int],
    header_ends: list[int],
    cell: bytes | None,
    size: int,
    row: int,
    row_end: int,
    base: int,
) -> None:
    results = []
    for form in FORMS:
        column = form.Strings(None, 0, view(ends, "i"), b"0123456789")
        other = strings(form, [cell] * 3)
        made = form.Rows(view(times, "q"), column, other, view(header_ends, "i"), other, column)
        results.append(outcome(form, made, size, row, row_end, base))
    assert results[0] == results[1]

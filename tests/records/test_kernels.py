"""Both forms of the kernels: the same results, on records and on nonsense."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.records import forms, kernels, packing
from onelog.records.record import Header, Record
from tests.support.some_records import BATCHES, INT64, TIMES, broken_bytes, offset_deltas

PLAIN = forms.load_plain("onelog.records.kernels")
FORMS = [PLAIN, kernels] if kernels.COMPILED else [PLAIN]
BOUNDED = settings(max_examples=100, deadline=None)
DAMAGED = broken_bytes()

two_forms = pytest.mark.skipif(
    not kernels.COMPILED, reason="no compiled kernels here; one form equals itself"
)
each_form = pytest.mark.parametrize("form", FORMS, ids=["plain", "compiled"][: len(FORMS)])


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the refusal with its words."""
    try:
        return call(*arguments)
    except ValueError as error:
        return type(error).__name__, str(error), error.__dict__
    except IndexError as error:
        return "no room", str(error)


def numbers(count: int, kind: str) -> memoryview:
    """Room for so many numbers."""
    return memoryview(bytearray(count * (8 if kind == "q" else 4))).cast("q" if kind == "q" else "i")


def room(form: ModuleType, rows: int, size: int) -> Any:
    return form.Room(
        bytearray(b"\xff" * (rows // 8 + 1)), numbers(rows + 1, "i"), memoryview(bytearray(size))
    )


def columns(form: ModuleType, *, rows: int, size: int, headers: int) -> Any:
    return form.Columns(
        numbers(rows, "q"),
        numbers(rows, "q"),
        room(form, rows, size),
        room(form, rows, size),
        numbers(rows + 1, "i"),
        room(form, headers, size),
        room(form, headers, size),
        rows,
    )


def cells(made: Any) -> list[Any]:
    """What stands in a column of byte strings."""
    bits, ends = bytes(made.validity), list(made.ends)
    return [
        bytes(made.data)[ends[row] : ends[row + 1]] if bits[row >> 3] >> (row & 7) & 1 else None
        for row in range(made.rows)
    ]


def contents(made: Any) -> dict[str, Any]:
    """All that was filled in."""
    return {
        "offsets": list(made.offsets)[: made.rows],
        "timestamps": list(made.timestamps)[: made.rows],
        "keys": cells(made.keys),
        "values": cells(made.values),
        "ends": list(made.header_ends)[: made.rows + 1],
        "names": cells(made.header_names),
        "header values": cells(made.header_values),
        "nulls": (made.keys.nulls, made.values.nulls, made.header_values.nulls),
    }


@each_form
@BOUNDED
@given(records=BATCHES, base=TIMES)
def test_what_was_packed_is_read(form: ModuleType, records: list[Record], base: int) -> None:
    data = bytes(packing.pack(records, base, None))
    pos, found = 0, []
    for index in range(len(records)):
        pos, delta, time, key, value, named = form.read(data, pos, index)
        assert delta == index
        headers = tuple(Header(*each) for each in named or ())
        found.append(Record(key, value, form.shifted(base, time), headers))
    assert pos == len(data)
    assert found == records


@each_form
@given(base=INT64, delta=INT64)
def test_sums_stay_within_64_bits(form: ModuleType, base: int, delta: int) -> None:
    assert (form.shifted(base, delta) - base - delta) % (1 << 64) == 0
    assert -(1 << 63) <= form.shifted(base, delta) < 1 << 63


@each_form
@BOUNDED
@given(records=BATCHES, data=st.data())
def test_columns_have_the_records_between_the_offsets(
    form: ModuleType, records: list[Record], data: st.DataObject
) -> None:
    deltas = data.draw(offset_deltas(len(records)))
    start, end = data.draw(st.integers(0, deltas[-1] + 102)), data.draw(st.integers(0, deltas[-1] + 102))
    packed = bytes(packing.pack(records, 0, deltas))
    made = columns(form, rows=8, size=len(packed), headers=24)
    count = form.fill(packed, len(records), 100, 0, False, start, end, made)
    kept = [(100 + d, r) for d, r in zip(deltas, records, strict=True) if start <= 100 + d < end]
    assert count == made.rows == len(kept)
    found = contents(made)
    assert found["offsets"] == [offset for offset, _ in kept]
    assert found["keys"] == [record.key for _, record in kept]
    assert found["values"] == [record.value for _, record in kept]
    assert found["names"] == [header.key.encode() for _, record in kept for header in record.headers]
    assert found["header values"] == [header.value for _, record in kept for header in record.headers]
    limit = ((1 << 63) - 1) // 1000
    assert found["timestamps"] == [min(max(r.timestamp_ms, -limit), limit) * 1000 for _, r in kept]


@each_form
def test_a_column_that_is_not_asked_for_is_not_made(form: ModuleType) -> None:
    packed = bytes(packing.pack([Record(b"k", b"v", 7)], 7, None))
    made = form.Columns(None, None, None, room(form, 1, 10), None, None, None, 1)
    assert form.fill(packed, 1, 0, 7, False, 0, 10, made) == 1
    assert cells(made.values) == [b"v"]
    assert made.keys is None


@each_form
def test_the_time_of_appending_is_the_time_of_all(form: ModuleType) -> None:
    packed = bytes(packing.pack([Record(None, None, 1), Record(None, None, 9)], 1, None))
    made = columns(form, rows=2, size=10, headers=0)
    form.fill(packed, 2, 0, 5000, True, 0, 10, made)
    assert contents(made)["timestamps"] == [5_000_000, 5_000_000]


@each_form
@pytest.mark.parametrize("short", ["rows", "size", "headers"])
def test_columns_without_room_say_so_and_are_not_overrun(form: ModuleType, short: str) -> None:
    packed = bytes(packing.pack([Record(b"kk", b"vv", 0, (Header("n", b"h"),))] * 3, 0, None))
    sizes = {"rows": 3, "size": 6, "headers": 3}
    made = columns(form, **{**sizes, short: sizes[short] - 1})
    with pytest.raises(IndexError, match="no room"):
        form.fill(packed, 3, 0, 0, False, 0, 10, made)


@each_form
@BOUNDED
@given(records=BATCHES, least=TIMES, data=st.data())
def test_the_first_record_of_a_time_is_found(
    form: ModuleType, records: list[Record], least: int, data: st.DataObject
) -> None:
    start, end = data.draw(st.integers(0, 10)), data.draw(st.integers(0, 10))
    packed = bytes(packing.pack(records, 3, None))
    inside = [(i, r.timestamp_ms) for i, r in enumerate(records) if start <= i < end]
    first = next((each for each in inside if each[1] >= least), None)
    assert form.find_time(packed, len(records), 0, 3, least, start, end) == first
    latest = max(inside, key=lambda each: (each[1], -each[0]), default=None)
    assert form.find_time_max(packed, len(records), 0, 3, start, end) == latest


@each_form
@BOUNDED
@given(records=BATCHES, data=st.data())
def test_a_record_is_found_by_its_offset_or_the_next_one(
    form: ModuleType, records: list[Record], data: st.DataObject
) -> None:
    deltas = data.draw(offset_deltas(len(records)))
    packed = bytes(packing.pack(records, 0, deltas))
    least = data.draw(st.integers(-1, deltas[-1] + 2))
    index, pos = form.seek(packed, len(records), least)
    expected = next((i for i, delta in enumerate(deltas) if delta >= least), len(records))
    assert index == expected
    assert pos == (len(packed) if index == len(records) else len(packing.pack(records[:index], 0, deltas)))


@each_form
@BOUNDED
@given(records=BATCHES, data=st.data())
def test_a_walk_tells_what_the_records_are(
    form: ModuleType, records: list[Record], data: st.DataObject
) -> None:
    deltas = data.draw(st.one_of(st.none(), offset_deltas(len(records))))
    packed = bytes(packing.pack(records, records[0].timestamp_ms, deltas))
    _, last, gaps, headers, null_keys = form.walk(packed, len(records))
    placed = deltas or list(range(len(records)))
    assert last == placed[-1]
    assert gaps == sum(b != a + 1 for a, b in zip([-1, *placed], placed, strict=False))
    assert headers == sum(len(record.headers) for record in records)
    assert null_keys == sum(record.key is None for record in records)
    assert form.keys(packed, len(records)) == [(d, r.key) for d, r in zip(placed, records, strict=True)]


@each_form
def test_offsets_that_do_not_rise_are_refused(form: ModuleType) -> None:
    packed = bytes(packing.pack([Record(None, None, 0)] * 3, 0, [0, 4, 4]))
    with pytest.raises(form.MalformedRecord, match="record 2 at byte 14: its offset is not behind"):
        form.walk(packed, 3)


@each_form
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "its length is a lie"),
        ("0a", "its length is a lie"),
        ("7e00000001010000", "its length is a lie"),
        ("ffffffffffffffffff7f", "its length is a lie"),
        ("0c00ffffffffff", "its timestamp is not a number"),
        ("0c000001010100", "its offset is not one"),
        ("0c0000007e0100", "the length of its key is a lie"),
        ("0c000000037e00", "the length of its key is a lie"),
        ("0c00000001057e", "the length of its value is a lie"),
        ("0c000000010101", "its count of headers is a lie"),
        ("0c00000001017e", "its count of headers is a lie"),
        ("1000000001010201ff", "the length of a header's name is a lie"),
        ("100000000101020004", "the length of a header's value is a lie"),
        ("0e00000001010000", "bytes are left over in it"),
    ],
)
def test_a_record_that_lies_is_refused_with_the_lie(form: ModuleType, data: str, reason: str) -> None:
    for call in (form.walk, form.keys):
        with pytest.raises(form.MalformedRecord, match=f"record 0 at byte 0: {reason}"):
            call(bytes.fromhex(data), 1)


@each_form
def test_bytes_behind_the_last_record_are_refused(form: ModuleType) -> None:
    packed = bytes(packing.pack([Record(None, None, 0)], 0, None)) + b"\x00"
    for call in (
        form.walk,
        lambda *a: form.fill(*a, 0, 0, False, 0, 9, columns(form, rows=9, size=9, headers=9)),
    ):
        with pytest.raises(form.MalformedRecord, match="record 1 at byte 7: bytes follow the last record"):
            call(packed, 1)


@each_form
@pytest.mark.parametrize("pos", [-1, 9])
def test_a_position_outside_of_the_bytes_is_refused(form: ModuleType, pos: int) -> None:
    with pytest.raises(form.MalformedRecord):
        form.read(bytes(8), pos, 0)


@each_form
def test_views_and_arrays_are_read_like_bytes(form: ModuleType) -> None:
    packed = packing.pack([Record(b"k", b"v", 0)], 0, None)
    around = memoryview(b"__" + bytes(packed) + b"__").toreadonly()[2:-2]
    assert form.read(packed, 0, 0) == form.read(around, 0, 0) == form.read(bytes(packed), 0, 0)
    assert type(form.read(around, 0, 0)[3]) is bytes


@two_forms
@settings(max_examples=100, deadline=None)
@given(damaged=DAMAGED, base=INT64, low=INT64, high=INT64)
def test_both_forms_agree_on_nonsense(damaged: tuple[bytes, int], base: int, low: int, high: int) -> None:
    data, count = damaged
    for name, *arguments in (
        ("walk",),
        ("keys",),
        ("seek", low),
        ("find_time", base, high, low, min(low, high), max(low, high)),
        ("find_time_max", base, low, min(low, high), max(low, high)),
    ):
        results = [outcome(getattr(form, name), data, count, *arguments) for form in FORMS]
        assert results[0] == results[1], name


@two_forms
@settings(max_examples=100, deadline=None)
@given(
    damaged=DAMAGED,
    base=INT64,
    time=INT64,
    bounds=st.tuples(INT64, INT64),
    appended=st.booleans(),
    sizes=st.fixed_dictionaries(
        {"rows": st.integers(0, 9), "size": st.integers(0, 2000), "headers": st.integers(0, 40)}
    ),
)
def test_both_forms_fill_the_same_columns(
    damaged: tuple[bytes, int],
    base: int,
    time: int,
    bounds: tuple[int, int],
    appended: bool,
    sizes: dict[str, int],
) -> None:
    data, count = damaged
    results = []
    for form in FORMS:
        made = columns(form, **sizes)
        result = outcome(form.fill, data, count, base, time, appended, min(bounds), max(bounds), made)
        results.append((result, contents(made)))
    assert results[0] == results[1]


@two_forms
@settings(max_examples=100, deadline=None)
@given(damaged=DAMAGED, pos=st.integers(-2, 70))
def test_both_forms_read_the_same_record(damaged: tuple[bytes, int], pos: int) -> None:
    results = [outcome(form.read, damaged[0], pos, 3) for form in FORMS]
    assert results[0] == results[1]


@each_form
@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"user-123", 0x8C93CC93), (b"order-1", 0x2B7FCD6D)],
)
def test_fnv_1a_is_what_others_say_it_is(form: ModuleType, data: bytes, expected: int) -> None:
    assert form.fnv1a(data) == expected


@two_forms
@given(st.binary(max_size=100))
@BOUNDED
def test_both_forms_hash_alike(data: bytes) -> None:
    assert PLAIN.fnv1a(data) == kernels.fnv1a(data)

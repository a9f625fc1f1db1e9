"""Both forms of the recoding: the same results, on records and on nonsense; nothing lost either way."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.protocols.fluvio import kernels
from onelog.records import forms, packing
from onelog.records import kernels as log_kernels
from onelog.records.record import Header, Record
from tests.support import fluvio_records as wire
from tests.support.some_records import BATCHES, BYTES, INT64, TIMES, broken_bytes, offset_deltas

PLAIN = forms.load_plain("onelog.protocols.fluvio.kernels")
FORMS = [PLAIN, kernels] if kernels.COMPILED else [PLAIN]
BOUNDED = settings(max_examples=150, deadline=None)
NAME = b"schema"
NO_HEADERS = b"\0"
SCHEMA_7 = bytes((2, 2 * len(NAME))) + NAME + bytes((8, 0, 0, 0, 7))

two_forms = pytest.mark.skipif(
    not kernels.COMPILED, reason="no compiled kernels here; one form equals itself"
)
each_form = pytest.mark.parametrize("form", FORMS, ids=["plain", "compiled"][: len(FORMS)])

VALUES = st.one_of(st.binary(max_size=80), st.binary(min_size=120, max_size=140))
FLUVIO_RECORDS = st.lists(st.builds(wire.FluvioRecord, BYTES, VALUES, TIMES), min_size=1, max_size=8)


def to_log(form: ModuleType, data: bytes, count: int, headers: bytes = NO_HEADERS) -> tuple[bytes, int]:
    out = memoryview(bytearray(len(data) + max(count, 0) * (form.MORE_BYTES_MAX + len(headers))))
    used, latest = form.to_log(data, count, headers, out)
    return bytes(out[:used]), latest


def to_fluvio(form: ModuleType, data: bytes, count: int, *, appended: bool = False) -> list[tuple[Any, ...]]:
    """(first delta, schema, headers lost, nulls lost, bytes, how many) of each run."""
    out = memoryview(bytearray(len(data) + form.MORE_BYTES_BACK_MAX * max(count, 0)))
    runs = []
    pos = index = 0
    while index < count:
        first = index
        pos, index, used, delta, schema, headers, nulls = form.to_fluvio(
            data, pos, index, count, NAME, appended, out
        )
        runs.append((delta, schema, headers, nulls, bytes(out[:used]), index - first))
    return runs


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the refusal with its words."""
    try:
        return call(*arguments)
    except ValueError as error:
        return type(error).__name__, str(error), error.__dict__


def read(data: bytes, count: int, base: int = 0) -> list[tuple[int, Record]]:
    """The log's records, by the log's own kernel."""
    pos, found = 0, []
    for index in range(count):
        pos, delta, time, key, value, named = log_kernels.read(data, pos, index)
        headers = tuple(Header(*each) for each in named or ())
        found.append((delta, Record(key, value, log_kernels.shifted(base, time), headers)))
    assert pos == len(data)
    return found


@each_form
@BOUNDED
@given(records=FLUVIO_RECORDS)
def test_what_fluvio_sends_is_in_the_log_and_comes_back_as_it_was(
    form: ModuleType, records: list[wire.FluvioRecord]
) -> None:
    data = wire.records(records)
    stored, latest = to_log(form, data, len(records))
    assert read(stored, len(records)) == [
        (place, Record(r.key, r.value, r.timestamp)) for place, r in enumerate(records)
    ]
    assert latest == max(r.timestamp for r in records)
    assert to_fluvio(form, stored, len(records)) == [(0, kernels.NO_SCHEMA, 0, 0, data, len(records))]


@each_form
@BOUNDED
@given(records=FLUVIO_RECORDS)
def test_a_schema_is_a_header_of_each_record_and_comes_back(
    form: ModuleType, records: list[wire.FluvioRecord]
) -> None:
    data = wire.records(records)
    stored, _ = to_log(form, data, len(records), SCHEMA_7)
    header = Header(NAME.decode(), bytes((0, 0, 0, 7)))
    assert all(record.headers == (header,) for _, record in read(stored, len(records)))
    assert to_fluvio(form, stored, len(records)) == [(0, 7, 0, 0, data, len(records))]


@each_form
def test_keys_that_are_null_empty_or_there_stay_apart(form: ModuleType) -> None:
    records = [wire.FluvioRecord(key, b"v", 0) for key in (None, b"", b"k")]
    stored, _ = to_log(form, wire.records(records), 3)
    assert [record.key for _, record in read(stored, 3)] == [None, b"", b"k"]


@each_form
@BOUNDED
@given(st.lists(INT64, min_size=1, max_size=300))
def test_offsets_are_places_whatever_a_producer_says(form: ModuleType, offsets: list[int]) -> None:
    data = b"".join(wire.record(wire.FluvioRecord(None, b"", 0), offset) for offset in offsets)
    stored, _ = to_log(form, data, len(offsets))
    assert [delta for delta, _ in read(stored, len(offsets))] == list(range(len(offsets)))


@each_form
@BOUNDED
@given(records=BATCHES, data=st.data())
def test_what_others_wrote_arrives_as_far_as_fluvio_can_say_it(
    form: ModuleType, records: list[Record], data: st.DataObject
) -> None:
    deltas = data.draw(offset_deltas(len(records)))
    stored = bytes(packing.pack(records, 0, deltas))
    runs = to_fluvio(form, stored, len(records))
    found = []
    for delta, _, _, _, sent, count in runs:
        found += [(delta + place, record) for place, record in enumerate(wire.read_records(sent, count))]
    assert found == [
        (delta, wire.FluvioRecord(r.key, r.value or b"", r.timestamp_ms))
        for delta, r in zip(deltas, records, strict=True)
    ]
    assert sum(run[2] for run in runs) == sum(len(r.headers) for r in records)
    assert sum(run[3] for run in runs) == sum(r.value is None for r in records)


@each_form
def test_records_run_until_a_hole_or_another_schema(form: ModuleType) -> None:
    def schema(number: int) -> tuple[Header, ...]:
        return (Header("other", b"1"), Header(NAME.decode(), number.to_bytes(4, "big")))

    said = [(), (), schema(7), schema(7), schema(1 << 31), ()]
    records = [Record(None, b"v", 0, headers) for headers in said]
    stored = bytes(packing.pack(records, 0, [0, 1, 2, 3, 4, 9]))
    assert [(run[0], run[1], run[2], run[5]) for run in to_fluvio(form, stored, 6)] == [
        (0, kernels.NO_SCHEMA, 0, 2),
        (2, 7, 2, 2),
        (4, 1 << 31, 1, 1),
        (9, kernels.NO_SCHEMA, 0, 1),
    ]


@each_form
@pytest.mark.parametrize(
    "header", [Header("schema", None), Header("schema", b"123"), Header("schemas", b"1234"), Header("s", b"")]
)
def test_a_header_that_is_no_schema_is_lost_like_any_other(form: ModuleType, header: Header) -> None:
    stored = bytes(packing.pack([Record(None, b"v", 0, (header,))], 0, None))
    [(_, schema, lost, _, _, _)] = to_fluvio(form, stored, 1)
    assert (schema, lost) == (kernels.NO_SCHEMA, 1)


@each_form
def test_the_logs_own_time_stands_for_that_of_every_record(form: ModuleType) -> None:
    stored = bytes(packing.pack([Record(None, b"v", time) for time in (5, 9)], 5, None))
    [(_, _, _, _, sent, _)] = to_fluvio(form, stored, 2, appended=True)
    assert [record.timestamp for record in wire.read_records(sent, 2)] == [0, 0]


@each_form
@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        ("00000000000000", "its length is a lie"),
        ("7e000000000000", "its length is a lie"),
        ("0c000000020000", "neither there nor missing"),
        ("0c000000017e00", "the length of its key is a lie"),
        ("0c000000010100", "the length of its key is a lie"),
        ("0c000000007e00", "the length of its value is a lie"),
        ("0c000000000100", "the length of its value is a lie"),
        ("0c000000000002", "counts headers"),
        ("0e00000000000000", "bytes are left over in it"),
        ("0c0000000000000c", "bytes follow the last record"),
        ("0c00ffffffffff", "its timestamp is not a number"),
        ("0c0000ffffffff", "its offset is not a number"),
    ],
)
def test_a_record_of_fluvios_that_lies_is_refused(form: ModuleType, record: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        to_log(form, bytes.fromhex(record), 1)


@each_form
def test_offsets_of_the_log_that_do_not_rise_are_refused(form: ModuleType) -> None:
    stored = bytes(packing.pack([Record(None, b"v", 0)] * 2, 0, [3, 3]))
    with pytest.raises(ValueError, match="not behind the one before"):
        to_fluvio(form, stored, 2)


@each_form
def test_room_that_is_too_small_is_never_left(form: ModuleType) -> None:
    data = wire.records([wire.FluvioRecord(b"key", b"value", 1)])
    stored, _ = to_log(form, data, 1)
    for size in range(len(stored)):
        with pytest.raises(ValueError, match="no room"):
            form.to_log(data, 1, NO_HEADERS, memoryview(bytearray(size)))
    for size in range(len(data)):
        with pytest.raises(ValueError, match="no room"):
            form.to_fluvio(stored, 0, 0, 1, NAME, False, memoryview(bytearray(size)))


@each_form
@pytest.mark.parametrize("pos", [-1, 1])
def test_a_position_outside_of_the_records_is_refused(form: ModuleType, pos: int) -> None:
    with pytest.raises(ValueError, match="its length is a lie"):
        form.to_fluvio(b"", pos, 0, 1, NAME, False, memoryview(bytearray(9)))


@two_forms
@settings(max_examples=600, deadline=None)
@given(broken_bytes(), st.booleans())
def test_both_forms_say_the_same_of_the_logs_records_broken_or_whole(
    broken: tuple[bytes, int], appended: bool
) -> None:
    data, count = broken
    plain = outcome(lambda form: to_fluvio(form, data, count, appended=appended), PLAIN)
    assert plain == outcome(lambda form: to_fluvio(form, data, count, appended=appended), kernels)


@two_forms
@settings(max_examples=600, deadline=None)
@given(wire.broken_records(FLUVIO_RECORDS), st.sampled_from([NO_HEADERS, SCHEMA_7]))
def test_both_forms_say_the_same_of_fluvios_records_broken_or_whole(
    broken: tuple[bytes, int], headers: bytes
) -> None:
    data, count = broken
    plain = outcome(lambda form: to_log(form, data, count, headers), PLAIN)
    assert plain == outcome(lambda form: to_log(form, data, count, headers), kernels)

"""Both forms of the recoding: the same results, on messages and on nonsense; and what objects would give."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.errors import BinaryError
from onelog.errors import InvalidRecord
from onelog.protocols.tank import kernels
from onelog.protocols.tank.messages.bundle import bundle_head, decode_bundle, encode_bundle, open_bundle
from onelog.protocols.tank.recordset import batch_of
from onelog.records import forms, packing
from onelog.records import kernels as log_kernels
from onelog.records.record import Header, Record
from tests.support.some_records import BATCHES, INT64, TIMES, broken_bytes, offset_deltas

PLAIN = forms.load_plain("onelog.protocols.tank.kernels")
FORMS = [PLAIN, kernels] if kernels.COMPILED else [PLAIN]
BOUNDED = settings(max_examples=80, deadline=None)

two_forms = pytest.mark.skipif(
    not kernels.COMPILED, reason="no compiled kernels here; one form equals itself"
)
each_form = pytest.mark.parametrize("form", FORMS, ids=["plain", "compiled"][: len(FORMS)])

KEYS = st.one_of(st.none(), st.binary(max_size=40), st.binary(min_size=250, max_size=255))
VALUES = st.one_of(st.binary(max_size=80), st.binary(min_size=120, max_size=140))
MESSAGES = st.lists(st.builds(Record, KEYS, VALUES, TIMES), min_size=1, max_size=20)


def to_log(
    form: ModuleType, data: bytes, count: int, first: int, last: int, *, is_sparse: bool
) -> tuple[bytes, int, int]:
    out = memoryview(bytearray(len(data) + max(count, 0) * form.MORE_BYTES_MAX))
    used, base, latest = form.to_log(data, count, first, last, is_sparse, out)
    return bytes(out[:used]), base, latest


def to_bundle(
    form: ModuleType,
    data: bytes,
    count: int,
    *,
    delta_min: int = 0,
    base: int = 0,
    appended: bool = False,
    is_sparse: bool = True,
) -> tuple[bytes, tuple[int, int, int], int]:
    """The messages, what was lost, and how many there are."""
    pos, index, _, _ = form.span(data, count, delta_min)
    out = memoryview(bytearray(len(data) - pos + max(count - index, 0) * form.MORE_BYTES_BACK_MAX))
    used, *lost = form.to_bundle(data, pos, index, count, base, appended, is_sparse, out)
    return bytes(out[:used]), tuple(lost), count - index


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the refusal with its words."""
    try:
        return call(*arguments)
    except ValueError as error:
        return type(error).__name__, str(error), error.__dict__


def read(data: bytes, count: int, base: int) -> list[tuple[int, Record]]:
    """The log's records, by the log's own kernel."""
    pos, found = 0, []
    for index in range(count):
        pos, delta, time, key, value, _ = log_kernels.read(data, pos, index)
        found.append((delta, Record(key, value, log_kernels.shifted(base, time))))
    assert pos == len(data)
    return found


def numbered(records: list[Record], data: st.DataObject, *, is_sparse: bool) -> list[tuple[int, Record]]:
    deltas = data.draw(offset_deltas(len(records))) if is_sparse else range(5, 5 + len(records))
    return list(zip(deltas, records, strict=True))


@each_form
@BOUNDED
@given(records=MESSAGES, is_sparse=st.booleans(), data=st.data())
def test_a_bundles_messages_are_the_logs_records_and_come_back_as_they_were(
    form: ModuleType, records: list[Record], is_sparse: bool, data: st.DataObject
) -> None:
    placed = numbered(records, data, is_sparse=is_sparse)
    head, body = open_bundle(encode_bundle(placed, is_sparse=is_sparse), where="here")
    stored, base, latest = to_log(
        form, bytes(body), len(records), placed[0][0], placed[-1][0], is_sparse=is_sparse
    )
    assert (base, latest) == (records[0].timestamp_ms, max(record.timestamp_ms for record in records))
    assert read(stored, len(records), base) == placed
    expected = (bytes(body), (0, 0, 0), head.count)
    assert to_bundle(form, stored, len(records), base=base, is_sparse=is_sparse) == expected


@each_form
@BOUNDED
@given(records=BATCHES, is_sparse=st.booleans(), base=INT64, data=st.data())
def test_what_others_wrote_becomes_what_objects_would_give(
    form: ModuleType, records: list[Record], is_sparse: bool, base: int, data: st.DataObject
) -> None:
    placed = numbered(records, data, is_sparse=is_sparse)
    stored = bytes(packing.pack(records, base, [delta for delta, _ in placed]))
    _, body = open_bundle(encode_bundle(placed, is_sparse=is_sparse), where="here")
    nulls = sum(record.value is None for record in records)
    with_headers = sum(bool(record.headers) for record in records)
    expected = (bytes(body), (0, nulls, with_headers), len(records))
    assert to_bundle(form, stored, len(records), base=base, is_sparse=is_sparse) == expected


@each_form
@BOUNDED
@given(records=MESSAGES, data=st.data())
def test_records_are_found_from_an_offset_on(
    form: ModuleType, records: list[Record], data: st.DataObject
) -> None:
    placed = numbered(records, data, is_sparse=True)
    stored = bytes(packing.pack(records, 0, [delta for delta, _ in placed]))
    delta_min = data.draw(st.integers(-5, placed[-1][0] + 1))
    wanted = [(delta, record) for delta, record in placed if delta >= delta_min]
    _, index, first, last = form.span(stored, len(records), delta_min)
    assert (index, last) == (len(records) - len(wanted), placed[-1][0])
    if wanted:
        assert first == wanted[0][0]
        bundle = encode_bundle(wanted, is_sparse=True)
        _, body = open_bundle(bundle, where="here")
        assert to_bundle(form, stored, len(records), delta_min=delta_min)[0] == bytes(body)


@each_form
def test_the_logs_own_time_stands_for_that_of_every_record(form: ModuleType) -> None:
    stored = bytes(packing.pack([Record(None, b"v", time) for time in (5, 9)], 5, None))
    sent, _, _ = to_bundle(form, stored, 2, base=7, appended=True, is_sparse=False)
    assert [r.timestamp_ms for r in decode_bundle(b"\x08" + sent, where="here").records] == [7, 7]


@each_form
def test_keys_that_are_too_long_are_left_out_and_counted(form: ModuleType) -> None:
    records = [Record(bytes(size), b"v", 0) for size in (255, 256)]
    sent, lost, _ = to_bundle(form, bytes(packing.pack(records, 0, None)), 2, is_sparse=False)
    assert lost == (1, 0, 0)
    assert [r.key for r in decode_bundle(b"\x08" + sent, where="here").records] == [bytes(255), None]


@each_form
@pytest.mark.parametrize(
    ("messages", "count", "wrong"),
    [
        ("", 1, "its flags are missing"),
        ("0800", 1, "more than bits 0 to 2"),
        ("0000000000", 1, "its timestamp is cut off"),
        ("0305ff", 1, "the length of its key is a lie"),
        ("03", 1, "the length of its key is a lie"),
        ("0205ff", 1, "the length of its content is a lie"),
        ("02", 1, "the length of its content is a lie"),
        ("02ffffffffff01", 1, "the length of its content is a lie"),
        ("02ffffffff1f", 1, "the length of its content is a lie"),
        ("020000", 1, "bytes follow the last message"),
        ("020002ff", 3, "its gap is not a number"),
        ("0200020000ff", 3, "its flags are missing"),
    ],
)
def test_a_message_that_lies_is_refused(form: ModuleType, messages: str, count: int, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        to_log(form, bytes.fromhex(messages), count, 0, 1 << 40, is_sparse=count == 3)


@each_form
@pytest.mark.parametrize("last", [0, 1, 3])
def test_a_last_number_that_is_not_reached_is_refused(form: ModuleType, last: int) -> None:
    messages = bytes.fromhex("020006000600")
    assert to_log(form, messages, 3, 0, 2, is_sparse=True)[0]
    with pytest.raises(ValueError, match="not the last one that was promised"):
        to_log(form, messages, 3, 0, last, is_sparse=True)


@each_form
@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        ("00000000000000", "its length is a lie"),
        ("7e000000000000", "its length is a lie"),
        ("0c00ffffffffff", "its timestamp is not a number"),
        ("0c000001000000", "its offset is not one"),
        ("0c000000 7e0000", "the length of its key is a lie"),
        ("0c000000 007e00", "the length of its value is a lie"),
        ("0c000000 000002", "its headers are a lie"),
        ("0e000000 00000000", "bytes are left over in it"),
        ("0c000000 0000000c", "bytes follow the last record"),
    ],
)
def test_a_record_that_lies_is_refused(form: ModuleType, record: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        form.span(bytes.fromhex(record), 1, 0)


@each_form
def test_offsets_that_do_not_rise_are_refused(form: ModuleType) -> None:
    stored = bytes(packing.pack([Record(None, b"v", 0)] * 2, 0, [3, 3]))
    with pytest.raises(ValueError, match="not behind the one before"):
        form.span(stored, 2, 0)
    with pytest.raises(ValueError, match="not behind the one before"):
        form.to_bundle(stored, 0, 0, 2, 0, False, True, memoryview(bytearray(99)))


@each_form
def test_room_that_is_too_small_is_never_left(form: ModuleType) -> None:
    messages = bytes.fromhex("010100000000000000036b65790576616c7565")
    stored, base, _ = to_log(form, messages, 1, 0, 0, is_sparse=False)
    assert to_bundle(form, stored, 1, base=base, is_sparse=False)[0] == messages
    for size in range(len(stored)):
        with pytest.raises(ValueError, match="no room"):
            form.to_log(messages, 1, 0, 0, False, memoryview(bytearray(size)))
    for size in range(len(messages)):
        with pytest.raises(ValueError, match="no room"):
            form.to_bundle(stored, 0, 0, 1, base, False, False, memoryview(bytearray(size)))


@each_form
def test_the_room_that_is_asked_for_is_enough_at_its_worst(form: ModuleType) -> None:
    worst = [Record(None, b"", time) for time in (0, -(1 << 63), (1 << 63) - 1, -(1 << 63))]
    _, body = open_bundle(encode_bundle(list(enumerate(worst))), where="here")
    stored, base, _ = to_log(form, bytes(body), 4, (1 << 31) - 4, (1 << 31) - 1, is_sparse=False)
    assert to_bundle(form, stored, 4, base=base, is_sparse=False)[0] == bytes(body)
    headless = bytes(packing.pack([Record(b"k", bytes(60), n) for n in range(40)], 0, None))
    assert to_bundle(form, headless, 40)[2] == 40


@each_form
@pytest.mark.parametrize("pos", [-1, 1])
def test_a_position_outside_of_the_records_is_refused(form: ModuleType, pos: int) -> None:
    with pytest.raises(ValueError, match="its length is a lie"):
        form.to_bundle(b"", pos, 0, 1, 0, False, False, memoryview(bytearray(9)))


@each_form
def test_headers_are_counted_and_passed_over(form: ModuleType) -> None:
    records = [Record(None, b"a", 0, (Header("h", None), Header("i", b"x"))), Record(None, b"b", 0)]
    sent, lost, _ = to_bundle(form, bytes(packing.pack(records, 0, None)), 2, is_sparse=False)
    assert lost == (0, 0, 1)
    assert [r.value for r in decode_bundle(b"\x08" + sent, where="here").records] == [b"a", b"b"]


@two_forms
@settings(max_examples=300, deadline=None)
@given(broken_bytes(), st.booleans(), st.booleans(), INT64, st.integers(-1, 9))
def test_both_forms_say_the_same_of_the_logs_records_broken_or_whole(
    broken: tuple[bytes, int], appended: bool, is_sparse: bool, base: int, delta_min: int
) -> None:
    data, count = broken

    def call(form: ModuleType) -> Any:
        return to_bundle(
            form, data, count, delta_min=delta_min, base=base, appended=appended, is_sparse=is_sparse
        )

    assert outcome(call, PLAIN) == outcome(call, kernels)


@st.composite
def broken_messages(draw: st.DrawFn) -> tuple[bytes, int]:
    """(bytes, count) that are nearly, or not at all, so many messages."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=60)), draw(st.integers(0, 9))
    records = draw(MESSAGES)
    placed = list(zip(draw(offset_deltas(len(records))), records, strict=True))
    _, body = open_bundle(encode_bundle(placed, is_sparse=draw(st.booleans())), where="here")
    data = bytearray(body)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(data), max(0, len(records) + draw(st.sampled_from([0, 0, 0, 1, -1])))


@two_forms
@settings(max_examples=300, deadline=None)
@given(broken_messages(), st.booleans(), st.integers(0, 9), st.integers(0, 1 << 40))
def test_both_forms_say_the_same_of_messages_broken_or_whole(
    broken: tuple[bytes, int], is_sparse: bool, first: int, more: int
) -> None:
    data, count = broken

    def call(form: ModuleType) -> Any:
        return to_log(form, data, count, first, first + more, is_sparse=is_sparse)

    assert outcome(call, PLAIN) == outcome(call, kernels)


@settings(max_examples=300, deadline=None)
@given(broken_messages(), st.booleans(), st.integers(0, 9), st.integers(0, 1 << 30))
def test_objects_and_records_are_made_of_the_same_bundles(
    broken: tuple[bytes, int], is_sparse: bool, first: int, more: int
) -> None:
    body, count = broken
    count = max(count, 1)
    last = first + (max(more, count - 1) if is_sparse and count > 1 else count - 1)
    head = bundle_head(count, first=first + 1, last=last + 1, is_sparse=is_sparse, is_snappy=False)
    bundle = bytes(head + body)
    try:
        found = decode_bundle(bundle, where="here")
    except (BinaryError, InvalidRecord):
        with pytest.raises(InvalidRecord):
            batch_of(bundle, base_sequence=first + 1, offset_next=0, where="here")
    else:
        batch = batch_of(bundle, base_sequence=first + 1, offset_next=0, where="here")
        numbers = found.sequences or range(first + 1, last + 2)
        assert list(batch.numbered()) == [(n - 1, r) for n, r in zip(numbers, found.records, strict=True)]

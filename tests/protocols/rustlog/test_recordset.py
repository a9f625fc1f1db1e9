"""Payloads <-> batches: where an answer is cut, and what other dialects' records lose."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.protocols.rustlog import json_form
from onelog.protocols.rustlog.messages.json import U64_MAX
from onelog.protocols.rustlog.recordset import RECORD_OVERHEAD, Taken, batch_of, take
from onelog.records.batch import Batch
from onelog.records.record import Header, Record

ALL = 1 << 30


def taken(batches: list[Batch], *, offset: int = 0, bytes_max: int = ALL, room: int = ALL) -> Taken:
    return take(batches, offset=offset, bytes_max=bytes_max, room=room, size_in_frame=json_form.record_size)


def batch(*payloads: bytes, at: int = 0) -> Batch:
    return batch_of(payloads, timestamp_ms=1_700_000_000_000).renumbered(base_offset=at, leader_epoch=0)


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_every_payload_survives_a_round_trip(payloads: list[bytes]) -> None:
    got = taken([batch_of(payloads, timestamp_ms=5)])
    assert [record.payload for record in got.records] == payloads
    assert [record.offset for record in got.records] == list(range(len(payloads)))
    assert got.next_offset == len(payloads)


def test_many_payloads_are_one_batch() -> None:
    assert batch_of([b"a", b"b"], timestamp_ms=1).record_count == 2


def test_timestamps_are_told_in_microseconds() -> None:
    assert taken([batch(b"a")]).records[0].timestamp == 1_700_000_000_000_000


@pytest.mark.parametrize(("stored_ms", "told_us"), [(-1, 0), ((1 << 63) - 1, U64_MAX)])
def test_timestamps_that_no_u64_holds_are_bounded(stored_ms: int, told_us: int) -> None:
    built = Batch.build([Record(None, b"", stored_ms)])
    assert taken([built]).records[0].timestamp == told_us


def test_reading_in_the_middle_of_a_batch_begins_where_it_was_asked_to() -> None:
    got = taken([batch(b"a", b"b", b"c", at=10), batch(b"d", at=13)], offset=12)
    assert [(r.offset, r.payload) for r in got.records] == [(12, b"c"), (13, b"d")]
    assert got.next_offset == 14


@pytest.mark.parametrize(("bytes_max", "count"), [(1, 1), (19, 1), (37, 1), (38, 2), (59, 3), (1000, 4)])
def test_max_bytes_counts_each_record_with_its_overhead_and_gives_at_least_one(
    bytes_max: int, count: int
) -> None:
    got = taken([batch(b"one", b"two", b"three", b"")], bytes_max=bytes_max)
    assert len(got.records) == count
    assert got.next_offset == count
    assert RECORD_OVERHEAD == 16


def test_an_answer_ends_where_the_frame_does() -> None:
    room = 2 * json_form.record_size(0, 1_700_000_000_000_000, 30)
    got = taken([batch(*[b"x" * 30] * 5)], room=room)
    assert (len(got.records), got.next_offset, got.oversized) == (2, 2, None)


def test_where_numbers_are_not_told_an_answer_ends_at_a_gap() -> None:
    batches = [batch(b"a", b"b", at=10), batch(b"c", at=12), batch(b"d", at=14)]
    got = take(
        batches, offset=9, bytes_max=ALL, room=ALL, size_in_frame=json_form.record_size, stops_at_gaps=True
    )
    assert ([record.offset for record in got.records], got.next_offset) == ([10, 11, 12], 13)


def test_a_first_record_that_no_frame_holds_is_named() -> None:
    got = taken([batch(b"small", b"x" * 100, b"small")], offset=1, room=120)
    assert (got.records, got.oversized) == ([], (1, 100))


def test_what_cannot_be_said_is_delivered_without_it_and_counted() -> None:
    built = Batch.build(
        [
            Record(b"k", b"v", 1),
            Record(b"k", None, 1, (Header("h", b"x"),)),
            Record(None, b"plain", 1),
            Record(None, b"unseen", 1, (Header("h", None),)),
        ]
    )
    got = taken([built], bytes_max=3 * RECORD_OVERHEAD + 6)
    assert [record.payload for record in got.records] == [b"v", b"", b"plain"]
    assert got.losses == {"key": 2, "headers": 1, "null_value": 1}

"""Which record was the first at or after some time, and which is the newest."""

from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.compression import Codec
from onelog.records.batch import Batch
from onelog.records.record import Record, TimestampType
from onelog.storage.lookup import OPENED_BYTES_MAX, Found, first_at_or_after, newest

# Batches of timestamps.
TIMES = st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), max_size=8)


def _batches(times: list[list[int]]) -> list[Batch]:
    batches, offset = [], 0
    for some in times:
        batches.append(Batch.build([Record(None, b"", ms) for ms in some], base_offset=offset))
        offset += len(some)
    return batches


@settings(max_examples=100, deadline=None)
@given(TIMES, st.integers(0, 31), st.integers(0, 10), st.integers(0, 40))
def test_the_answer_is_that_of_looking_at_every_record(
    times: list[list[int]], asked_ms: int, start: int, offset_max: int
) -> None:
    flat = list(enumerate(ms for some in times for ms in some))
    seen = [Found(o, ms) for o, ms in flat if start <= o < offset_max]
    found = first_at_or_after(_batches(times), asked_ms, start=start, offset_max=offset_max)
    assert found == next((f for f in seen if f.timestamp_ms >= asked_ms), None)
    best = newest(_batches(times), start=start, offset_max=offset_max)
    assert best == max(seen, key=lambda f: (f.timestamp_ms, -f.offset), default=None)


def test_in_a_batch_with_the_logs_time_the_first_record_is_meant() -> None:
    batch = Batch.build(
        [Record(None, b"", 5), Record(None, b"", 9)], timestamp_type=TimestampType.LOG_APPEND_TIME
    )
    assert first_at_or_after([batch], 9, start=0, offset_max=2) == Found(0, 9)


def test_a_batch_that_unpacks_to_more_than_may_be_opened_is_answered_for_as_a_whole() -> None:
    small = Batch.build([Record(None, b"", 5)])
    bomb = Batch.build(
        [Record(None, b"", 7), Record(None, bytes(OPENED_BYTES_MAX), 9)], base_offset=1, codec=Codec.GZIP
    )
    assert bomb.size < OPENED_BYTES_MAX // 100
    assert first_at_or_after([small, bomb], 8, start=0, offset_max=3) == Found(1, 9)
    assert first_at_or_after([small, bomb], 8, start=2, offset_max=3) == Found(2, 9)
    assert newest([small, bomb], start=0, offset_max=3) == Found(1, 9)

"""Sparse indexes: where to begin looking, and what of a file is believed."""

from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.storage.index import Index, loaded

# Batches as (records, bytes, newest timestamp).
BATCHES = st.lists(
    st.tuples(st.integers(1, 5), st.integers(61, 200), st.integers(-1, 50)), min_size=1, max_size=60
)
Batches = list[tuple[int, int, int]]


def _built(batches: Batches) -> tuple[Index, list[tuple[int, int]], int]:
    """(index, each batch's last offset and position, size)."""
    index = Index()
    places: list[tuple[int, int]] = []
    offset = position = 0
    for records, size, timestamp_ms in batches:
        offset += records
        index.note(offset - 1, position=position, size=size, timestamp_ms=timestamp_ms, interval_bytes=300)
        places.append((offset - 1, position))
        position += size
    index.seal()
    return index, places, position


@settings(max_examples=100, deadline=None)
@given(BATCHES)
def test_looking_begins_at_a_batch_no_later_than_the_right_one(batches: Batches) -> None:
    index, places, _ = _built(batches)
    starts = {position for _, position in places}
    for offset in range(places[-1][0] + 1):
        right = places[bisect_left(places, (offset, -1))][1]
        found, last = index.entry_before(offset)
        assert last < offset
        assert last == -1 or (last, found) in places
        assert found in starts
        assert found <= right
        assert right - found <= 300 + 200 + 200


@settings(max_examples=100, deadline=None)
@given(BATCHES, st.integers(-1, 60))
def test_looking_for_a_time_begins_no_later_than_the_first_such_batch(batches: Batches, time_ms: int) -> None:
    index, places, _ = _built(batches)
    right = next((p for (_, p), b in zip(places, batches, strict=True) if b[2] >= time_ms), None)
    if right is not None:
        _, last = index.entry_before_time(time_ms)
        assert index.entry_before(last + 1)[0] <= right


@settings(max_examples=100, deadline=None)
@given(BATCHES)
def test_what_is_written_is_loaded_again(batches: Batches) -> None:
    index, places, size = _built(batches)
    again = loaded(index.offset_bytes(), index.time_bytes(), size=size, relative_end=places[-1][0] + 1)
    if index.max_timestamp_ms < 0:
        assert again is None
        return
    assert again is not None
    assert again.max_timestamp_ms == max(b[2] for b in batches)
    assert (again.offset_bytes(), again.time_bytes()) == (index.offset_bytes(), index.time_bytes())
    assert again.last_entry == index.last_entry


def test_the_bytes_are_kafkas() -> None:
    index = Index()
    index.note(9, position=0, size=400, timestamp_ms=70, interval_bytes=300)
    index.note(19, position=400, size=400, timestamp_ms=60, interval_bytes=300)
    index.seal()
    assert index.offset_bytes() == bytes.fromhex("00000013 00000190")
    assert index.time_bytes() == bytes.fromhex("0000000000000046 00000009")


@pytest.mark.parametrize(
    ("offsets", "times"),
    [
        ("00", "0000000000000046 00000009"),
        ("00000013 00000190", ""),
        ("00000013 00000190 00000000 00000000", "0000000000000046 00000009"),
        ("00000013 00000190 00000014 00000190", "0000000000000046 00000009"),
        ("ffffff13 00000190", "0000000000000046 00000009"),
        ("00000013 7f000190", "0000000000000046 00000009"),
        ("00000013 00000190", "0000000000000046 00007009"),
    ],
)
def test_files_that_cannot_be_the_segments_own_are_not_believed(offsets: str, times: str) -> None:
    assert loaded(bytes.fromhex(offsets), bytes.fromhex(times), size=800, relative_end=20) is None

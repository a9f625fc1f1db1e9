"""What stays of a log's batches, and when it is worth looking."""

from dataclasses import replace

import pytest

from onelog.binary.compression import Codec
from onelog.records.batch import Batch
from onelog.storage.compaction import (
    CompactionPolicy,
    Extent,
    Filter,
    Latest,
    choose,
    due,
    grouped,
    horizon_of,
    placeholder,
    should_roll,
)
from onelog.storage.segment import SegmentInfo
from onelog.storage.transactions import Undone
from tests.support.keyed import keyed, pairs_of
from tests.support.small_logs import aborting, batch_of, committing

POLICY = CompactionPolicy(tombstone_ms=100)


def _placed(*batches: Batch) -> list[Batch]:
    found: list[Batch] = []
    offset = 0
    for batch in batches:
        found.append(batch.renumbered(base_offset=offset, leader_epoch=3))
        offset = found[-1].offset_end
    return found


def _filtered(
    *batches: Batch,
    now_ms: int = 0,
    start: int = 0,
    undone: tuple[Undone, ...] = (),
    numbered: frozenset[int] = frozenset(),
) -> list[Batch | None]:
    """What a pass leaves of each of these."""
    latest = Latest()
    found = Filter(latest, POLICY, start=start, now_ms=now_ms, undone=undone, numbered=numbered)
    looked = {batch: list(batch.numbered()) for batch in batches if found.is_looked_into(batch)}
    for records in looked.values():
        latest.note(records)
    return [found.kept(batch, looked.get(batch, [])) for batch in batches]


def _segments(*sizes: int, time_ms: int = 0) -> list[SegmentInfo]:
    """Of ten offsets each; the last one is active."""
    return [
        SegmentInfo(
            base_offset=10 * n,
            offset_end=10 * n + 10,
            size=size,
            max_timestamp_ms=time_ms + n,
            created_ms=time_ms + n,
            sealed=n < len(sizes) - 1,
        )
        for n, size in enumerate(sizes)
    ]


def test_of_each_key_the_last_record_stays_at_its_offset() -> None:
    first, second = _placed(keyed("a=1", "b=1", "c=1"), keyed("b=2", "a=2"))
    kept = _filtered(first, second)
    assert [pairs_of([batch]) if batch else None for batch in kept] == [{2: "c=1"}, {3: "b=2", 4: "a=2"}]
    assert kept[1] is second
    assert kept[0] is not None
    assert (kept[0].base_offset, kept[0].last_offset, kept[0].leader_epoch) == (0, 2, 3)


def test_a_batch_of_which_nothing_stays_goes() -> None:
    assert _filtered(*_placed(keyed("a=1"), keyed("a=2")))[0] is None


@pytest.mark.parametrize("codec", list(Codec))
def test_what_stays_is_compressed_as_before(codec: Codec) -> None:
    (kept, _) = _filtered(*_placed(keyed("a=1", "b=1", codec=codec), keyed("a=2")))
    assert kept is not None
    assert kept.codec is codec
    assert pairs_of([kept]) == {1: "b=1"}


def test_a_tombstone_stays_for_its_grace_time_which_begins_when_it_is_first_met() -> None:
    (kept,) = _filtered(*_placed(keyed("a", "b=1")), now_ms=50)
    assert kept is not None
    assert (horizon_of(kept), pairs_of([kept])) == (150, {0: "a", 1: "b=1"})
    assert [record.timestamp_ms for record in kept.records()] == [1000, 1000]
    assert _filtered(kept, now_ms=149) == [kept]
    (later,) = _filtered(kept, now_ms=150)
    assert later is not None
    assert pairs_of([later]) == {1: "b=1"}


def test_a_key_that_a_tombstone_ended_is_gone_before_the_tombstone_is() -> None:
    first, second = _filtered(*_placed(keyed("a=1"), keyed("a")))
    assert first is None
    assert second is not None


def test_what_lies_below_the_start_goes() -> None:
    assert _filtered(*_placed(keyed("a=1"), keyed("b=1")), start=1)[0] is None


def test_a_record_without_a_key_goes() -> None:
    assert _filtered(batch_of("x")) == [None]


def test_a_placeholder_says_offsets_and_nothing_else() -> None:
    header = placeholder(_placed(keyed("a=1"), keyed("a=2", "b=1", producer_id=7, sequence=0))[1])
    assert (header.base_offset, header.last_offset, header.record_count, header.producer_id) == (1, 2, 0, -1)


def test_what_says_where_a_producers_numbers_stand_keeps_its_header() -> None:
    batches = _placed(keyed("a=1", "b=1", producer_id=7, sequence=4, codec=Codec.ZSTD), keyed("a=2", "b=2"))
    (kept, _) = _filtered(*batches, numbered=frozenset({1}))
    assert kept is not None
    assert (kept.record_count, kept.base_offset, kept.last_offset) == (0, 0, 1)
    assert (kept.producer_id, kept.base_sequence, kept.last_sequence) == (7, 4, 5)
    assert list(kept.records()) == []


def test_aborted_records_go_at_once_and_the_marker_after_its_grace_time() -> None:
    batches = _placed(keyed("a=1"), keyed("a=2", producer_id=7, sequence=0, transactional=True), aborting())
    undone = (Undone(7, 1, 2, 3),)
    first, second, marker = _filtered(*batches, undone=undone)
    assert (first, second) == (batches[0], None)
    assert marker is not None
    assert horizon_of(marker) == 100
    assert _filtered(batches[0], marker, undone=undone, now_ms=99)[1] is marker
    assert _filtered(batches[0], marker, undone=undone, now_ms=100)[1] is None


def test_a_marker_stays_as_long_as_a_batch_of_its_transaction_does() -> None:
    batches = _placed(keyed("a=1", producer_id=7, sequence=0, transactional=True), committing())
    assert _filtered(*batches) == list(batches)
    emptied, marker = _filtered(*batches, undone=(Undone(7, 0, 1, 2),), numbered=frozenset({0}))
    assert emptied is not None
    assert emptied.record_count == 0
    assert marker is batches[1]


def test_a_long_key_is_told_apart_from_every_other() -> None:
    latest = Latest()
    latest.note(keyed("k" * 33 + "=1").numbered())
    assert not latest.is_latest(-1, b"k" * 33)
    assert latest.is_latest(-1, b"k" * 34)
    assert len(latest) == 1


def test_a_log_is_gone_over_when_enough_of_it_is_new() -> None:
    segments = _segments(100, 100, 50)

    def chosen(cleaned: int, ratio: float) -> Extent | None:
        policy = CompactionPolicy(dirty_ratio_min=ratio)
        return choose(segments, policy, cleaned=cleaned, stable=30, now_ms=0, oldest_ms=0)

    assert chosen(0, 0.5) == Extent(0, 20, 1.0)
    assert chosen(10, 0.4) == Extent(10, 20, 0.5)
    assert chosen(10, 0.5) is None
    assert chosen(20, 0.0) is None


def test_young_and_unstable_segments_are_left_out() -> None:
    segments = _segments(100, 100, 50, time_ms=500)
    young = CompactionPolicy(lag_min_ms=100)
    assert choose(segments, young, cleaned=0, stable=30, now_ms=600, oldest_ms=0) == Extent(0, 10, 1.0)
    assert choose(segments, young, cleaned=0, stable=30, now_ms=599, oldest_ms=0) is None
    assert choose(segments, CompactionPolicy(), cleaned=0, stable=19, now_ms=0, oldest_ms=0) == Extent(
        0, 10, 1.0
    )


def test_what_stayed_too_long_is_compacted_however_little_it_is() -> None:
    segments = _segments(100, 1, 50, time_ms=500)
    policy = CompactionPolicy(lag_max_ms=100)
    assert due(segments, policy, 10, 30, now_ms=601) is None
    assert due(segments, policy, 10, 30, now_ms=602) == Extent(10, 20, 1 / 101)
    assert due(segments, policy, 20, 30, now_ms=10_000) is None


def test_a_clock_that_jumps_makes_nothing_overdue_and_nothing_young_for_ever() -> None:
    segments = _segments(100, 1, 50, time_ms=500)
    assert due(segments, CompactionPolicy(lag_max_ms=100), 10, 30, now_ms=-5) is None
    assert due(segments, CompactionPolicy(lag_min_ms=0), 0, 30, now_ms=-5) == Extent(0, 20, 1.0)


def test_an_active_segment_ends_when_its_records_have_to_be_compacted() -> None:
    segments = _segments(100, 50, time_ms=500)
    policy = CompactionPolicy(lag_max_ms=100)
    assert [should_roll(segments, policy, now_ms=now) for now in (601, 602)] == [False, True]
    assert not should_roll([replace(segments[-1], size=0)], policy, now_ms=9999)
    assert not should_roll([], policy, now_ms=9999)


def test_small_neighbours_become_one_segment() -> None:
    assert grouped(_segments(100, 50, 60, 10, 10), bytes_max=150, count_max=16) == [[0, 1], [2, 3, 4]]
    assert grouped(_segments(1, 1, 1), bytes_max=150, count_max=2) == [[0, 1], [2]]
    wide = [replace(s, offset_end=s.offset_end + (1 << 31)) for s in _segments(1, 1)]
    assert grouped(wide, bytes_max=150, count_max=16) == [[0], [1]]

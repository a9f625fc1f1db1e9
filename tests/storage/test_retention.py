"""Which segments have had their time."""

from onelog.storage.retention import Limits, new_start, should_roll
from onelog.storage.segment import SegmentInfo


def _segments(*newest_ms: int, size: int = 100) -> list[SegmentInfo]:
    """Ten offsets each; the last one is active."""
    return [
        SegmentInfo(n * 10, n * 10 + 10, size, ms, created_ms=0, sealed=n < len(newest_ms) - 1)
        for n, ms in enumerate(newest_ms)
    ]


def test_without_limits_all_is_kept() -> None:
    assert new_start(_segments(1, 2, 3), Limits(), start=0, now_ms=10_000) == 0


def test_sealed_segments_go_when_their_newest_record_is_too_old() -> None:
    segments = _segments(100, 200, 300, 400)
    assert new_start(segments, Limits(retention_ms=750), start=0, now_ms=1000) == 20
    assert new_start(segments, Limits(retention_ms=800), start=0, now_ms=1000) == 10


def test_an_old_segment_behind_a_young_one_stays() -> None:
    assert new_start(_segments(900, 100, 950), Limits(retention_ms=500), start=0, now_ms=1000) == 0


def test_the_active_segment_stays_however_old() -> None:
    assert new_start(_segments(1, 2), Limits(retention_ms=0), start=0, now_ms=1000) == 10


def test_by_size_segments_go_while_enough_is_left_without_them() -> None:
    segments = _segments(1, 2, 3, 4)
    assert new_start(segments, Limits(retention_bytes=200), start=0, now_ms=0) == 20
    assert new_start(segments, Limits(retention_bytes=201), start=0, now_ms=0) == 10
    assert new_start(segments, Limits(retention_bytes=0), start=0, now_ms=0) == 30


def test_the_start_never_goes_back() -> None:
    assert new_start(_segments(1, 900, 950), Limits(retention_ms=500), start=17, now_ms=1000) == 17


def test_records_without_a_time_go_by_size_only() -> None:
    segments = _segments(-1, -1, -1)
    assert new_start(segments, Limits(retention_ms=0), start=0, now_ms=1000) == 0
    assert not should_roll(segments, Limits(retention_ms=0), now_ms=1000)


def test_the_active_segment_is_rolled_when_all_of_it_is_too_old() -> None:
    assert should_roll(_segments(100), Limits(retention_ms=500), now_ms=1000)
    assert not should_roll(_segments(600), Limits(retention_ms=500), now_ms=1000)
    assert not should_roll(_segments(100), Limits(), now_ms=1000)
    assert not should_roll(_segments(100, size=0), Limits(retention_ms=500), now_ms=1000)
    assert not should_roll([], Limits(retention_ms=500), now_ms=1000)

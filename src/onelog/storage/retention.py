"""Which sealed segments have had their time: a pure function of sizes, times and limits.

It says where the log would begin afterwards. Making that durable, and taking files away,
are for others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from onelog.storage.segment import SegmentInfo

NO_LIMIT = -1


@dataclass(frozen=True)
class Limits:
    """How much of a log is kept; -1 is all of it."""

    retention_bytes: int = NO_LIMIT
    retention_ms: int = NO_LIMIT


def new_start(segments: Sequence[SegmentInfo], limits: Limits, *, start: int, now_ms: int) -> int:
    """Where the log begins once what the limits let go is gone; never below `start`.

    Segments go from the oldest on, whole, and never the active one. By age: those whose
    newest record is older than retention_ms. By size: as long as what is left without them
    has at least retention_bytes.
    """
    left = sum(s.size for s in segments)
    for segment in segments:
        if not segment.sealed:
            break
        is_old = _is_old(segment, limits, now_ms)
        is_over = 0 <= limits.retention_bytes <= left - segment.size
        if not (is_old or is_over):
            break
        left -= segment.size
        start = max(start, segment.offset_end)
    return start


def should_roll(segments: Sequence[SegmentInfo], limits: Limits, *, now_ms: int) -> bool:
    """Whether all of the active segment is too old, so that it may go once a newer one is there."""
    if not segments or segments[-1].sealed or not segments[-1].size:
        return False
    return _is_old(segments[-1], limits, now_ms)


def _is_old(segment: SegmentInfo, limits: Limits, now_ms: int) -> bool:
    # Records without a time have no age, so they go by size only.
    return segment.max_timestamp_ms >= 0 and 0 <= limits.retention_ms < now_ms - segment.max_timestamp_ms

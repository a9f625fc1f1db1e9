"""Which record was the first at or after some time, and which is the newest.

The batches' headers lead to the batch; only that one is looked into. What a header claims
and its records do not hold is passed over. One that unpacks to more than a look-up may open is
answered for as a whole: who begins at its first record misses nothing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from onelog.records.batch import Batch, OverlargeBatch

# A look-up is made in the loop's turn, and a few bytes of zeros unpack to very many.
OPENED_BYTES_MAX = 16 << 20


class Found(NamedTuple):
    """A record's place and time."""

    offset: int
    timestamp_ms: int


def first_at_or_after(
    batches: Iterable[Batch], timestamp_ms: int, *, start: int, offset_max: int
) -> Found | None:
    """The first record from start to offset_max (exclusive) that is this old or newer."""
    for batch in batches:
        if batch.base_offset >= offset_max:
            return None
        if batch.offset_end <= start or batch.max_timestamp_ms < timestamp_ms:
            continue
        try:
            found = batch.find_time(
                timestamp_ms, offset_start=start, offset_end=offset_max, bytes_max=OPENED_BYTES_MAX
            )
        except OverlargeBatch:
            found = _as_a_whole(batch, start)
        if found:
            return Found(*found)
    return None


def newest(batches: Iterable[Batch], *, start: int, offset_max: int) -> Found | None:
    """The record from start to offset_max (exclusive) with the greatest time, the first of them."""
    best: Found | None = None
    for batch in batches:
        if batch.base_offset >= offset_max:
            break
        if batch.offset_end <= start or (best and batch.max_timestamp_ms <= best.timestamp_ms):
            continue
        try:
            found = batch.find_time_max(offset_start=start, offset_end=offset_max, bytes_max=OPENED_BYTES_MAX)
        except OverlargeBatch:
            found = _as_a_whole(batch, start)
        if found and (not best or found[1] > best.timestamp_ms):
            best = Found(*found)
    return best


def _as_a_whole(batch: Batch, start: int) -> Found:
    return Found(max(batch.base_offset, start), batch.max_timestamp_ms)

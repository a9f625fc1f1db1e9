"""Sparse indexes of one segment: offset -> position and time -> offset. Never evidence.

Both are made of the batches and can be dropped and made again at any moment; an entry that was
read from a file is checked against the batch that it speaks of. On disk they are Kafka's:

    .index       i32 last offset of a batch - base    i32 its position           8 bytes each
    .timeindex   i64 greatest timestamp so far        i32 last offset - base    12 bytes each

An offset entry is due when more than `interval_bytes` were written since the last one.
"""

import struct
from array import array
from bisect import bisect_left
from operator import lt
from typing import NamedTuple

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
RELATIVE_MAX = (1 << 31) - 1


class IndexMark(NamedTuple):
    """How far an index had grown."""

    offsets: int
    times: int
    bytes_since: int
    max_timestamp_ms: int
    last_of_max: int


class Index:
    """Both indexes of a segment, in memory. Grows at the end only, and may be taken back to a mark."""

    __slots__ = (
        "_bytes_since",
        "_last_of_max",
        "_offsets",
        "_positions",
        "_time_offsets",
        "_times",
        "max_timestamp_ms",
    )

    def __init__(self) -> None:
        self._offsets = array("q")
        self._positions = array("q")
        self._times = array("q")
        self._time_offsets = array("q")
        self._bytes_since = 0
        self.max_timestamp_ms = -1
        self._last_of_max = -1

    @property
    def entry_count(self) -> int:
        """How many offsets are known with their position."""
        return len(self._offsets)

    def note(
        self, last_relative: int, *, position: int, size: int, timestamp_ms: int, interval_bytes: int
    ) -> None:
        """A batch was written: the offset of its last record, where it begins, its newest record."""
        if timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = timestamp_ms
            self._last_of_max = last_relative
        if self._bytes_since > interval_bytes:
            self._offsets.append(last_relative)
            self._positions.append(position)
            self._note_time()
            self._bytes_since = 0
        self._bytes_since += size

    def mark(self) -> IndexMark:
        """Where it is now."""
        times = len(self._times)
        return IndexMark(
            len(self._offsets), times, self._bytes_since, self.max_timestamp_ms, self._last_of_max
        )

    def cut(self, mark: IndexMark) -> None:
        """Forget what was noted since: it was not settled."""
        del self._offsets[mark.offsets :], self._positions[mark.offsets :]
        del self._times[mark.times :], self._time_offsets[mark.times :]
        self._bytes_since = mark.bytes_since
        self.max_timestamp_ms = mark.max_timestamp_ms
        self._last_of_max = mark.last_of_max

    @property
    def last_entry(self) -> tuple[int, int]:
        """(position, last offset - base) of the last offset entry; (0, -1) without one."""
        return (self._positions[-1], self._offsets[-1]) if self._offsets else (0, -1)

    @property
    def newest(self) -> tuple[int, int]:
        """(time, last offset - base) of the first batch with the greatest time."""
        return self.max_timestamp_ms, self._last_of_max

    def seal(self) -> None:
        """No batch follows: the segment's greatest timestamp becomes the last entry."""
        self._note_time()

    def entry_before(self, relative: int) -> tuple[int, int]:
        """(position, last offset - base) of a batch below this offset, to begin looking at."""
        found = bisect_left(self._offsets, relative) - 1
        return (self._positions[found], self._offsets[found]) if found >= 0 else (0, -1)

    def entry_before_time(self, timestamp_ms: int) -> tuple[int, int]:
        """(time, last offset - base) of a batch up to which all is older than this; (-1, -1) without."""
        found = bisect_left(self._times, timestamp_ms) - 1
        return (self._times[found], self._time_offsets[found]) if found >= 0 else (-1, -1)

    def offset_bytes(self) -> bytes:
        """The content of the .index file."""
        return b"".join(map(OFFSET_ENTRY.pack, self._offsets, self._positions))

    def time_bytes(self) -> bytes:
        """The content of the .timeindex file."""
        return b"".join(map(TIME_ENTRY.pack, self._times, self._time_offsets))

    def _note_time(self) -> None:
        if self.max_timestamp_ms >= 0 and (not self._times or self.max_timestamp_ms > self._times[-1]):
            self._times.append(self.max_timestamp_ms)
            self._time_offsets.append(self._last_of_max)


def loaded(offset_bytes: bytes, time_bytes: bytes, *, size: int, relative_end: int) -> Index | None:
    """The indexes of a sealed segment from its files; None when they cannot be its own."""
    offsets = _entries(offset_bytes, OFFSET_ENTRY)
    times = _entries(time_bytes, TIME_ENTRY)
    if offsets is None or times is None or not times[0]:
        return None
    index = Index()
    index._offsets, index._positions = offsets
    index._times, index._time_offsets = times
    sound = (
        _rising(index._offsets, below=relative_end)
        and _rising(index._positions, below=size)
        and _rising(index._times, below=1 << 63)
        and _rising(index._time_offsets, below=relative_end)
    )
    if not sound:
        return None
    index.max_timestamp_ms = index._times[-1]
    index._last_of_max = index._time_offsets[-1]
    return index


def _entries(data: bytes, entry: struct.Struct) -> "tuple[array[int], array[int]] | None":
    if len(data) % entry.size:
        return None
    columns = tuple(zip(*entry.iter_unpack(data), strict=True)) or ((), ())
    return array("q", columns[0]), array("q", columns[1])


def _rising(values: "array[int]", *, below: int) -> bool:
    if not values:
        return True
    return values[0] >= 0 and values[-1] < below and all(map(lt, values, values[1:]))

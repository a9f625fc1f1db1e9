"""What a log has in memory and not in its segments yet: batches in order, and where frames have them.

It is read from until a root says that its beginning is settled; then that is dropped.
"""

from bisect import bisect_right
from collections import deque
from typing import NamedTuple

from onelog.records.batch import Batch
from onelog.storage.frames import Entry, LogKey


class FramePlace(NamedTuple):
    """Where the commit log has records of a tail: those below `next` that no earlier frame has."""

    next: int
    lsn: int
    before: int


class Tail:
    """The tail of one log. Owned by it."""

    __slots__ = ("_frames", "_times_ms", "batches", "size")

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.size = 0
        self._times_ms: list[int] = []
        self._frames: deque[FramePlace] = deque()

    def __len__(self) -> int:
        return len(self.batches)

    def add(self, batch: Batch, *, now_ms: int) -> None:
        """The next batch, appended at now_ms."""
        self.batches.append(batch)
        self._times_ms.append(now_ms)
        self.size += batch.size

    def at(self, number: int) -> tuple[Batch, int]:
        """A batch, and when it was appended."""
        return self.batches[number], self._times_ms[number]

    def count_below(self, offset: int) -> int:
        """How many batches end at this offset or before."""
        return bisect_right(self.batches, offset, key=lambda b: b.offset_end)

    def note_frame(self, place: FramePlace) -> None:
        """A frame has everything below its `next` that no earlier one has."""
        self._frames.append(place)

    @property
    def first_frame(self) -> FramePlace | None:
        """Where the commit log has the beginning; None when nothing was written."""
        return self._frames[0] if self._frames else None

    def drop(self, count: int, *, settled: int) -> None:
        """So many batches are in segments, up to this offset."""
        self.size -= sum(batch.size for batch in self.batches[:count])
        del self.batches[:count], self._times_ms[:count]
        while self._frames and self._frames[0].next <= settled:
            self._frames.popleft()

    def read(self, offset: int, *, bytes_max: int, offset_max: int, at_least_one: bool) -> list[Batch]:
        """Whole batches from the one that holds `offset` on, none reaching beyond offset_max."""
        found: list[Batch] = []
        for batch in self.batches[self.count_below(offset) :]:
            fits = batch.size <= bytes_max or (at_least_one and not found)
            if not fits or batch.offset_end > offset_max:
                break
            found.append(batch)
            bytes_max -= batch.size
        return found

    def entries(self, key: LogKey, *, written: int) -> list[Entry]:
        """What frames have of it, to be kept when it cannot be settled."""
        return [
            Entry(key, batch.base_offset, batch.offset_end, [batch.data], batch.size)
            for batch in self.batches[: self.count_below(written)]
        ]

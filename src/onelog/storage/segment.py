"""One segment file: read batches from an offset, find a time, know its own marks.

A segment knows no neighbours and never decides when to roll; writing.py does, and writes.
`size` and `offset_end` say what of the file counts; they move on the loop's thread only,
after the bytes are synced, so that readers never see a byte that could be taken back.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from onelog.records.batch import Batch
from onelog.records.codec import HEADER_BYTES
from onelog.storage import index as indexes
from onelog.storage import layout
from onelog.storage.handles import Handles
from onelog.storage.index import Index
from onelog.storage.transactions import Undone
from onelog.storage.walk import CHUNK_BYTES, batch_bytes, sane_batch, walk

# How many places where a reader stopped are remembered, for when it comes again.
_HINTS_MAX = 8
# How far apart the entries of an index are that is made again.
INTERVAL_BYTES = 4096


class LogRefused(Exception):
    """One log stays closed while all others serve: where, what was found, what was expected.

    It is the reason of a PartitionClosed, which ends the sentence and says where to read on.
    """


@dataclass(frozen=True)
class SegmentInfo:
    """What retention, inspection and dialects may know of a segment."""

    base_offset: int
    offset_end: int
    size: int
    max_timestamp_ms: int
    created_ms: int
    sealed: bool


class Segment:
    """One file of batches and its indexes. Owned by its log."""

    __slots__ = ("_hints", "_index", "_is_index_read", "_is_time_known", "_max_timestamp_ms", "base_offset", "created_ms", "directory", "handles", "has_undone", "offset_end", "path", "sealed", "size", "undone")  # fmt: skip

    def __init__(self, handles: Handles, directory: str, base_offset: int, *, created_ms: int) -> None:
        self.handles = handles
        self.directory = directory
        self.path = layout.join(directory, layout.segment_file(base_offset))
        self.base_offset = base_offset
        self.offset_end = base_offset
        self.size = 0
        self.created_ms = created_ms
        self.sealed = False
        self.has_undone = False
        self.undone: list[Undone] | None = None
        self._index: Index | None = Index()
        self._is_index_read = False
        self._is_time_known = False
        self._max_timestamp_ms = -1
        self._hints: dict[int, int] = {}

    @classmethod
    def standing(
        cls,
        handles: Handles,
        directory: str,
        base_offset: int,
        *,
        offset_end: int,
        size: int,
        index: Index | None,
    ) -> "Segment":
        """One that was there at the start. Without an index, it is read or made when needed."""
        segment = cls(handles, directory, base_offset, created_ms=-1)
        segment.offset_end = offset_end
        segment.size = size
        segment._index = index
        segment._max_timestamp_ms = -1 if index is None else index.max_timestamp_ms
        segment.sealed = index is None
        return segment

    @property
    def info(self) -> SegmentInfo:
        """What others may know."""
        return SegmentInfo(
            base_offset=self.base_offset,
            offset_end=self.offset_end,
            size=self.size,
            max_timestamp_ms=self.max_timestamp_ms,
            created_ms=self.created_ms,
            sealed=self.sealed,
        )

    @property
    def max_timestamp_ms(self) -> int:
        """The newest record's time; -1 when none has a time."""
        if self._index is None and not self._is_time_known:
            # Its index is needed for this number only, so it is not kept.
            self._max_timestamp_ms = self.index.max_timestamp_ms
            self.drop_index()
        return self._max_timestamp_ms

    @property
    def index(self) -> Index:
        """The indexes, read from their files or made again when those are not there or not right."""
        if self._index is None:
            loaded = self._loaded_index()
            if loaded is None:
                return self._made_again()
            self._is_index_read = True
            self._index = loaded
            self._max_timestamp_ms = loaded.max_timestamp_ms
            self._is_time_known = True
        return self._index

    def grow(self, *, size: int, offset_end: int, max_timestamp_ms: int) -> None:
        """The file is synced up to here; from now on it is read up to here."""
        assert size >= self.size
        assert offset_end >= self.offset_end
        assert not self.sealed
        self.size = size
        self.offset_end = offset_end
        self._max_timestamp_ms = max(self._max_timestamp_ms, max_timestamp_ms)

    def seal(self) -> None:
        """Nothing is written here any more."""
        self.sealed = True

    def drop_index(self) -> None:
        """Give the memory back; a sealed segment's index is read again when needed."""
        if self.sealed:
            self._index = None
            self.undone = None

    def read(self, offset: int, *, bytes_max: int, offset_max: int, at_least_one: bool) -> list[Batch]:
        """Whole batches from the one that holds `offset` on, none reaching beyond offset_max.

        No more than bytes_max, but for the first one when at_least_one is asked for.
        """
        if bytes_max <= 0 and not at_least_one:
            return []
        # Who has filled a budget with one large batch asks for less than nothing.
        bytes_max = max(0, bytes_max)
        position = self._hints.get(offset)
        count = bytes_max
        if position is None:
            position = self._position_before(offset)
            count += INTERVAL_BYTES
        while position < self.size:
            data = self._pread(position, count)
            found, passed = self._taken(data, position, offset, offset_max, bytes_max, at_least_one)
            if found is not None:
                return found
            position += passed
            count = max(count, _needed(data, passed))
            if position + count > self.size and position + _needed(data, passed) > self.size:
                raise self.damaged(position)
        return []

    def batches(self, position: int = 0, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[tuple[int, Batch]]:
        """(position, batch) from a position where one begins; damage raises LogRefused."""
        with self.handles.use(self.path) as file:
            for at, batch in walk(file, position=position, end=self.size, chunk_bytes=chunk_bytes):
                yield at, batch
                position = at + batch.size
        if position != self.size:
            raise self.damaged(position)

    def from_time(self, timestamp_ms: int) -> Iterator[Batch]:
        """The batches from at most a little before the first one with so late a record on."""
        entry = self.index.entry_before_time(timestamp_ms)
        if self._is_index_read and entry[1] >= 0 and not self._is_true(self.index, entry):
            entry = self._made_again().entry_before_time(timestamp_ms)
        position = self._position_before(self.base_offset + entry[1] + 1)
        return (batch for _, batch in self.batches(position))

    def damaged(self, position: int) -> LogRefused:
        """No batch stands where one has to."""
        return LogRefused(
            f"{self.path} at byte {position}: no whole batch; expected batches up to byte {self.size}"
        )

    def _taken(
        self,
        data: memoryview,
        position: int,
        offset: int,
        offset_max: int,
        bytes_max: int,
        at_least_one: bool,
    ) -> tuple[list[Batch] | None, int]:
        """(the batches to hand out, or None to look further on; bytes passed over)."""
        found: list[Batch] = []
        at, taken = 0, 0
        while at + HEADER_BYTES <= len(data):
            size = batch_bytes(data, at)
            if size < HEADER_BYTES or position + at + size > self.size:
                raise self.damaged(position + at)
            fits = taken + size <= bytes_max or (at_least_one and not found)
            if at + size > len(data):
                return (found, at) if found or not at_least_one else (None, at)
            batch = sane_batch(data[at : at + size])
            if batch is None:
                raise self.damaged(position + at)
            if batch.offset_end > offset:
                if not fits or batch.offset_end > offset_max:
                    return found, at
                found.append(batch)
                taken += size
            at += size
        if found:
            self._remember(found[-1].offset_end, position + at)
        return (found or None), at

    def _remember(self, offset: int, position: int) -> None:
        if len(self._hints) >= _HINTS_MAX:
            del self._hints[next(iter(self._hints))]
        self._hints[offset] = position

    def _position_before(self, offset: int) -> int:
        """Where to begin looking for an offset: no later than its batch."""
        entry = self.index.entry_before(offset - self.base_offset)
        if self._is_index_read and entry[1] >= 0 and not self._stands(*entry):
            entry = self._made_again().entry_before(offset - self.base_offset)
        return entry[0]

    def _stands(self, position: int, relative: int) -> bool:
        """Whether the batch whose last offset is this one begins here."""
        if self.size - position < HEADER_BYTES:
            return False
        size = batch_bytes(self._pread(position, HEADER_BYTES), 0)
        if not HEADER_BYTES <= size <= self.size - position:
            return False
        batch = sane_batch(self._pread(position, size))
        return batch is not None and batch.last_offset - self.base_offset == relative

    def _is_true(self, index: Index, entry: tuple[int, int]) -> bool:
        """Whether the batch that a time entry speaks of is there, and that new.

        That all before it is older, as the entry also says, follows from the entries' order:
        where the time rises, one is due no later than with the next offset entry, and looking
        begins at the offset entry before this one.
        """
        timestamp_ms, relative = entry
        position, begins = index.entry_before(relative + 1)
        try:
            for at, batch in self.batches(position, chunk_bytes=2 * INTERVAL_BYTES):
                last = batch.last_offset - self.base_offset
                if at == position and begins not in (-1, last):
                    return False
                if last >= relative:
                    return last == relative and batch.max_timestamp_ms == timestamp_ms
        except LogRefused:
            pass
        return False

    def _pread(self, position: int, count: int) -> memoryview:
        count = min(count, self.size - position)
        assert count >= 0
        with self.handles.use(self.path) as file:
            data = file.pread(position, count)
        if len(data) < count:
            raise self.damaged(position + len(data))
        return memoryview(data)

    def _loaded_index(self) -> Index | None:
        disk = self.handles.disk
        content: list[bytes] = []
        for suffix in (layout.INDEX_SUFFIX, layout.TIME_INDEX_SUFFIX):
            path = layout.join(self.directory, layout.segment_file(self.base_offset, suffix))
            if not disk.exists(path):
                return None
            with self.handles.use(path) as file:
                content.append(file.pread(0, file.size()))
        index = indexes.loaded(*content, size=self.size, relative_end=self.offset_end - self.base_offset)
        return index if index is not None and self._agrees(index) else None

    def _agrees(self, index: Index) -> bool:
        """Whether the end of an index speaks of this file: an old or torn one does not."""
        position, relative = index.last_entry
        try:
            for number, (_, batch) in enumerate(self.batches(position)):
                if number == 0 and relative >= 0 and batch.last_offset - self.base_offset != relative:
                    return False
                if batch.max_timestamp_ms > index.max_timestamp_ms:
                    return False
        except LogRefused:
            return False
        return self._is_true(index, index.newest)

    def _made_again(self) -> Index:
        index = Index()
        for position, batch in self.batches():
            index.note(
                batch.last_offset - self.base_offset,
                position=position,
                size=batch.size,
                timestamp_ms=batch.max_timestamp_ms,
                interval_bytes=INTERVAL_BYTES,
            )
        index.seal()
        self._index = index
        self._is_index_read = False
        self._max_timestamp_ms = index.max_timestamp_ms
        self._is_time_known = True
        return index


def _needed(data: memoryview, at: int) -> int:
    """How much has to be read for the batch that begins at `at`."""
    return batch_bytes(data, at) if at + HEADER_BYTES <= len(data) else HEADER_BYTES

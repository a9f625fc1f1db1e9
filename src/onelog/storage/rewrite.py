"""One pass of compaction over a log: what is read, what is written, and when readers see it.

Comes in steps: a system call for a worker's thread, or None where the loop may do something
else. Between two steps nothing is half true: readers keep the old segments, by handles that
stay open, until the new one has their names.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from functools import partial

from onelog.binary.compression import Codec
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.records.batch import Batch
from onelog.records.codec import CODEC_MASK, HEADER_BYTES
from onelog.records.record import Record
from onelog.storage import layout, transactions
from onelog.storage.compaction import (
    KEYS_MAX,
    CompactionPolicy,
    Extent,
    Filter,
    Latest,
    grouped,
    placeholder,
)
from onelog.storage.disk import Buffer, DiskFile
from onelog.storage.index import Index
from onelog.storage.log import PartitionLog
from onelog.storage.segment import LogRefused, Segment
from onelog.storage.swap import Swap
from onelog.storage.transactions import Undone
from onelog.storage.undone import of_segment
from onelog.storage.walk import CHUNK_BYTES, batch_bytes, is_intact, sane_batch

Act = Callable[[], object]
Steps = Generator[Act | None, None, None]
# How many segments become one at most: that many files stay open.
JOINED_MAX = 16
_RECORDS_AT_ONCE = 64
# Parts of a log, as records with their offsets.
Records = list[tuple[int, Record]]


class Compaction:
    """One pass. `swap` is the exchange that is under way, to be undone if the pass is given up."""

    def __init__(
        self,
        log: PartitionLog,
        policy: CompactionPolicy,
        extent: Extent,
        *,
        now_ms: int,
        keys_max: int = KEYS_MAX,
    ) -> None:
        self.swap: Swap | None = None
        self.bytes_before = 0
        self.bytes_after = 0
        self._log = log
        self._extent = extent
        self._latest = Latest(keys_max=keys_max)
        self._undone = log.aborted(log.marks.start, extent.end)
        self._filter = Filter(
            self._latest,
            policy,
            start=log.marks.start,
            now_ms=now_ms,
            undone=self._undone,
            numbered={seen.next - 1 for _, producer in log.producers.items() for seen in producer.last()},
        )

    def steps(self) -> Steps:
        """The pass. Whoever runs it stops when the log is closed."""
        segments = [s for s in self._log.sealed_segments() if s.base_offset < self._extent.end]
        for segment in segments:
            if segment.offset_end > self._extent.dirty and not self._latest.is_full():
                yield from self._note(segment)
        segments = [s for s in segments if s.base_offset < self._latest.end]
        infos = [segment.info for segment in segments]
        for numbers in grouped(infos, bytes_max=self._log.settings.segment_bytes, count_max=JOINED_MAX):
            yield from _Group(self, self._log, [segments[n] for n in numbers]).steps()
        self._log.cleaned = self._latest.end

    def _note(self, segment: Segment) -> Steps:
        """Of each key in a segment, the last offset."""
        latest = self._latest
        with ExitStack() as pins:
            file = pinned(self._log, segment, pins)
            position = 0
            while position < segment.size and not latest.is_full():
                batches, position = yield from chunk(segment, file, position)
                for batch in batches:
                    if latest.is_full():
                        return
                    if batch.offset_end > self._extent.dirty and self._filter.is_looked_into(batch):
                        records = yield from looked_into(segment, batch)
                        latest.note(records)
                    latest.end = batch.offset_end
        if position >= segment.size:
            latest.end = segment.offset_end

    def kept(self, segment: Segment, batch: Batch) -> "Generator[Act | None, None, Batch | None]":
        """What stays of a batch."""
        records: Records = []
        if self._filter.is_looked_into(batch):
            records = yield from looked_into(segment, batch)
        return self._filter.kept(batch, records)

    def undone_in(self, segments: Sequence[Segment], markers: set[int]) -> list[Undone]:
        """The aborted transactions whose markers are still in these segments."""
        found = of_segment(self._undone, segments[0].base_offset, segments[-1].offset_end)
        return [each for each in found if each.last in markers]


class _Group:
    """Neighbours that become one segment."""

    def __init__(self, owner: Compaction, log: PartitionLog, segments: list[Segment]) -> None:
        self._owner = owner
        self._log = log
        self._segments = segments
        self._base = segments[0].base_offset
        self._index = Index()
        self._size = 0
        self._buffers: list[Buffer] = []
        self._markers: set[int] = set()
        self._end = self._base

    def steps(self) -> Steps:
        """Write it, put it into the place of the old ones, and let readers see it."""
        owner, log, segments = self._owner, self._log, self._segments
        swap = owner.swap = Swap(log.home, self._base, [s.base_offset for s in segments])
        with ExitStack() as pins:
            pins.enter_context(log.holding(segments))
            files = [pinned(log, segment, pins) for segment in segments]
            yield swap.make
            opened: list[DiskFile] = []
            yield lambda: opened.append(log.home.disk.open(swap.path))
            (out,) = opened
            try:
                for segment, file in zip(segments, files, strict=True):
                    yield from self._rewrite(segment, file, out)
                yield from self._flush(out)
                yield out.sync
            finally:
                out.close()
            undone = owner.undone_in(segments, self._markers)
            indexes = self._index_files(undone)
            yield lambda: swap.prepare(indexes)
            yield swap.run
            owner.bytes_before += sum(segment.size for segment in segments)
            owner.bytes_after += self._size
            log.replace(segments, size=self._size, has_undone=bool(undone))
        owner.swap = None
        yield swap.clear

    def _rewrite(self, segment: Segment, file: DiskFile, out: DiskFile) -> Steps:
        position = 0
        last: Batch | None = None
        while position < segment.size:
            batches, position = yield from chunk(segment, file, position)
            for batch in batches:
                if not is_intact(batch):
                    # With a checksum of its own, what is left of it would pass for sound.
                    raise LogRefused(
                        f"{segment.path}: batch at offset {batch.base_offset}: its checksum is not "
                        f"{batch.crc:08x}"
                    )
                last = batch
                kept = yield from self._owner.kept(segment, batch)
                if kept is not None:
                    self._put(kept)
            yield from self._flush(out)
        if last is not None and segment is self._segments[-1] and self._end != last.offset_end:
            self._put(placeholder(last))

    def _put(self, batch: Batch) -> None:
        if batch.is_control:
            self._markers.add(batch.base_offset)
        self._index.note(
            batch.last_offset - self._base,
            position=self._size,
            size=batch.size,
            timestamp_ms=batch.max_timestamp_ms,
            interval_bytes=self._log.settings.index_interval_bytes,
        )
        self._buffers.append(batch.data)
        self._size += batch.size
        self._end = batch.offset_end

    def _flush(self, out: DiskFile) -> Steps:
        buffers, self._buffers = self._buffers, []
        if buffers:
            position = self._size - sum(map(len, buffers))
            yield lambda: out.write_at(position, buffers)

    def _index_files(self, undone: Sequence[Undone]) -> dict[str, bytes]:
        self._index.seal()
        content = {
            layout.INDEX_SUFFIX: self._index.offset_bytes(),
            layout.TIME_INDEX_SUFFIX: self._index.time_bytes(),
        }
        if undone:
            content[layout.TRANSACTION_INDEX_SUFFIX] = transactions.encoded(undone)
        return content


def pinned(log: PartitionLog, segment: Segment, pins: ExitStack) -> DiskFile:
    """A segment's file, open until the stack is left, whatever its name leads to meanwhile."""
    handle = log.handles.pin(segment.path)
    pins.callback(log.handles.unpin, handle)
    return handle.file


def chunk(
    segment: Segment, file: DiskFile, position: int
) -> "Generator[Act | None, None, tuple[list[Batch], int]]":
    """Some batches from this position on, at least one, and the position behind them."""
    count = CHUNK_BYTES
    while True:
        got: list[bytes] = []
        yield partial(_read, file, position, min(count, segment.size - position), got)
        batches, size = _split(memoryview(got[0]))
        if batches:
            return batches, position + size
        if count > CHUNK_BYTES or len(got[0]) < HEADER_BYTES:
            raise segment.damaged(position)
        count = max(batch_bytes(got[0], 0), CHUNK_BYTES + 1)


def _read(file: DiskFile, position: int, count: int, got: list[bytes]) -> None:
    got.append(file.pread(position, count))


def _split(data: memoryview) -> tuple[list[Batch], int]:
    batches: list[Batch] = []
    at = 0
    while at + HEADER_BYTES <= len(data):
        size = batch_bytes(data, at)
        batch = sane_batch(data[at : at + size]) if HEADER_BYTES <= size <= len(data) - at else None
        if batch is None:
            break
        batches.append(batch)
        at += size
    return batches, at


def looked_into(segment: Segment, batch: Batch) -> Generator[Act | None, None, Records]:
    """A batch's records, unpacked by a worker."""
    plain: list[Batch] = [batch]
    records: Records = []
    try:
        if batch.codec is not Codec.NONE:
            yield lambda: plain.append(_unpacked(batch))
        for number, each in enumerate(plain[-1].numbered()):
            records.append(each)
            if number % _RECORDS_AT_ONCE == _RECORDS_AT_ONCE - 1:
                yield None
    except (CorruptBatch, InvalidRecord) as error:
        raise LogRefused(f"{segment.path}: {error}") from error
    return records


def _unpacked(batch: Batch) -> Batch:
    return Batch.seal(
        batch.payload(),
        record_count=batch.record_count,
        attributes=batch.attributes & ~CODEC_MASK,
        last_offset_delta=batch.last_offset_delta,
        base_timestamp_ms=batch.base_timestamp_ms,
        max_timestamp_ms=batch.max_timestamp_ms,
        base_offset=batch.base_offset,
    )

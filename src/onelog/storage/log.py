"""One partition's log: segments on disk, a tail in memory, and the marks between them.

    start ... settled ... durable ... written ... appended
    |  segment files  |             tail                 |
                      | in frames, synced |
                      | in frames                |

An append fixes the order and puts the batches into the tail, where they stay and are read from
until a round has settled them (writing.py): until the root says that the segments have them.
All calls are made from the loop's thread, but SettleJob.run and RemovalJob.run, which make
system calls only. When to write what is decided above; so is what the settings are.
"""

from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from onelog.errors import DiskFailed, DiskFull, OffsetOutOfRange, PartitionClosed
from onelog.records.batch import Batch
from onelog.storage import lookup
from onelog.storage.disk import Buffer
from onelog.storage.ends import Said
from onelog.storage.frames import Entry, LogKey
from onelog.storage.handles import Handles
from onelog.storage.home import Home
from onelog.storage.leftovers import remove_leftovers
from onelog.storage.lookup import Found
from onelog.storage.producers import Producers, append_time_ms
from onelog.storage.removal import RemovalJob, SegmentRemoval
from onelog.storage.segment import LogRefused, Segment, SegmentInfo
from onelog.storage.tail import FramePlace, Tail
from onelog.storage.whole import write_files
from onelog.storage.writing import LogSettings, Plan, SettleJob, give_up, index_files, publish

__all__ = [
    "Appended",
    "Found",
    "FramePlace",
    "LogSettings",
    "Marks",
    "PartitionLog",
    "RemovalJob",
    "Repeated",
    "SegmentInfo",
    "SettleJob",
]


# Of a log's sealed segments, as many as readers of different ages are likely to be in.
INDEXES_KEPT = 4
# What planning may do in one breath, in batches.
PLANNED_AT_ONCE = 32


class Marks(NamedTuple):
    """How far a log is what. Each is an offset, exclusive but for start."""

    start: int
    settled: int
    stable: int
    durable: int
    written: int
    appended: int

    def check(self) -> "Marks":
        """Themselves, in their order."""
        assert 0 <= self.start <= self.written
        assert self.settled <= self.durable <= self.written <= self.appended
        assert self.stable <= self.written
        return self


@dataclass(frozen=True, slots=True)
class Appended:
    """Batches that have their offsets; buffers are their bytes as they will stand in the log."""

    base: int
    next: int
    timestamp_ms: int
    buffers: list[Buffer]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Batches that were in the log already, at these offsets; true once that part is durable."""

    base: int
    next: int
    timestamp_ms: int


class PartitionLog:
    """The log of one partition. Owned by the loop's thread."""

    def __init__(
        self,
        home: Home,
        handles: Handles,
        *,
        settings: LogSettings,
        segments: list[Segment],
        producers: Producers,
        start: int,
        end: int | None = None,
        is_os: bool = False,
        has_home: bool = False,
        has_index: bool = False,
        has_leftovers: bool = False,
    ) -> None:
        self.home = home
        self.settings = settings
        self.is_os = is_os
        self.producers = producers
        self._handles = handles
        self._segments = segments
        self._tail = Tail()
        self._has_leftovers = has_leftovers
        self._has_home = has_home
        self._has_index = has_index
        self._warm: list[Segment] = []
        self._job: SettleJob | None = None
        self._is_planning = False
        self._rolls_at_ms: int | None = None
        self._refusal: str | None = None
        if segments:
            end = segments[-1].offset_end
        elif end is None:
            end = start
        # Not checked: where a start reads the tail back, the log may begin in it.
        self.marks = Marks(start, end, end, end, end, end)

    @property
    def name(self) -> str:
        """The log as people call it: "orders/3"."""
        return self.home.name

    @property
    def topic_id(self) -> UUID:
        """The topic it belongs to, whatever that is called."""
        return self.home.topic_id

    @property
    def partition(self) -> int:
        """Its number."""
        return self.home.partition

    @property
    def key(self) -> LogKey:
        """How the commit log and the root call it."""
        return LogKey(self.home.topic_id, self.home.partition)

    @property
    def has_segments(self) -> bool:
        """Whether anything of it was ever settled."""
        return bool(self._segments)

    @property
    def visible(self) -> int:
        """Where what readers may see and answers may say ends."""
        return self.marks.written if self.is_os else self.marks.durable

    @property
    def size_bytes(self) -> int:
        """What it holds, settled or not."""
        return sum(s.size for s in self._segments) + self._tail.size

    @property
    def tail_bytes(self) -> int:
        """What of it is not in segments yet."""
        return self._tail.size

    @property
    def tail_count(self) -> int:
        """How many batches that is."""
        return len(self._tail)

    @property
    def said(self) -> Said:
        """What a root may say of it: what is settled."""
        if not self._segments:
            return Said(base=self.marks.settled, length=0, next=self.marks.settled)
        active = self._segments[-1]
        return Said(base=active.base_offset, length=active.size, next=active.offset_end)

    @property
    def first_frame(self) -> FramePlace | None:
        """Where the commit log has the beginning of the tail; None when nothing of it was written."""
        return self._tail.first_frame

    def segments(self) -> list[SegmentInfo]:
        """What is there, oldest first; none before the first write."""
        with self._closing_when_refused():
            return [s.info for s in self._segments]

    def append(self, batches: Sequence[Batch], *, leader_epoch: int, now_ms: int) -> Appended | Repeated:
        """These batches come next, in this order. Numbered ones that are there already do not."""
        seen = self.producers.check(batches)
        if all(seen):
            first, last = seen[0], seen[-1]
            assert first is not None
            assert last is not None
            return Repeated(first.base, last.next, first.timestamp_ms)
        base = following = self.marks.appended
        buffers: list[Buffer] = []
        timestamp_ms = -1
        for batch, is_there in zip(batches, seen, strict=True):
            if is_there:
                continue
            placed = batch.renumbered(base_offset=following, leader_epoch=leader_epoch)
            self.producers.note(placed, base=following, heard_ms=now_ms, settled=self.marks.settled)
            self._tail.add(placed, now_ms=now_ms)
            buffers.append(placed.data)
            following = placed.offset_end
            timestamp_ms = append_time_ms(placed)
        start, settled, stable, durable, written, _ = self.marks
        self.marks = Marks(start, settled, stable, durable, written, following).check()
        return Appended(base, following, timestamp_ms, buffers)

    def restore(self, batch: Batch, *, place: FramePlace) -> None:
        """A batch that a frame has comes next. At a start: it is durable once it is settled."""
        assert batch.base_offset == self.marks.appended
        self.producers.note(
            batch, base=batch.base_offset, heard_ms=batch.max_timestamp_ms, settled=self.marks.settled
        )
        self._tail.add(batch, now_ms=batch.max_timestamp_ms)
        self.marks = self.marks._replace(appended=batch.offset_end)
        self.note_written(batch.offset_end, lsn=place.lsn, before=place.before)

    def note_written(self, offset: int, *, lsn: int, before: int) -> None:
        """A frame at this place has everything below the offset that no earlier one has."""
        if offset > self.marks.settled:
            self._tail.note_frame(FramePlace(offset, lsn, before))
        if offset > self.marks.written:
            stable = offset if self.is_os else self.marks.stable
            self.marks = self.marks._replace(written=offset, stable=stable)

    def note_durable(self, offset: int) -> None:
        """A sync covers everything below the offset."""
        if offset > self.marks.durable:
            stable = max(self.marks.stable, offset)
            self.marks = self.marks._replace(durable=offset, stable=stable).check()

    def tail_entries(self) -> list[Entry]:
        """What frames have of the tail, to be kept when the log cannot be settled."""
        return self._tail.entries(self.key, written=self.marks.written)

    def ask_to_roll(self, now_ms: int) -> None:
        """Begin a new segment in the next round, even if nothing is there to settle."""
        self._rolls_at_ms = now_ms

    @property
    def wants_settling(self) -> bool:
        """Whether a round has something to do here."""
        return self.marks.written > self.marks.settled or self._rolls_at_ms is not None

    def begin_settle(self) -> Generator[None, None, SettleJob | None]:
        """What a worker is to do so that what was written is settled; None when there is nothing.

        Comes in pieces, so that a long tail holds nobody up. One job at a time: the next one is
        planned when this one was given to end_settle or undo_settle.
        """
        assert self._job is None
        assert not self._is_planning
        count = self._tail.count_below(self.marks.written)
        if not self._segments or not self._segments[-1].size:
            # One that is empty is not followed by another, which would have the same name.
            self._rolls_at_ms = None
        if not count and self._rolls_at_ms is None:
            return None
        plan = Plan(
            self._handles,
            self.home,
            active=self._segments[-1] if self._segments else None,
            producers=self.producers,
            settings=self.settings,
        )
        self._is_planning = True
        if self._rolls_at_ms is not None:
            plan.roll(self.marks.settled, now_ms=self._rolls_at_ms)
            self._rolls_at_ms = None
        for number in range(count):
            batch, now_ms = self._tail.at(number)
            plan.add(batch, now_ms=now_ms)
            if number % PLANNED_AT_ONCE == PLANNED_AT_ONCE - 1:
                yield
        self._is_planning = False
        self._job = plan.job(
            batch_count=count, makes_home=not self._has_home, has_leftovers=self._has_leftovers
        )
        return self._job

    def said_after(self, job: SettleJob) -> Said:
        """What a root may say once the job's run() has returned."""
        assert job is self._job
        return Said(base=job.pieces[-1].segment.base_offset, length=job.active_end, next=job.offset_end)

    def end_settle(self, job: SettleJob) -> None:
        """The root says that what the job wrote counts: it is read from the files now."""
        assert job is self._job
        self._job = None
        self._has_home = True
        self._has_index = self._has_leftovers = False
        self._segments.extend(publish(job.pieces))
        for piece in job.pieces:
            self._keep_warm(piece.segment)
        end = job.offset_end
        self._tail.drop(job.batch_count, settled=end)
        self.note_durable(end)
        self.marks = self.marks._replace(settled=end).check()

    def undo_settle(self, job: SettleJob) -> None:
        """What the job wrote does not count. It is tried again, over what it has left."""
        assert job is self._job
        self._job = None
        self._has_leftovers = True
        give_up(job.pieces)

    def read(self, offset: int, *, bytes_max: int, offset_max: int) -> list[Batch]:
        """Whole batches, the first being the one that holds `offset`, none reaching beyond offset_max.

        No more than bytes_max in all, but for the first one, so that readers get on.
        """
        found: list[Batch] = []
        left = bytes_max
        with self._closing_when_refused():
            self._check_in_range(offset)
            if offset < self.marks.settled:
                for segment in self._segments_from(offset):
                    part = segment.read(offset, bytes_max=left, offset_max=offset_max, at_least_one=not found)
                    self._keep_warm(segment)
                    found += part
                    if not part or part[-1].offset_end != segment.offset_end:
                        return found
                    offset = segment.offset_end
                    left = bytes_max - sum(b.size for b in found)
        return found + self._tail.read(offset, bytes_max=left, offset_max=offset_max, at_least_one=not found)

    def find_time(self, timestamp_ms: int, *, offset_max: int) -> Found | None:
        """The first record below offset_max that is this old or newer."""
        start = self.marks.start
        with self._closing_when_refused():
            batches = chain(self._batches_from_time(timestamp_ms), self._tail.batches)
            return lookup.first_at_or_after(batches, timestamp_ms, start=start, offset_max=offset_max)

    def find_max_timestamp(self, *, offset_max: int) -> Found | None:
        """The newest record below offset_max by its own time; the first of them."""
        with self._closing_when_refused():
            return lookup.newest(self._promising(), start=self.marks.start, offset_max=offset_max)

    def raise_start(self, offset: int) -> None:
        """Nothing below this offset is read any more. The catalog knows that already."""
        assert offset >= self.marks.start
        self.marks = self.marks._replace(start=offset).check()

    def removable(self) -> list[int]:
        """Sealed segments of which nothing is read any more, by their first offsets."""
        return [s.base_offset for s in self._leaving()]

    def remove_segments(self) -> RemovalJob:
        """Let go of what is removable; the job unlinks the files, in a worker's thread."""
        leaving = self._leaving()
        del self._segments[: len(leaving)]
        for segment in leaving:
            self._handles.forget(segment.path)
        return SegmentRemoval(self.home.disk, self.home.path, [s.base_offset for s in leaving])

    def aborted(self, first: int, end: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of transactions in this range that were aborted. None yet."""
        assert first <= end
        return []

    def tidy(self) -> None:
        """Before a clean stop: remove what an attempt to settle has left behind."""
        assert not self._tail
        if self._has_leftovers:
            remove_leftovers(self.home, self.said if self._segments else None)
            self._has_leftovers = False

    def close(self, *, leaves_index: bool = True) -> None:
        """Let go of the files.

        Leaves the index of the active segment behind, for others than us, when it has grown and
        nothing is pending: that syncs two files, and is not worth it before a removal.
        """
        is_whole = bool(self._segments) and not self._tail and self._job is None and self._refusal is None
        if leaves_index and is_whole and not self._has_index:
            self._leave_index(index_files(self._segments[-1]))
        if self._job is not None:
            give_up(self._job.pieces)
            self._job = None
        self._handles.forget(self.home.path)

    def _leave_index(self, files: Mapping[str, bytes]) -> None:
        # Nobody depends on it, so a full disk is no reason not to close.
        try:
            write_files(self.home.disk, files)
        except (DiskFull, DiskFailed):
            with suppress(DiskFull, DiskFailed):
                for path in files:
                    self.home.disk.unlink(path)

    def _keep_warm(self, segment: Segment) -> None:
        """Remember that a sealed segment's index was used; forget that of the one used longest ago."""
        if not segment.sealed or (self._warm and self._warm[-1] is segment):
            return
        if segment in self._warm:
            self._warm.remove(segment)
        self._warm.append(segment)
        if len(self._warm) > INDEXES_KEPT:
            self._warm.pop(0).drop_index()

    def _leaving(self) -> list[Segment]:
        leaving: list[Segment] = []
        for segment in self._segments[:-1]:
            if segment.offset_end > self.marks.start:
                break
            leaving.append(segment)
        return leaving

    def _segments_from(self, offset: int) -> Iterator[Segment]:
        first = bisect_right(self._segments, offset, key=lambda s: s.base_offset) - 1
        yield from self._segments[max(first, 0) :]

    def _batches_from_time(self, timestamp_ms: int) -> Iterator[Batch]:
        """The segments' batches among which the first record of this time or later is."""
        for segment in self._segments_from(self.marks.start):
            if segment.max_timestamp_ms >= timestamp_ms:
                batches = segment.from_time(timestamp_ms)
                self._keep_warm(segment)
                yield from batches

    def _promising(self) -> Iterator[Batch]:
        """The batches among which the newest record is: of the segments, those that may hold it."""
        start = self.marks.start
        whole = [s for s in self._segments if s.base_offset >= start]
        best = max((s.max_timestamp_ms for s in whole), default=-1)
        for segment in self._segments:
            if segment.offset_end <= start or segment.max_timestamp_ms < best:
                continue
            yield from (batch for _, batch in segment.batches())
        yield from self._tail.batches

    def _check_in_range(self, offset: int) -> None:
        if not self.marks.start <= offset <= self.marks.appended:
            raise OffsetOutOfRange(
                topic=self.home.topic,
                partition=self.home.partition,
                offset=offset,
                start=self.marks.start,
                end=self.visible,
            )

    @contextmanager
    def _closing_when_refused(self) -> Iterator[None]:
        """Nothing is read around damage: whoever meets it closes the log for everybody."""
        if self._refusal is not None:
            raise self._closed(self._refusal)
        try:
            yield
        except LogRefused as refusal:
            raise self._closed(str(refusal)) from refusal

    def _closed(self, reason: str) -> PartitionClosed:
        self._refusal = reason
        return PartitionClosed(topic=self.home.topic, partition=self.home.partition, reason=reason)

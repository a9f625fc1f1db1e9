"""The turn: what all partitions appended in it is one frame, written and synced once, then answered.

    stage ... stage | end of the turn: write | sync | durable marks, tickets in order, readers

A stage costs a ticket and no task. At the end of the loop's turn everything staged becomes a
frame of the commit log, in one write; one sync at a time covers what was written before it
began. A turn with records of `os` topics is written at once; one without may wait for the
sync that is under way, and share a frame with those behind it.

A failed write or sync is the end: it is never retried and believed. Nothing that was staged,
before or after, is acknowledged any more, and nothing more becomes visible. So is whatever
else goes wrong on the way: the owner is told first, then every ticket, and none stays open.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from onelog import metrics as m
from onelog.broker.settler import Settler
from onelog.broker.space import Space
from onelog.broker.work import Work
from onelog.errors import DiskFailed, DiskFull, OnelogError
from onelog.metrics import Metrics
from onelog.records.batch import Batch
from onelog.storage.commit_log import CommitLog, PrepareJob, SyncJob
from onelog.storage.disk import Buffer
from onelog.storage.frames import Entry
from onelog.storage.log import PartitionLog
from onelog.ticket import Ticket

T = TypeVar("T")
# What a batch in a tail takes beside its bytes.
OBJECT_BYTES = 512
# How long after it found no room a file of the commit log is tried again.
AGAIN_S = 1.0


@dataclass(slots=True)
class _Waiting:
    """An answer that is true once its log is visible up to `next`."""

    next: int
    ticket: Ticket[Any]
    result: Any
    error: OnelogError | None = None


@dataclass(slots=True, eq=False)
class _Lane:
    """One log, what waits for it, and who wants to hear that more became visible."""

    log: PartitionLog
    on_visible: Callable[[], None]
    on_unreadable: Callable[[OnelogError], None]
    told: int
    waiting: deque[_Waiting] = field(default_factory=deque)
    is_attached: bool = True


@dataclass(slots=True)
class _Staged:
    """What a log appended in this turn, on its way into a frame."""

    lane: _Lane
    entry: Entry


@dataclass(slots=True)
class _Unsynced:
    """A frame that is written and not durable yet: which logs it takes how far."""

    end: int
    marks: list[tuple[_Lane, int]]


class Committer:
    """Owns the commit log's writing, and the answers. Lives in the loop's thread."""

    def __init__(
        self,
        commit_log: CommitLog,
        *,
        settler: Settler,
        space: Space,
        work: Work,
        metrics: Metrics,
        on_failure: Callable[[OnelogError], None],
        tail_bytes_max: int,
    ) -> None:
        self.failed: OnelogError | None = None
        self._log = commit_log
        self._settler = settler
        self._space = space
        self._work = work
        self._on_failure = on_failure
        self._turns = metrics.series(m.TURNS)
        self._frames = metrics.series(m.FRAMES)
        self._syncs = metrics.series(m.SYNCS)
        self._tail_bytes_max = tail_bytes_max
        self._lanes: dict[PartitionLog, _Lane] = {}
        self._staged: list[_Staged] = []
        self._staged_bytes = 0
        self._has_os = False
        self._is_scheduled = False
        self._unsynced: deque[_Unsynced] = deque()
        self._syncing: SyncJob | None = None
        self._preparing: PrepareJob | None = None
        self._lacks_room = False
        self._tails: dict[PartitionLog, int] = {}
        self._tail_bytes = 0
        self._held: deque[tuple[Callable[[], Ticket[Any]], Ticket[Any]]] = deque()
        self._drained: Ticket[None] | None = None
        settler.on_settled = self._settled
        settler.on_unreadable = self._unreadable

    # Logs come and go

    def attach(
        self,
        log: PartitionLog,
        *,
        on_visible: Callable[[], None],
        on_unreadable: Callable[[OnelogError], None],
    ) -> None:
        """Take over a log's writing. on_visible is called after the tickets that a sync resolves.

        on_unreadable: a round could not open its files.
        """
        self._lanes[log] = _Lane(log, on_visible, on_unreadable, told=log.visible)
        self._settler.attach(log)

    def detach(self, log: PartitionLog, error: OnelogError, *, keeps_tail: bool = False) -> Ticket[None]:
        """Let a log go: its tickets fail with the error; done when nothing works on its files.

        keeps_tail: what was written of it is kept aside until somebody decides about the log.
        """
        lane = self._lanes.pop(log)
        lane.is_attached = False
        self._staged = [staged for staged in self._staged if staged.lane is not lane]
        self._staged_bytes = sum(staged.entry.size for staged in self._staged)
        self._tail_bytes -= self._tails.pop(log, 0)
        _fail_all(lane, error)
        if not self._staged:
            self._lacks_room = False
        released = self._settler.detach(log, keeps_tail=keeps_tail)
        if self._held:
            self._work.soon(self._go_on)
        return released

    def forget(self, topic_id: UUID) -> None:
        """The topic is durably deleted, and its logs are detached."""
        self._settler.forget(topic_id)

    def behind(self) -> Ticket[None]:
        """Done when the commit log has nothing that matters of what was written so far."""
        return self._settler.behind(self._log.end)

    # What a turn consists of

    def stage(
        self, log: PartitionLog, base: int, next: int, buffers: Sequence[Buffer], result: T
    ) -> Ticket[T]:
        """What the log appended, base to next, is to be visible; the result is true then."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        lane = self._lanes[log]
        size = sum(map(len, buffers))
        self._staged.append(_Staged(lane, Entry(log.key, base, next, buffers, size)))
        self._staged_bytes += size
        self._has_os |= log.is_os
        cost = size + OBJECT_BYTES * len(buffers)
        self._tails[log] = self._tails.get(log, 0) + cost
        self._tail_bytes += cost
        ticket: Ticket[T] = Ticket()
        lane.waiting.append(_Waiting(next, ticket, result))
        self._settler.appended(log)
        self._schedule()
        return ticket

    def follow(self, log: PartitionLog, next: int, outcome: T | OnelogError) -> Ticket[T]:
        """An answer that appended nothing, but has seen the log up to next: it waits for that."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        error = outcome if isinstance(outcome, OnelogError) else None
        ticket: Ticket[T] = Ticket()
        entry = _Waiting(next, ticket, outcome, error)
        if next <= log.visible:
            _answer(entry)
        else:
            self._lanes[log].waiting.append(entry)
        return ticket

    @property
    def refusal(self) -> OnelogError | None:
        """Why nothing may be appended: the end, or too little room on the disk."""
        return self.failed or self._space.refusal

    @property
    def is_full(self) -> bool:
        """Whether an append has to wait before it gets its offsets."""
        return bool(self._held) or self._is_over()

    def hold(self, act: Callable[[], Ticket[T]]) -> Ticket[T]:
        """Append when there is room again, in the order of asking."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        ticket: Ticket[T] = Ticket()
        self._held.append((act, ticket))
        self._make_room()
        return ticket

    def write(self, log: PartitionLog) -> None:
        """Whatever this log wants done to its segments, without an answer to wait for it."""
        if self.failed is None and log.wants_settling:
            self._settler.round()

    def fail(self, error: OnelogError) -> None:
        """The end. Told once; every ticket, pending and later, fails with the first error."""
        if self.failed is not None:
            return
        self.failed = error
        self._staged = []
        held, self._held = self._held, deque()
        try:
            self._on_failure(error)
        except Exception as fault:  # the owner's; the tickets are to hear of it all the same
            self._work.report("on_failure failed", fault)
        for lane in list(self._lanes.values()):  # who hears it may close a partition, and so detach a lane
            _fail_all(lane, error)
        for _, ticket in held:
            ticket.fail(error)

    @property
    def is_busy(self) -> bool:
        """Whether something waits to be written, or for a sync that is wanted."""
        return bool(self._staged or self._held) or self._syncing is not None or self._is_scheduled

    async def close(self) -> None:
        """Write and sync what is staged or held, and answer it."""
        while self.failed is None and self.is_busy:
            self._drained = Ticket()
            await self._drained
        while self._syncing is not None or self._preparing is not None:
            self._drained = Ticket()
            await self._drained

    # The turn

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._work.soon(self._flush)

    def _flush(self) -> None:
        """The end of a turn."""
        self._is_scheduled = False
        if self.failed is None and self._staged and (self._syncing is None or self._has_os):
            try:
                self._write()
            except Exception as error:  # whatever it is: every ticket waits for this
                self.fail(_as_failure(error))
                self._tell_drained()
                return
            self._sync()
        if self.failed is None and (self._log.is_half_full or 2 * self._tail_bytes >= self._tail_bytes_max):
            self._settler.nudge()
            self._prepare()
        elif self.failed is None and not self._log.has_next:
            self._prepare()
        self._release()
        self._tell_drained()

    def _write(self) -> None:
        """Everything staged, in as few frames as may be; what finds no room waits for it."""
        written: dict[_Lane, None] = {}
        self._lacks_room = False
        while self._staged:
            count = self._next_frame()
            entries = [staged.entry for staged in self._staged[:count]]
            if not self._log.has_room(entries):
                self._lacks_room = True
                self._prepare()
                break
            place = self._log.write(entries)
            self._frames.add()
            marks: dict[_Lane, int] = {s.lane: s.entry.next for s in self._staged[:count]}
            for lane, offset in marks.items():
                lane.log.note_written(offset, lsn=place.lsn, before=place.before)
            written.update(dict.fromkeys(marks))
            self._unsynced.append(_Unsynced(place.end, list(marks.items())))
            del self._staged[:count]
        self._staged_bytes = sum(staged.entry.size for staged in self._staged)
        self._has_os = any(staged.lane.log.is_os for staged in self._staged)
        if written:
            self._turns.add()
        self._tell([lane for lane in written if lane.log.is_os])

    def _next_frame(self) -> int:
        """How many of the staged go into one frame: a quarter of a file, or one that is larger."""
        size_max = self._log.frame_bytes_max
        first = self._staged[0]
        if first.entry.size > size_max and len(first.entry.buffers) > 1:
            self._staged[:1] = [_Staged(first.lane, entry) for entry in _split(first.entry, size_max)]
        size = 0
        for count, staged in enumerate(self._staged):
            size += staged.entry.size
            if size > size_max and count:
                return count
        return len(self._staged)

    def _sync(self) -> None:
        """Begin a sync, if one is asked for and none is under way."""
        if self._syncing is not None or not self._is_sync_wanted():
            return
        job = self._syncing = self._log.begin_sync()
        if job is not None:
            self._work.sync(job.run, self._synced)

    def _is_sync_wanted(self) -> bool:
        return any(not lane.log.is_os for frame in self._unsynced for lane, _ in frame.marks)

    def _synced(self, error: BaseException | None) -> None:
        job, self._syncing = self._syncing, None
        assert job is not None
        if error is not None:
            self.fail(_as_failure(error))
        if self.failed is None:
            self._syncs.add()
            self._log.end_sync(job)
            try:
                self._advance()
            except Exception as fault:  # whatever it is: the tickets of this log and of all others wait
                self.fail(_as_failure(fault))
            self._flush()
        if self.failed is None:
            # What was written beside records of `os` topics while this sync was under way.
            self._sync()
        self._tell_drained()

    def _advance(self) -> None:
        """What the sync covers is durable: marks first, then answers, then readers."""
        lanes: dict[_Lane, None] = {}
        while self._unsynced and self._unsynced[0].end <= self._log.durable:
            for lane, offset in self._unsynced.popleft().marks:
                lane.log.note_durable(offset)
                lanes[lane] = None
        self._tell(lanes)

    def _tell(self, lanes: Iterable[_Lane]) -> None:
        told = [lane for lane in lanes if lane.is_attached]
        for lane in told:
            visible = lane.log.visible
            while lane.waiting and lane.waiting[0].next <= visible:
                _answer(lane.waiting.popleft())
        for lane in told:
            if lane.is_attached and lane.log.visible > lane.told:
                lane.told = lane.log.visible
                lane.on_visible()

    # Room

    def _is_over(self) -> bool:
        if self._lacks_room or self._tail_bytes >= self._tail_bytes_max:
            return True
        return self._staged_bytes > self._log.room_bytes() and not self._log.has_next

    def _make_room(self) -> None:
        self._prepare()
        self._settler.nudge()

    def _prepare(self) -> None:
        """See to it that the commit log can go on in another file."""
        if self._preparing is not None:
            return
        waiting = []
        if self._lacks_room and self._staged:
            waiting = [staged.entry for staged in self._staged[: self._next_frame()]]
        job = self._preparing = self._log.begin_prepare(waiting)
        if job is not None:
            self._work.run(job.run, self._prepared)
        elif self._lacks_room:
            self._settler.nudge()

    def _prepared(self, error: BaseException | None) -> None:
        job, self._preparing = self._preparing, None
        assert job is not None
        if error is None:
            self._log.end_prepare(job)
            self._go_on()
        elif isinstance(error, DiskFull):
            # A round frees what there is; if that is not enough, turns wait until there is room.
            self._log.give_back(job)
            self._work.later(AGAIN_S, self._try_again)
            if self._lacks_room:
                self._settler.nudge()
        else:
            self.fail(_as_failure(error))
        self._tell_drained()

    def _try_again(self) -> None:
        if self.failed is None:
            self._prepare()
            self._go_on()

    def _settled(self, logs: Sequence[PartitionLog]) -> None:
        """A root says that these are settled: durable too, and out of the tails."""
        self._space.look()
        lanes = [self._lanes[log] for log in logs if log in self._lanes]
        for lane in lanes:
            self._tail_bytes -= self._tails.get(lane.log, 0)
            left = lane.log.tail_bytes + OBJECT_BYTES * lane.log.tail_count
            self._tails[lane.log] = left
            self._tail_bytes += left
        self._tell(lanes)
        if self.failed is None:
            self._go_on()
        self._tell_drained()

    def _unreadable(self, log: PartitionLog, error: OnelogError) -> None:
        lane = self._lanes.get(log)
        if lane is not None:
            lane.on_unreadable(error)

    def _go_on(self) -> None:
        """There is room again, perhaps: for what waits in frames first, then for what has no offsets."""
        if self.failed is not None:
            return
        if self._lacks_room:
            self._flush()
            if self._lacks_room:
                self._prepare()
        self._release()

    def _release(self) -> None:
        """Append what was held back, as far as there is room."""
        while self._held and not self._is_over():
            act, ticket = self._held.popleft()
            try:
                act().add_callback(partial(_hand_on, ticket))
            except OnelogError as error:
                ticket.fail(error)

    # The end

    def _tell_drained(self) -> None:
        if self._drained is not None:
            drained, self._drained = self._drained, None
            drained.resolve(None)


def _split(entry: Entry, size_max: int) -> list[Entry]:
    """The same batches in entries that fill a frame each. A batch is never split."""
    parts: list[Entry] = []
    buffers: list[Buffer] = []
    base, size = entry.base, 0
    for buffer in entry.buffers:
        if buffers and size + len(buffer) > size_max:
            parts.append(Entry(entry.key, base, Batch.of(buffer).base_offset, buffers, size))
            base, buffers, size = parts[-1].next, [], 0
        buffers.append(buffer)
        size += len(buffer)
    return [*parts, Entry(entry.key, base, entry.next, buffers, size)]


def _hand_on(to: Ticket[Any], done: Ticket[Any]) -> None:
    if done.error is not None:
        to.fail(done.error)
    else:
        to.resolve(done.result())


def _answer(entry: _Waiting) -> None:
    if entry.error is not None:
        entry.ticket.fail(entry.error)
    else:
        entry.ticket.resolve(entry.result)


def _fail_all(lane: _Lane, error: OnelogError) -> None:
    while lane.waiting:
        lane.waiting.popleft().ticket.fail(error)


def _as_failure(error: BaseException) -> OnelogError:
    if isinstance(error, OnelogError):
        return error
    return DiskFailed(path="the commit log", doing="writing a turn", found=repr(error))

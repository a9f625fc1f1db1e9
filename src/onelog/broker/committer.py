"""The turn: what all partitions appended in it is written and synced, then answered.

A stage costs a ticket and no task. At the end of the loop's turn every touched log that has
no job in flight gets one; jobs run side by side in a few threads and only make system calls.
A job that is done moves its log's marks, then resolves tickets in order, then wakes readers.
Here a job is a log's own segments; a commit log for all of them fits behind the same seam.

A failed write or sync is the end: it is never retried and believed. Nothing that was staged,
before or after, is acknowledged any more, and nothing more becomes visible. So is whatever
else goes wrong on the way: the owner is told first, then every ticket, and none stays open.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from onelog import metrics as m
from onelog.errors import DiskFailed, OnelogError
from onelog.metrics import Metrics
from onelog.storage.disk import Buffer
from onelog.storage.log import PartitionLog, WriteJob
from onelog.ticket import Ticket

T = TypeVar("T")


@dataclass(slots=True)
class _Waiting:
    """An answer that is true once its log is durable up to `next`."""

    next: int
    ticket: Ticket[Any]
    result: Any
    error: OnelogError | None = None


@dataclass(slots=True)
class _Lane:
    """One log, what waits for it, and who wants to hear that more became visible."""

    log: PartitionLog
    on_visible: Callable[[], None]
    waiting: deque[_Waiting] = field(default_factory=deque)
    in_flight: bool = False
    detached: Ticket[None] | None = None


class Committer:
    """Owns the writing of all logs that are attached to it. Lives in the loop's thread."""

    def __init__(self, *, threads: int, metrics: Metrics, on_failure: Callable[[OnelogError], None]) -> None:
        self.failed: OnelogError | None = None
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="onelog-writer")
        self._on_failure = on_failure
        self._turns = metrics.series(m.TURNS)
        self._syncs = metrics.series(m.SYNCS)
        self._lanes: dict[PartitionLog, _Lane] = {}
        self._touched: dict[PartitionLog, _Lane] = {}
        self._in_flight = 0
        self._finished: deque[tuple[_Lane, WriteJob, BaseException | None]] = deque()
        self._is_told = False
        self._drained: Ticket[None] | None = None

    def attach(self, log: PartitionLog, *, on_visible: Callable[[], None]) -> None:
        """Take over a log's writing. on_visible is called after the tickets of a finished job."""
        self._lanes[log] = _Lane(log, on_visible)

    def detach(self, log: PartitionLog, error: OnelogError) -> Ticket[None]:
        """Let a log go: its tickets fail with the error; done when no job works on its files."""
        lane = self._lanes.pop(log)
        self._touched.pop(log, None)
        lane.detached = Ticket()
        _fail_all(lane, error)
        if not lane.in_flight:
            lane.detached.resolve(None)
        return lane.detached

    def stage(
        self, log: PartitionLog, base: int, next: int, buffers: Sequence[Buffer], result: T
    ) -> Ticket[T]:
        """What the log appended, base to next, is to be durable; the result is true then."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        lane = self._lanes[log]
        ticket: Ticket[T] = Ticket()
        lane.waiting.append(_Waiting(next, ticket, result))
        self._touch(lane)
        return ticket

    def follow(self, log: PartitionLog, next: int, outcome: T | OnelogError) -> Ticket[T]:
        """An answer that appended nothing, but has seen the log up to next: it waits for that."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        error = outcome if isinstance(outcome, OnelogError) else None
        ticket: Ticket[T] = Ticket()
        entry = _Waiting(next, ticket, outcome, error)
        if next <= log.marks.durable:
            _settle(entry)
        else:
            self._lanes[log].waiting.append(entry)
        return ticket

    def write(self, log: PartitionLog) -> None:
        """Whatever this log wants written, without an answer to wait for it."""
        if self.failed is None:
            self._touch(self._lanes[log])

    def fail(self, error: OnelogError) -> None:
        """The end. Told once; every ticket, pending and later, fails with the first error."""
        if self.failed is not None:
            return
        self.failed = error
        self._touched.clear()
        try:
            self._on_failure(error)
        except Exception as fault:  # the owner's; the tickets are to hear of it all the same
            self._loop.call_exception_handler({"message": "on_failure failed", "exception": fault})
        for lane in list(self._lanes.values()):  # who hears it may close a partition, and so detach a lane
            _fail_all(lane, error)

    async def close(self) -> None:
        """Write what is staged, then let the threads go."""
        while self._in_flight or self._touched:
            self._drained = Ticket()
            await self._drained
        self._threads.shutdown(wait=True)

    def _touch(self, lane: _Lane) -> None:
        if not self._touched:
            self._loop.call_soon(self._flush)
        self._touched[lane.log] = lane

    def _flush(self) -> None:
        touched, self._touched = self._touched, {}
        # One that has a job in flight is touched again when that is done.
        started = [self._begin(lane) for lane in touched.values() if not lane.in_flight]
        if any(started):
            self._turns.add()
        self._tell_drained()

    def _begin(self, lane: _Lane) -> bool:
        """Whether there is a job, which has been handed to a thread."""
        if self.failed is not None:
            return False
        try:
            job = lane.log.begin_write()
            if job is None:
                return False
            future = self._threads.submit(job.run)
        except Exception as error:  # a file that cannot be opened, no thread: the tickets wait for it
            self.fail(_as_failure(error, lane.log))
            return False
        lane.in_flight = True
        self._in_flight += 1
        future.add_done_callback(partial(self._job_done, lane, job))
        return True

    def _job_done(self, lane: _Lane, job: WriteJob, future: "Future[None]") -> None:
        # In the worker's thread. One wake-up of the loop serves all jobs that finish before it runs.
        self._finished.append((lane, job, future.exception()))
        if not self._is_told:
            self._is_told = True
            self._loop.call_soon_threadsafe(self._collect)

    def _collect(self) -> None:
        self._is_told = False
        while self._finished:
            self._end(*self._finished.popleft())
        self._tell_drained()

    def _end(self, lane: _Lane, job: WriteJob, error: BaseException | None) -> None:
        try:
            if error is not None:
                raise error
            if self.failed is None:
                self._syncs.add()
                self._advance(lane, job)
        except Exception as fault:  # whatever it is: the tickets of this log and of all others wait
            self.fail(_as_failure(fault, lane.log))
        finally:
            # Not before the answers are given: one of them may close the log, and has to wait for this.
            lane.in_flight = False
            self._in_flight -= 1
            if lane.detached is not None:
                lane.detached.resolve(None)

    def _advance(self, lane: _Lane, job: WriteJob) -> None:
        lane.log.end_write(job)
        durable = lane.log.marks.durable
        while lane.waiting and lane.waiting[0].next <= durable:
            _settle(lane.waiting.popleft())
        if lane.detached is None:
            lane.on_visible()
            if lane.waiting:
                self._touch(lane)

    def _tell_drained(self) -> None:
        if self._drained is not None and not self._in_flight and not self._touched:
            drained, self._drained = self._drained, None
            drained.resolve(None)


def _settle(entry: _Waiting) -> None:
    if entry.error is not None:
        entry.ticket.fail(entry.error)
    else:
        entry.ticket.resolve(entry.result)


def _fail_all(lane: _Lane, error: OnelogError) -> None:
    while lane.waiting:
        lane.waiting.popleft().ticket.fail(error)


def _as_failure(error: BaseException, log: PartitionLog) -> OnelogError:
    if isinstance(error, OnelogError):
        return error
    return DiskFailed(path=log.name, doing="writing its segments", found=repr(error))

"""The asynchronous owner of one log: its order, its answers, and who waits for its records.

An append is ordered when it returns and answered when it is visible: durable, or on `os` topics
written. So is everything that saw it: a repeated batch, a refusal for its sequence. Readers see
what is visible and no more.
Parses nothing and knows no policy but what its topic's settings say.
"""

import errno
import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy

from onelog.broker.committer import Committer
from onelog.broker.topics.settings import TopicPolicy
from onelog.broker.values import Aborted, AppendResult, PartitionInfo
from onelog.broker.waiting import Waiter
from onelog.errors import (
    CorruptBatch,
    DiskFailed,
    OffsetOutOfRange,
    OnelogError,
    PartitionClosed,
    StaleLeaderEpoch,
    Throttled,
    UnknownLeaderEpoch,
)
from onelog.model import Isolation, TopicName
from onelog.records.batch import Batch
from onelog.records.codec import validate
from onelog.storage.log import Appended, Found, Marks, PartitionLog, SegmentInfo
from onelog.ticket import Ticket

LOG = logging.getLogger("onelog")
HELD_AGAIN_MS = 100


class Partition:
    """One partition that is served. Without a log it is closed, and says why."""

    def __init__(
        self,
        topic: TopicName,
        index: int,
        *,
        log: PartitionLog | None,
        leader_epoch: int,
        policy: TopicPolicy,
        committer: Committer,
        closed: OnelogError | None = None,
    ) -> None:
        self.topic = topic
        self.index = index
        self.leader_epoch = leader_epoch
        self._policy = policy
        self._committer = committer
        self._log = log
        self._closed = closed
        self._waiters: dict[Waiter, None] = {}
        self._start_decided = 0
        self._unseen: deque[tuple[int, int]] = deque()
        self._held_span = 0
        if log is not None:
            committer.attach(log, on_visible=self._tell_waiters, on_unreadable=self._close_unreadable)

    @property
    def policy(self) -> TopicPolicy:
        """What the topic's settings say."""
        return self._policy

    def set_policy(self, policy: TopicPolicy) -> None:
        """The topic's settings have changed."""
        self._policy = policy
        if self._log is not None:
            self._log.settings = policy.log

    @property
    def log(self) -> PartitionLog:
        """The log, or why there is none."""
        if self._log is None:
            assert self._closed is not None
            raise copy(self._closed)  # one that is raised again and again collects tracebacks
        return self._log

    @property
    def is_open(self) -> bool:
        """Whether the partition serves."""
        return self._log is not None

    @property
    def marks(self) -> Marks:
        """How far the log is, as those outside may know it: durable is what they may see."""
        log = self.log
        return log.marks._replace(durable=log.visible) if log.is_os else log.marks

    def append(self, batches: Sequence[Batch], *, now_ms: int) -> Ticket[AppendResult]:
        """In this order, behind everything before; the ticket is done when it is visible."""
        refusal = self._committer.refusal
        if refusal is not None:
            return Ticket.refused(refusal)
        if self.is_open and self._committer.is_full:
            return self._hold(batches, now_ms)
        return self._append(batches, now_ms)

    def _hold(self, batches: Sequence[Batch], now_ms: int) -> Ticket[AppendResult]:
        """It gets its offsets when there is room; those behind it wait behind it."""
        base = self.offset_next
        span = sum(batch.last_offset_delta + 1 for batch in batches)
        self._held_span += span

        def act() -> Ticket[AppendResult]:
            self._held_span -= span
            if self.log.marks.appended != base and any(map(_has_gaps, batches)):
                # Its hole was measured from where the log would end by then.
                raise Throttled(wait_ms=HELD_AGAIN_MS)
            return self._append(batches, now_ms)

        return self._committer.hold(act)

    @property
    def offset_next(self) -> int:
        """What the next append gets, if all that wait for room come in before it."""
        return self.log.marks.appended + self._held_span

    def _append(self, batches: Sequence[Batch], now_ms: int) -> Ticket[AppendResult]:
        log = self.log
        try:
            appended = log.append(batches, leader_epoch=self.leader_epoch, now_ms=now_ms)
        except OnelogError as error:
            # What it was refused for may be a batch that a power cut still takes back.
            return self._committer.follow(log, log.marks.appended, error)
        result = AppendResult(appended.base, appended.next, appended.timestamp_ms, log.marks.start)
        if not isinstance(appended, Appended):
            return self._committer.follow(log, appended.next, result)
        self._unseen.append((appended.next, sum(batch.size for batch in batches)))
        return self._committer.stage(log, appended.base, appended.next, appended.buffers, result)

    def read(
        self,
        offset: int,
        *,
        bytes_max: int,
        isolation: Isolation,
        at_least_one: bool = True,
        is_checked: bool = False,
    ) -> list[Batch]:
        """Whole visible batches from offset on; the first may be larger than bytes_max.

        Unless at_least_one is off: then one that is larger may come too, or may not.
        is_checked: nobody behind us holds them against their checksums, so it is done here.
        """
        log = self.log
        marks = self.marks
        if not marks.start <= offset <= marks.appended:
            raise OffsetOutOfRange(
                topic=self.topic,
                partition=self.index,
                offset=offset,
                start=marks.start,
                end=visible_end(marks, isolation),
            )
        offset_max = visible_end(marks, isolation)
        if offset >= offset_max or (bytes_max <= 0 and not at_least_one):
            return []
        with self._closing_when_damaged():
            batches = log.read(offset, bytes_max=bytes_max, offset_max=offset_max)
            if is_checked:
                self._check(batches)
            return batches

    def _check(self, batches: Sequence[Batch]) -> None:
        """What was acknowledged had the right checksum, so a wrong one is damage."""
        for batch in batches:
            where = f"{self.topic}/{self.index}, batch at offset {batch.base_offset}"
            try:
                validate(batch.data, where=where)
            except CorruptBatch as error:
                raise PartitionClosed(
                    topic=self.topic, partition=self.index, reason=error.message.rstrip(".")
                ) from error

    def find_time(self, timestamp_ms: int, *, isolation: Isolation) -> Found | None:
        """The first visible record of this time or later."""
        log = self.log
        with self._closing_when_damaged():
            return log.find_time(timestamp_ms, offset_max=visible_end(self.marks, isolation))

    def find_max_timestamp(self, *, isolation: Isolation) -> Found | None:
        """The visible record with the latest time."""
        log = self.log
        with self._closing_when_damaged():
            return log.find_max_timestamp(offset_max=visible_end(self.marks, isolation))

    def aborted(self, first: int, end: int) -> list[Aborted]:
        """The transactions of this range that were undone."""
        return [Aborted(producer_id, offset) for producer_id, offset in self.log.aborted(first, end)]

    def check_epoch(self, leader_epoch: int) -> None:
        """Whether the asker knows who leads; -1 is not asked."""
        if leader_epoch == -1 or leader_epoch == self.leader_epoch:
            return
        kind = StaleLeaderEpoch if leader_epoch < self.leader_epoch else UnknownLeaderEpoch
        raise kind(topic=self.topic, partition=self.index, found=leader_epoch, expected=self.leader_epoch)

    def info(self) -> PartitionInfo:
        """The partition as it stands."""
        log = self.log
        return PartitionInfo(
            start=log.marks.start,
            high_watermark=log.visible,
            stable=log.marks.stable,
            offset_next=self.offset_next,
            leader_epoch=self.leader_epoch,
            segment_count=max(1, len(self.segments())),
            size_bytes=log.size_bytes,
        )

    def segments(self) -> list[SegmentInfo]:
        """What the log consists of; none before its first write."""
        log = self.log
        with self._closing_when_damaged():
            return log.segments()

    def decide_start(self, offset: int) -> bool:
        """Whether the log is to begin later than all that was decided before."""
        if offset <= max(self._start_decided, self.marks.start):
            return False
        self._start_decided = offset
        return True

    def raise_start(self, offset: int) -> None:
        """The log begins here now, which is durable already; readers below look again."""
        if self._log is not None and offset > self._log.marks.start:
            self._log.raise_start(offset)
            self.wake()

    def watch(self, waiter: Waiter) -> None:
        """Tell this waiter what becomes visible."""
        self._waiters[waiter] = None

    def unwatch(self, waiter: Waiter) -> None:
        """No more."""
        self._waiters.pop(waiter, None)

    def wake(self) -> None:
        """Everyone looks again."""
        for waiter in list(self._waiters):
            waiter.wake()

    def close(self, error: OnelogError, *, keeps_tail: bool = False) -> Ticket[None]:
        """Serve this error from now on; done when nothing works on the files any more.

        keeps_tail: the log is damaged, and what was acknowledged and is not in its files is kept.
        """
        log, self._log, self._closed = self._log, None, error
        self._unseen.clear()
        self.wake()
        if log is None:
            return Ticket.resolved(None)
        # Its index is worth no sync: the files go, or are not to be trusted.
        released = self._committer.detach(log, error, keeps_tail=keeps_tail)
        return released.then(lambda _: log.close(leaves_index=False))

    def shut(self) -> None:
        """The broker stops: nothing works on the files any more."""
        if self._log is not None:
            self._log.close()

    @contextmanager
    def _closing_when_damaged(self) -> Iterator[None]:
        # A log that cannot be read is closed, and says so, rather than serving around the damage.
        # What a producer put into a batch is no damage: it is an answer to who looks into it.
        try:
            yield
        except (PartitionClosed, DiskFailed) as error:
            self._close_unreadable(error)
            raise closed_because(error, topic=self.topic, partition=self.index) from error

    def _close_unreadable(self, error: OnelogError) -> None:
        """Its files cannot be read: for good, unless it is only the process that lacks something."""
        if not _is_out_of_handles(error):
            closed = closed_because(error, topic=self.topic, partition=self.index)
            LOG.error("%s", closed)
            self.close(closed, keeps_tail=True)

    def _tell_waiters(self) -> None:
        visible = self.log.visible
        size = 0
        while self._unseen and self._unseen[0][0] <= visible:
            size += self._unseen.popleft()[1]
        for waiter in list(self._waiters):
            waiter.seen(size)


def closed_because(error: OnelogError, *, topic: TopicName, partition: int) -> PartitionClosed:
    """What all hear of a log that cannot be opened or read."""
    if isinstance(error, PartitionClosed):
        return error
    reason = error.message.rstrip(".")
    if isinstance(error, DiskFailed):
        # Its message says that the broker stops, which a failed write is for.
        reason = f"{error.path}: {error.found} while {error.doing}"
    return PartitionClosed(topic=topic, partition=partition, reason=reason)


def _has_gaps(batch: Batch) -> bool:
    """Whether it takes more offsets than it has records: a dialect has placed them."""
    return batch.record_count != batch.last_offset_delta + 1


def _is_out_of_handles(error: OnelogError) -> bool:
    """Whether it is the process that lacks something, for now, and not the log."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE)


def visible_end(marks: Marks, isolation: Isolation) -> int:
    """Where that which this reader may see ends."""
    return marks.stable if isolation is Isolation.READ_COMMITTED else marks.durable

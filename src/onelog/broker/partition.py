"""The asynchronous owner of one log: its order, its answers, and who waits for its records.

An append is ordered when it returns and answered when it is durable. So is everything that
saw it: a repeated batch, a refusal for its sequence. Readers see what is durable and no more.
Parses nothing and knows no policy but what its topic's settings say.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy

from onelog.broker.committer import Committer
from onelog.broker.topics.settings import TopicPolicy
from onelog.broker.values import Aborted, AppendResult, PartitionInfo
from onelog.broker.waiting import Waiter
from onelog.errors import (
    OffsetOutOfRange,
    OnelogError,
    PartitionClosed,
    StaleLeaderEpoch,
    UnknownLeaderEpoch,
)
from onelog.model import Isolation, TopicName
from onelog.records.batch import Batch
from onelog.storage.log import Appended, Found, Marks, PartitionLog
from onelog.ticket import Ticket


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
        if log is not None:
            committer.attach(log, on_visible=self._tell_waiters)

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
        """How far the log is."""
        return self.log.marks

    def append(self, batches: Sequence[Batch], *, now_ms: int) -> Ticket[AppendResult]:
        """In this order, behind everything before; the ticket is done when it is durable."""
        log = self.log
        if self._committer.failed is not None:
            return Ticket.refused(self._committer.failed)
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

    def read(self, offset: int, *, bytes_max: int, isolation: Isolation) -> list[Batch]:
        """Whole visible batches from offset on; the first may be larger than bytes_max."""
        log = self.log
        marks = log.marks
        if not marks.start <= offset <= marks.appended:
            raise OffsetOutOfRange(
                topic=self.topic,
                partition=self.index,
                offset=offset,
                start=marks.start,
                end=visible_end(marks, isolation),
            )
        offset_max = visible_end(marks, isolation)
        if offset >= offset_max:
            return []
        with self._closing_when_damaged():
            return log.read(offset, bytes_max=bytes_max, offset_max=offset_max)

    def find_time(self, timestamp_ms: int, *, isolation: Isolation) -> Found | None:
        """The first visible record of this time or later."""
        log = self.log
        with self._closing_when_damaged():
            return log.find_time(timestamp_ms, offset_max=visible_end(log.marks, isolation))

    def find_max_timestamp(self, *, isolation: Isolation) -> Found | None:
        """The visible record with the latest time."""
        log = self.log
        with self._closing_when_damaged():
            return log.find_max_timestamp(offset_max=visible_end(log.marks, isolation))

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
            high_watermark=log.marks.durable,
            stable=log.marks.stable,
            offset_next=log.marks.appended,
            leader_epoch=self.leader_epoch,
            segment_count=max(1, len(log.segments())),
            size_bytes=log.size_bytes,
        )

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

    def close(self, error: OnelogError) -> Ticket[None]:
        """Serve this error from now on; done when nothing works on the files any more."""
        log, self._log, self._closed = self._log, None, error
        self._unseen.clear()
        self.wake()
        if log is None:
            return Ticket.resolved(None)
        return self._committer.detach(log, error).then(lambda _: log.close())

    def shut(self) -> None:
        """The broker stops: nothing works on the files any more."""
        if self._log is not None:
            self._log.close()

    @contextmanager
    def _closing_when_damaged(self) -> Iterator[None]:
        # A log that cannot be read is closed, and says so, rather than serving around the damage.
        try:
            yield
        except OnelogError as error:
            closed = error
            if not isinstance(error, PartitionClosed):
                closed = PartitionClosed(topic=self.topic, partition=self.index, reason=error.message)
            self.close(closed)
            raise closed from error

    def _tell_waiters(self) -> None:
        durable = self.log.marks.durable
        size = 0
        while self._unseen and self._unseen[0][0] <= durable:
            size += self._unseen.popleft()[1]
        for waiter in list(self._waiters):
            waiter.seen(size)


def visible_end(marks: Marks, isolation: Isolation) -> int:
    """Where that which this reader may see ends."""
    return marks.stable if isolation is Isolation.READ_COMMITTED else marks.durable

"""Rounds in the background: what is in the commit log gets to the logs' own segments.

One at a time, when the commit log or the tails are half full, or a log was left alone for a
while, so that an idle broker is settled and small. What is Python in a round runs in slices
on the loop; threads make system calls only (a thread that holds the interpreter lock holds
up everybody). storage/settle.py says what a round is.
"""

import logging
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from onelog import metrics as m
from onelog.broker.work import Act, Timer, Work
from onelog.errors import DiskFailed, DiskFull, OnelogError
from onelog.metrics import Metrics
from onelog.storage import ends as roots
from onelog.storage.disk import READING
from onelog.storage.ends import Ends
from onelog.storage.kept_tails import keep_tail
from onelog.storage.log import PartitionLog
from onelog.storage.settle import Round
from onelog.storage.store import Store
from onelog.ticket import Ticket

LOG = logging.getLogger("onelog")
IDLE_S = 2.0
AGAIN_S = 1.0
SLICE_S = 0.0002
# Jobs that are with the threads at once; the next one is handed over when one is done.
JOBS_AT_ONCE = 16

Errors = list[BaseException | None]
Steps = Generator[list[Act] | None, Errors, None]


class Settler:
    """Owns the rounds, and with them the root. Lives in the loop's thread."""

    def __init__(
        self,
        store: Store,
        *,
        work: Work,
        transaction: Callable[[], int],
        metrics: Metrics,
        on_failure: Callable[[OnelogError], None],
    ) -> None:
        self.failed: OnelogError | None = None
        self.on_settled: Callable[[Sequence[PartitionLog]], None] = lambda logs: None
        self.on_unreadable: Callable[[PartitionLog, OnelogError], None] = lambda log, error: None
        self._store = store
        self._work = work
        self._transaction = transaction
        self._on_failure = on_failure
        self._rounds = metrics.series(m.ROUNDS)
        self._bytes = metrics.series(m.BYTES_SETTLED)
        self._logs: dict[PartitionLog, float] = {}
        self._closed: list[PartitionLog] = []
        self._steps: Steps | None = None
        self._in_round: list[Ticket[None]] = []
        self._wanted: list[Ticket[None]] = []
        self._released: list[Ticket[None]] = []
        self._behind: list[tuple[int, Ticket[None]]] = []
        self._timer: Timer | None = None
        self._is_due = False

    @property
    def is_at_work(self) -> bool:
        """Whether a round is under way."""
        return self._steps is not None

    def attach(self, log: PartitionLog) -> None:
        """A log that is served."""
        self._logs[log] = self._work.now_s()

    def detach(self, log: PartitionLog, *, keeps_tail: bool) -> Ticket[None]:
        """Let a log go; done when no round works on its files.

        keeps_tail: it is damaged, not deleted: what the commit log has of it is kept in a file.
        """
        del self._logs[log]
        if keeps_tail:
            self._closed.append(log)
            self._is_due = True
            self._arm(AGAIN_S)
        if self._steps is None:
            return Ticket.resolved(None)
        ticket: Ticket[None] = Ticket()
        self._released.append(ticket)
        return ticket

    def appended(self, log: PartitionLog) -> None:
        """Something is in its tail: it is settled when nothing more comes for a while."""
        self._logs[log] = self._work.now_s()
        if self._timer is None:
            self._arm(IDLE_S)

    def round(self) -> Ticket[None]:
        """A round that begins now, or when the one under way has ended."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        ticket: Ticket[None] = Ticket()
        self._wanted.append(ticket)
        if self._steps is None:
            self._begin()
        return ticket

    def nudge(self) -> None:
        """A round would be good: begin one, unless it has just found no room and waits to try again."""
        if self.failed is None and self._steps is None and not self._is_due:
            self.round()

    def behind(self, lsn: int) -> Ticket[None]:
        """Done when the root says that nothing before this place of the commit log matters."""
        if self._store.ends.first >= lsn:
            return Ticket.resolved(None)
        ticket: Ticket[None] = Ticket()
        self._behind.append((lsn, ticket))
        return ticket

    def forget(self, topic_id: UUID) -> None:
        """The topic is durably deleted: no root needs to speak of it."""
        ends = self._store.ends
        rows = {key: said for key, said in ends.logs.items() if key.topic_id != topic_id}
        self._store.root_is(replace(ends, logs=rows))
        self._closed = [log for log in self._closed if log.topic_id != topic_id]

    def fail(self, error: OnelogError) -> None:
        """The end: nothing that a round wrote counts any more, and nobody waits for one."""
        if self.failed is not None:
            return
        self.failed = error
        if self._timer is not None:
            self._timer.cancel()
        waiting = [*self._in_round, *self._wanted, *(ticket for _, ticket in self._behind)]
        self._in_round, self._wanted, self._behind = [], [], []
        try:
            self._on_failure(error)
        except Exception as fault:  # the owner's; the tickets are to hear of it all the same
            self._work.report("on_failure failed", fault)
        for ticket in waiting:
            ticket.fail(error)

    async def close(self) -> bool:
        """Settle everything; whether nothing is left. No round begins afterwards."""
        while self._steps is not None:
            released: Ticket[None] = Ticket()
            self._released.append(released)
            await released
        if self.failed is None:
            await self.round()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self.failed is not None or self._closed:
            return False
        # A root that found no room has settled nothing.
        is_said = self._store.ends.first == self._store.commit_log.end
        return is_said and all(log.marks.settled == log.marks.appended for log in self._logs)

    # One round

    def _begin(self) -> None:
        self._in_round, self._wanted = self._wanted, []
        self._steps = self._round()
        self._go_on()

    def _round(self) -> Steps:
        store = self._store
        commit_log = store.commit_log
        round_ = Round.begin(commit_log)
        for _ in round_.plan(list(self._logs)):
            yield None
        errors = yield [part.job.run for part in round_.parts]
        for part, error in zip(round_.parts, errors, strict=True):
            if isinstance(error, DiskFailed) and error.doing in READING:
                # Nothing was written to it: that log is damaged, and the others go on.
                self.on_unreadable(part.log, error)
            else:
                part.is_done = self._has_succeeded(error) and part.log in self._logs
        kept = yield from self._keep_tails()
        ends = round_.root(
            store.ends,
            [*self._logs, *(log for log in self._closed if log not in kept)],
            transaction=self._transaction(),
        )
        for log in kept:
            ends.logs[log.key] = replace(log.said, is_refused=True)
        data = roots.encoded(ends)
        (error,) = yield [lambda: roots.write(store.disk, store.path, data)]
        if not self._has_succeeded(error):
            round_.give_up()
            return
        store.root_is(self._without_dead(ends))
        round_.publish()
        self._closed = [log for log in self._closed if log not in kept]
        commit_log.recycle(ends.first)
        self._rounds.add()
        self._bytes.add(sum(p.bytes_added for part in round_.parts for p in part.job.pieces))
        self.on_settled([part.log for part in round_.parts if part.is_done])

    def _keep_tails(self) -> Generator[list[Act], Errors, list[PartitionLog]]:
        """Of logs that are closed, what is not settled goes to files of its own; which of them are done."""
        store, closed = self._store, list(self._closed)
        if not closed:
            return []
        directory = store.ends.directory
        errors = yield [
            partial(keep_tail, store.disk, store.path, log.key, log.tail_entries(), directory=directory)
            for log in closed
        ]
        return [log for log, error in zip(closed, errors, strict=True) if self._has_succeeded(error)]

    def _without_dead(self, ends: Ends) -> Ends:
        """The root without rows that were forgotten while it was written."""
        known = self._store.ends.logs
        served = {log.key for log in self._logs} | {log.key for log in self._closed}
        rows = {key: said for key, said in ends.logs.items() if key in served or key in known}
        return replace(ends, logs=rows)

    def _has_succeeded(self, error: BaseException | None) -> bool:
        """Whether it went well. A lack of room is waited for; anything else is the end."""
        if error is None:
            return True
        if not isinstance(error, DiskFull):
            raise error
        LOG.warning("%s Settling is tried again.", error)
        self._is_due = True
        self._arm(AGAIN_S)
        return False

    def _go_on(self, errors: Errors | None = None) -> None:
        """The round's next steps, for as long as one slice."""
        steps = self._steps
        assert steps is not None
        if self.failed is not None:
            steps.close()
            self._end(None)
            return
        ends_s = self._work.now_s() + SLICE_S
        try:
            jobs = steps.send(errors) if errors is not None else next(steps)
            while jobs is None:
                if self._work.now_s() >= ends_s:
                    self._work.soon(self._go_on)
                    return
                jobs = next(steps)
        except StopIteration:
            self._end(None)
        except Exception as error:  # whatever it is: the commit log is not freed any more
            self._end(_as_failure(error))
        else:
            self._hand_over(jobs)

    def _hand_over(self, jobs: list[Act]) -> None:
        """All of these to the threads, some at a time; the round goes on when all have ended."""
        errors: Errors = [None] * len(jobs)
        left = iter(range(len(jobs)))
        pending = len(jobs)

        def start() -> None:
            number = next(left, None)
            if number is not None:
                self._work.run(jobs[number], partial(ended, number))

        def ended(number: int, error: BaseException | None) -> None:
            nonlocal pending
            errors[number] = error
            pending -= 1
            start()
            if not pending:
                self._go_on(errors)

        if not jobs:
            self._go_on(errors)
        for _ in range(min(JOBS_AT_ONCE, len(jobs))):
            start()

    def _end(self, error: OnelogError | None) -> None:
        self._steps = None
        if error is not None:
            self.fail(error)
        done, self._in_round = self._in_round, []
        released, self._released = self._released, []
        passed = [ticket for lsn, ticket in self._behind if lsn <= self._store.ends.first]
        self._behind = [(lsn, t) for lsn, t in self._behind if lsn > self._store.ends.first]
        for ticket in [*done, *released, *passed]:
            ticket.resolve(None)
        if self._wanted and self.failed is None and self._steps is None:
            self._begin()

    # When

    def _arm(self, delay_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._work.later(delay_s, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.failed is not None:
            return
        now_s = self._work.now_s()
        waiting = [at_s for log, at_s in self._logs.items() if log.marks.appended > log.marks.settled]
        is_due = self._is_due or self._closed or any(now_s - at_s >= IDLE_S for at_s in waiting)
        if is_due and self._steps is None:
            self._is_due = False
            self.round()
        if waiting and self._timer is None:
            self._arm(IDLE_S)


def _as_failure(error: BaseException) -> OnelogError:
    if isinstance(error, OnelogError):
        return error
    return DiskFailed(path="a round", doing="settling", found=repr(error))

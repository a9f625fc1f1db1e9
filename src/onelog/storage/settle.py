"""A round: what is in the commit log is put into its logs' segments, and the root says so.

    begin   first := the end of the last frame written
    plan    of every log, what its tail has of earlier frames       loop's thread, in slices
    jobs    write, sync files, directories, parents                 threads, system calls only
    root    the ends file, written when all jobs are done            a thread
    publish marks move, tails are dropped, files of the commit log are free

A log that finds no room keeps its tail and holds `first` back; then, as when the ends file
finds none, nothing is lost: what was written is a leftover, and the next round tries again.
Plain functions and no threads: broker/settler.py runs them.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace

from onelog.storage.commit_log import CommitLog
from onelog.storage.ends import Ends, Said
from onelog.storage.frames import LogKey
from onelog.storage.log import PartitionLog, SettleJob


@dataclass(eq=False)
class Part:
    """One log in a round."""

    log: PartitionLog
    job: SettleJob
    is_done: bool = False


@dataclass(eq=False)
class Round:
    """One round, from begin() to publish() or give_up(). Owned by the loop's thread."""

    first: int
    before: int
    parts: list[Part] = field(default_factory=list)

    @classmethod
    def begin(cls, commit_log: CommitLog) -> "Round":
        """Everything before the end of the last frame written is to be settled.

        Taken before any tail is looked at: what is written meanwhile lies behind it.
        """
        return cls(first=commit_log.end, before=commit_log.before)

    def plan(self, logs: Iterable[PartitionLog]) -> Generator[None, None, None]:
        """Make the jobs. Comes in pieces."""
        for log in logs:
            if log.wants_settling:
                job = yield from log.begin_settle()
                if job is not None:
                    self.parts.append(Part(log, job))
            yield

    def root(self, last: Ends, logs: Iterable[PartitionLog], *, transaction: int) -> Ends:
        """What the root may say now that all jobs have ended; logs: those that are served."""
        done = {part.log: part.job for part in self.parts if part.is_done}
        first, before = self.first, self.before
        rows: dict[LogKey, Said] = {key: said for key, said in last.logs.items() if said.is_refused}
        for log in logs:
            job = done.get(log)
            rows[log.key] = log.said if job is None else log.said_after(job)
            place = log.first_frame
            if job is None and place is not None and place.lsn < first:
                # It is left out, so what the commit log has of it still matters.
                first, before = place.lsn, place.before
        if first < last.first:
            first, before = last.first, last.before
        return replace(last, first=first, before=before, logs=rows, transaction=transaction, is_clean=False)

    def publish(self) -> None:
        """The root is durable: what the jobs wrote counts."""
        for part in self.parts:
            if part.is_done:
                part.log.end_settle(part.job)
            else:
                part.log.undo_settle(part.job)

    def give_up(self) -> None:
        """There is no new root: nothing that the jobs wrote counts."""
        for part in self.parts:
            part.log.undo_settle(part.job)

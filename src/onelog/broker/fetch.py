"""Reading: visible batches of many partitions, at once or when there are enough of them.

RAW hands batches as they are to a client that filters; CLEAN takes away what a reader without
the notion of transactions must not see. Whole batches only; the first may be larger than asked
for, so that every reader gets on.
"""

from collections.abc import Callable, Sequence

from onelog import metrics as m
from onelog.broker.partition import visible_end
from onelog.broker.settings import BrokerSettings
from onelog.broker.topics.served import Served
from onelog.broker.traffic import Traffic
from onelog.broker.values import Aborted, Read, ReadResult
from onelog.broker.waiting import FetchWaiter, Waiter
from onelog.errors import OnelogError
from onelog.metrics import Metrics
from onelog.model import Isolation, View
from onelog.records.batch import Batch
from onelog.ticket import Ticket

Results = list[ReadResult | OnelogError]


class Fetching:
    """Reads for dialects. Lives in the loop's thread."""

    def __init__(self, *, served: Served, settings: BrokerSettings, metrics: Metrics) -> None:
        self._served = served
        self._settings = settings
        self._traffic = Traffic(metrics, records=m.RECORDS_FETCHED, size=m.BYTES_FETCHED)

    def fetch(
        self, reads: Sequence[Read], *, bytes_max: int, isolation: Isolation, view: View, dialect: str | None
    ) -> Results:
        """What is visible now."""
        results = self._look(reads, bytes_max, isolation, view)
        self._count(results, dialect)
        return results

    def wait_fetch(
        self,
        reads: Sequence[Read],
        *,
        bytes_max: int,
        bytes_min: int,
        wait_ms: int,
        isolation: Isolation,
        view: View,
        dialect: str | None,
    ) -> Ticket[Results]:
        """What is visible when there are bytes_min of it, anything is wrong, or time is up."""
        enough = min(bytes_min, bytes_max)

        def look(is_last: bool) -> Results | int:
            results = self._look(reads, bytes_max, isolation, view)
            missing = enough - sum(r.size for r in results if isinstance(r, ReadResult))
            if missing > 0 and not is_last and not any(_is_final(r, isolation) for r in results):
                return missing
            self._count(results, dialect)
            return results

        found = look(wait_ms <= 0 or not reads)
        if not isinstance(found, int):
            return Ticket.resolved(found)
        places = [self._served.partition(read.topic, read.partition) for read in reads]
        wait_ms = min(wait_ms, self._settings.fetch_wait_max_ms)
        return FetchWaiter(places, look, missing=found, wait_ms=wait_ms).ticket

    def watch(self, topic: str, partition: int, waiter: Waiter) -> Callable[[], None]:
        """Tell the waiter what happens at a partition; the way to end that, which may be gone more than once."""
        watched = self._served.partition(topic, partition)
        watched.watch(waiter)
        return lambda: watched.unwatch(waiter)

    def _look(self, reads: Sequence[Read], bytes_max: int, isolation: Isolation, view: View) -> Results:
        results: Results = []
        room = bytes_max
        is_first = True
        for read in reads:
            try:
                result = self._read(read, room=room, is_first=is_first, isolation=isolation, view=view)
            except OnelogError as error:
                results.append(error)
                continue
            if result.batches:
                is_first = False
                room -= result.size
            results.append(result)
        return results

    def _read(self, read: Read, *, room: int, is_first: bool, isolation: Isolation, view: View) -> ReadResult:
        partition = self._served.partition(read.topic, read.partition)
        partition.check_epoch(read.leader_epoch)
        # A first batch that was larger than its bound leaves less than nothing for those behind it.
        bytes_max = max(0, min(read.bytes_max, room))
        if view is View.CLEAN:
            isolation = Isolation.READ_COMMITTED
        batches: list[Batch] = partition.read(
            read.offset,
            bytes_max=bytes_max,
            isolation=isolation,
            at_least_one=is_first,
            # Who takes batches as they are checks them; who gets records out of them cannot.
            is_checked=view is View.CLEAN,
        )
        if batches and not is_first and batches[0].size > bytes_max:
            batches = []  # only the first partition with records may go over its bound
        offset_next = batches[-1].offset_end if batches else read.offset
        aborted: list[Aborted] = []
        if isolation is Isolation.READ_COMMITTED and batches:
            aborted = partition.aborted(read.offset, offset_next)
        if view is View.CLEAN:
            batches = [batch for batch in batches if _has_committed_records(batch, aborted)]
        return ReadResult(batches, partition.marks, partition.leader_epoch, offset_next, aborted)

    def _count(self, results: Results, dialect: str | None) -> None:
        if dialect is None:
            return  # somebody looks who hands nothing to a reader
        batches = [b for result in results if isinstance(result, ReadResult) for b in result.batches]
        if batches:
            records = sum(batch.record_count for batch in batches)
            self._traffic.add(dialect, records=records, size=sum(batch.size for batch in batches))


def _is_final(result: ReadResult | OnelogError, isolation: Isolation) -> bool:
    """A refusal, or records that leave no room for those behind them: waiting brings no more."""
    if isinstance(result, OnelogError):
        return True
    return bool(result.batches) and result.offset_next < visible_end(result.marks, isolation)


def _has_committed_records(batch: Batch, aborted: Sequence[Aborted]) -> bool:
    """Whether readers without the notion of transactions get it. Compaction leaves batches without records."""
    return batch.record_count > 0 and not batch.is_control and not is_aborted(batch, aborted)


def is_aborted(batch: Batch, aborted: Sequence[Aborted]) -> bool:
    """Whether the batch belongs to one of these transactions."""
    return batch.is_transactional and any(
        a.producer_id == batch.producer_id and a.first_offset <= batch.base_offset <= a.last_offset
        for a in aborted
    )

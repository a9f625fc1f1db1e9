"""Where logs begin: raised by people (delete_records) and, on a timer, by age and size.

The new start is durable in the catalog before anybody is told, and before a file goes. Whole
segments go; what is below the start in a segment that stays is not read any more.
"""

import asyncio
from contextlib import suppress

from onelog.broker.catalog import Catalog, Statement
from onelog.broker.committer import Committer
from onelog.broker.partition import Partition
from onelog.broker.topics.files import TopicFiles
from onelog.broker.topics.rows import start_raised
from onelog.broker.topics.served import Served
from onelog.broker.trusted_clock import TrustedClock
from onelog.broker.values import Spot, Topic
from onelog.clock import Clock
from onelog.errors import OffsetOutOfRange, OnelogError
from onelog.storage.retention import new_start, should_roll
from onelog.ticket import Ticket


class Retention:
    """Raises the starts of logs. Lives in the loop's thread."""

    def __init__(
        self,
        *,
        served: Served,
        catalog: Catalog,
        committer: Committer,
        files: TopicFiles,
        clock: Clock,
        interval_ms: int,
    ) -> None:
        self._served = served
        self._catalog = catalog
        self._committer = committer
        self._files = files
        self._clock = TrustedClock(clock)
        self._interval_s = interval_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Look now and then, until closed."""
        self._timer = self._loop.call_later(self._interval_s, self._look)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def delete_records(self, topic: str, index: int, offset: int | Spot) -> Ticket[int]:
        """Nothing below the offset is read any more; answered with the start that holds then."""
        try:
            partition = self._served.partition(topic, index)
            marks = partition.marks
        except OnelogError as error:
            return Ticket.refused(error)
        wanted = marks.durable if isinstance(offset, Spot) else offset
        if not 0 <= wanted <= marks.durable:
            return Ticket.refused(
                OffsetOutOfRange(
                    topic=topic, partition=index, offset=wanted, start=marks.start, end=marks.durable
                )
            )
        return self._raise([(self._served.topic(topic), partition, wanted)]).then(
            lambda _: partition.marks.start
        )

    def check(self) -> Ticket[None]:
        """Raise the starts of all logs whose oldest segments are too old, or too much."""
        now_ms = self._clock.now_ms()
        raised: list[tuple[Topic, Partition, int]] = []
        for topic, partition in self._served.partitions():
            if partition.is_open:
                with suppress(OnelogError):  # one that turns out to be damaged is closed by this
                    raised.append((topic, partition, self._start_of(partition, now_ms)))
        return self._raise(raised)

    def _look(self) -> None:
        try:
            self.check()
        finally:
            self.start()  # whatever it was that broke: it does not end retention for all logs

    def _start_of(self, partition: Partition, now_ms: int) -> int:
        log, limits = partition.log, partition.policy.limits
        log.producers.expire(now_ms)
        segments = partition.segments()
        if should_roll(segments, limits, now_ms=now_ms):
            # A segment goes as a whole and the active one stays: where nothing is written any
            # more, the last records would never go. They do in the round after this one.
            log.ask_to_roll(now_ms)
            self._committer.write(log)
        return new_start(segments, limits, start=log.marks.start, now_ms=now_ms)

    def _raise(self, wanted: list[tuple[Topic, Partition, int]]) -> Ticket[None]:
        statements: list[Statement] = []
        for topic, partition, start in wanted:
            if partition.decide_start(start):
                statements.append(start_raised(topic.id, partition.index, start))
        durable = self._catalog.write(statements) if statements else self._catalog.barrier()
        return durable.then(lambda _: self._raised(wanted))

    def _raised(self, wanted: list[tuple[Topic, Partition, int]]) -> None:
        for _, partition, start in wanted:
            if partition.is_open:
                partition.raise_start(start)
                self._files.remove_segments(partition)

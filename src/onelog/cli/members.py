"""Reading a topic as a member of a group, as `consume --group` needs it.

What was printed is committed, now and then and at the end; what was not comes again.
"""

from collections.abc import Iterator

from onelog.cli.formats import Placed
from onelog.client.closing import Closing
from onelog.client.kafka.admin import Admin, Spot
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Fetched
from onelog.client.kafka.group_consumer import GroupConsumer
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.subscription import Place
from onelog.model import Isolation

WAIT_MS = 500
COMMIT_INTERVAL_S = 1.0


class MemberReader(Closing):
    """One member that reads one topic; what it yields counts as printed when it is asked for more."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        group: str,
        *,
        start: Spot,
        timeout_s: float,
        isolation: Isolation,
        times: MemberTimes | None = None,
    ) -> None:
        self._client = KafkaClient(bootstrap, timeout_s=timeout_s)
        self._consumer = GroupConsumer(
            self._client, group, [topic], start=start, isolation=isolation, times=times
        )
        self._topic = topic
        self._isolation = isolation
        self._printed: dict[Place, int] = {}
        self._committed_s = self._client.clock.monotonic_s()

    def close(self) -> None:
        try:
            self._commit()
            self._consumer.close()
        finally:
            self._client.close()

    def lots(self, *, follow: bool, count: int | None) -> Iterator[list[Placed]]:
        """The records of the partitions that are this member's, up to where they end now or on and on."""
        ends = self._ends()
        while True:
            for fetched in self._consumer.poll(wait_ms=WAIT_MS):
                place = fetched.topic, fetched.partition
                # A partition that came to be later is all new.
                lot, offset = _lot(fetched, None if follow else ends.get(fetched.partition, 0), count)
                self._consumer.seek(place, offset)
                yield lot
                self._printed[place] = offset
                if count is not None:
                    count -= len(lot)
                    if count == 0:
                        return
            self._commit_now_and_then()
            if not follow and self._is_at(ends):
                return

    def _ends(self) -> dict[int, int]:
        found = Admin(self._client).offsets(self._topic, Spot.LATEST, isolation=self._isolation)
        return {partition: at.offset for partition, at in found.items()}

    def _is_at(self, ends: dict[int, int]) -> bool:
        positions = self._consumer.positions.items()
        return all(offset >= ends.get(partition, 0) for (_, partition), offset in positions)

    def _commit_now_and_then(self) -> None:
        if self._client.clock.monotonic_s() - self._committed_s >= COMMIT_INTERVAL_S:
            self._commit()

    def _commit(self) -> None:
        # Where the group is just being shared anew this keeps nothing; the next one does, or
        # the partitions are somebody else's by now, who prints those records again.
        self._consumer.commit(self._printed)
        self._committed_s = self._client.clock.monotonic_s()


def _lot(fetched: Fetched, end: int | None, count: int | None) -> tuple[list[Placed], int]:
    """The records below the end, so many at most, and the offset behind them."""
    lot: list[Placed] = []
    for offset, record in fetched.records():
        if end is not None and offset >= end:
            return lot, end
        if count is not None and len(lot) == count:
            return lot, offset
        lot.append(Placed(fetched.topic, fetched.partition, offset, record))
    return lot, fetched.next_offset

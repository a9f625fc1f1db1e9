"""Where things stand in a log: its ends, the record of a time, and the partition as a whole."""

from onelog.broker.fetch import is_aborted
from onelog.broker.partition import Partition, visible_end
from onelog.broker.topics.served import Served
from onelog.broker.values import OffsetAt, PartitionInfo, Spot
from onelog.model import Isolation

NOWHERE = OffsetAt(-1, -1, -1)


class Offsets:
    """Looks at served partitions. Lives in the loop's thread."""

    def __init__(self, *, served: Served) -> None:
        self._served = served

    def list_offset(
        self, topic: str, partition: int, *, at: int | Spot, isolation: Isolation, leader_epoch: int
    ) -> OffsetAt:
        """The offset at a place or a time, of what this reader may see; NOWHERE if no record is so late."""
        found = self._served.partition(topic, partition)
        found.check_epoch(leader_epoch)
        match at:
            case Spot.EARLIEST:
                return OffsetAt(found.marks.start, -1, found.leader_epoch)
            case Spot.LATEST:
                return OffsetAt(visible_end(found.marks, isolation), -1, found.leader_epoch)
            case Spot.FIRST_RECORD:
                return _first_record(found, isolation)
            case Spot.MAX_TIMESTAMP:
                record = found.find_max_timestamp(isolation=isolation)
            case int():
                record = found.find_time(at, isolation=isolation)
        return NOWHERE if record is None else OffsetAt(record.offset, record.timestamp_ms, found.leader_epoch)

    def describe(self, topic: str, partition: int) -> PartitionInfo:
        """The partition as it stands."""
        return self._served.partition(topic, partition).info()


def _first_record(partition: Partition, isolation: Isolation) -> OffsetAt:
    start = at = partition.marks.start
    while batches := partition.read(at, bytes_max=0, isolation=isolation):
        [batch] = batches
        is_undone = isolation is Isolation.READ_COMMITTED and is_aborted(
            batch, partition.aborted(batch.base_offset, batch.offset_end)
        )
        if not batch.is_control and not is_undone:
            for offset, record in batch.numbered(offset_start=start):
                return OffsetAt(offset, record.timestamp_ms, partition.leader_epoch)
        at = batch.offset_end
    return NOWHERE

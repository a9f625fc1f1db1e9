"""One round of batches on its way, at most one for each partition: what is out, what is answered.

Pure bookkeeping for the producer, which asks. A batch keeps its bytes, sequence included,
over all attempts, so that a broker that had it already knows it again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from onelog.client.kafka.errors import KafkaError
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.produce import PartitionProduceResponse
from onelog.records.batch import Batch

# The broker does not know this producer (any more), or knows another past of it.
LOST_PRODUCER = frozenset(
    {
        Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Code.UNKNOWN_PRODUCER_ID,
        Code.INVALID_PRODUCER_EPOCH,
        Code.INVALID_PRODUCER_ID_MAPPING,
    }
)
# The batch may be in the log all the same; only a sequence makes it safe to send it again.
MAYBE_DONE = frozenset({Code.REQUEST_TIMED_OUT, Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND})


class Sent(NamedTuple):
    """Where a batch went: offsets offset to offset_end, exclusive; -1 if the broker does not say.

    timestamp_ms: the log's own time for the records, or -1 where they keep theirs.
    """

    partition: int
    offset: int
    offset_end: int
    timestamp_ms: int = -1


@dataclass
class Delivery:
    """The batches of one round of one topic. Owned by one send."""

    topic: str
    pending: dict[int, Batch]
    # Pending batches as they go out, under the producer's sequence.
    numbered: dict[int, Batch] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    # Partitions whose batch may be in the log although no answer said so.
    unsure: set[int] = field(default_factory=set)
    renewed: bool = False

    def lost(self, partitions: Iterable[int]) -> None:
        """Their batches left, and the connection broke before the answer."""
        self.unsure.update(partitions)

    def answered(self, answer: PartitionProduceResponse) -> KafkaError | None:
        """Take one partition's answer; the error in it, if it is one."""
        partition = answer.index
        code = answer.error_code
        if code in (Code.NONE, Code.DUPLICATE_SEQUENCE_NUMBER):
            batch = self.pending.pop(partition)
            first = answer.base_offset if code == Code.NONE else -1
            end = first + batch.last_offset_delta + 1 if first >= 0 else -1
            self.sent.append(Sent(partition, first, end, answer.log_append_time_ms))
            self.unsure.discard(partition)
            return None
        if code in MAYBE_DONE:
            self.unsure.add(partition)
        return KafkaError(code, where=f"{self.topic}/{partition}", message=answer.error_message)

    def may_renew(self, code: int) -> bool:
        """Whether a new producer may send all that is pending, from sequence 0 on.

        Once, and only when nothing pending can be in the log already: a new producer's batch
        is not known again.
        """
        return code in LOST_PRODUCER and not self.renewed and not self.unsure

    def renew(self) -> None:
        """What is pending gets new sequences before it goes out again."""
        self.renewed = True
        self.numbered.clear()

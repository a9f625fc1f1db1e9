"""What a cluster says of itself: its brokers, its topics, who leads which partition.

Values read from one answer. When to ask again is the client's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from onelog.client.kafka.errors import KafkaError
from onelog.errors import counted
from onelog.model import NO_TOPIC_ID, Address
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.topics import MetadataResponse, MetadataResponseTopic

NO_NODE = -1


@dataclass(frozen=True)
class PartitionView:
    """Who leads a partition, and since which epoch; NO_NODE when nobody does now."""

    leader: int
    leader_epoch: int
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()


@dataclass(frozen=True)
class TopicView:
    """A topic and its partitions; the id is NO_TOPIC_ID where the broker knows none."""

    name: str
    id: UUID
    partitions: Mapping[int, PartitionView]
    is_internal: bool = False

    @property
    def partition_count(self) -> int:
        """How many partitions there are."""
        return len(self.partitions)

    def partition(self, index: int) -> PartitionView:
        """One of them; KafkaError if there is none of that number, or nobody leads it."""
        where = f"{self.name}/{index}"
        view = self.partitions.get(index)
        if view is None:
            count = counted(self.partition_count, "partition")
            raise UnknownPartition(where=where, message=f"the topic has {count}, counted from 0")
        if view.leader == NO_NODE:
            raise KafkaError(Code.LEADER_NOT_AVAILABLE, where=where)
        return view


class UnknownPartition(KafkaError):
    """The metadata, fresh as it is, knows no such partition: nothing to wait for."""

    def __init__(self, *, where: str, message: str | None = None) -> None:
        super().__init__(Code.UNKNOWN_TOPIC_OR_PARTITION, where=where, message=message)
        self.retriable = False


@dataclass(frozen=True)
class Cluster:
    """The cluster as last heard of. Immutable; a new answer makes a new one."""

    nodes: Mapping[int, Address] = field(default_factory=dict)
    topics: Mapping[str, TopicView] = field(default_factory=dict)
    controller: int = NO_NODE
    cluster_id: str | None = None

    def with_answer(self, answer: MetadataResponse) -> "Cluster":
        """The cluster after an answer about some topics; what it says of the others is kept."""
        topics = dict(self.topics)
        for topic in answer.topics:
            name = topic.name or ""
            if topic.error_code == Code.NONE:
                topics[name] = _topic(topic)
            else:
                topics.pop(name, None)
        nodes = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
        return Cluster(nodes, topics, answer.controller_id, answer.cluster_id)


def _topic(topic: MetadataResponseTopic) -> TopicView:
    partitions = {
        p.partition_index: PartitionView(
            leader=p.leader_id,
            leader_epoch=p.leader_epoch,
            replicas=tuple(p.replica_nodes),
            in_sync=tuple(p.isr_nodes),
        )
        for p in topic.partitions
    }
    return TopicView(topic.name or "", topic.topic_id or NO_TOPIC_ID, partitions, topic.is_internal)

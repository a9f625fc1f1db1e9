"""What most tests of the Kafka dialect have to say before they come to their point."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from onelog.model import NO_TOPIC_ID
from onelog.protocols.kafka.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from onelog.protocols.kafka.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from onelog.protocols.kafka.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from onelog.protocols.kafka.versions import CREATE_TOPICS, DELETE_TOPICS, LIST_OFFSETS
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support.kafka_peer import KafkaPeer
from tests.support.virtual_clock import START_MS


def create_topic(
    peer: KafkaPeer, name: str, *, partitions: int = 1, settings: Mapping[str, str] | None = None
) -> UUID:
    """Make a topic; its id."""
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in (settings or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
    (made,) = peer.ask(CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic])).topics
    assert made.error_code == 0, made.error_message
    topic_id: UUID = made.topic_id
    return topic_id


def delete_topic(peer: KafkaPeer, name: str) -> None:
    """Remove a topic."""
    (gone,) = peer.ask(DELETE_TOPICS, 5, DeleteTopicsRequest(topic_names=[name])).responses
    assert gone.error_code == 0, gone.error_message


def batch(*values: bytes, timestamp_ms: int = START_MS, **options: Any) -> bytes:
    """One batch of records with these values, a millisecond apart."""
    records = [Record(None, value, timestamp_ms + index) for index, value in enumerate(values or (b"v",))]
    return bytes(Batch.build(records, **options).data)


def produce_request(
    records: bytes | None,
    *,
    topic: str = "orders",
    partition: int = 0,
    acks: int = -1,
    topic_id: UUID = NO_TOPIC_ID,
) -> ProduceRequest:
    """One batch for one partition."""
    part = PartitionProduceData(index=partition, records=records)
    data = TopicProduceData(name=topic, topic_id=topic_id, partition_data=[part])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


def fetch_request(
    offset: int,
    *,
    topic: str = "orders",
    partition: int = 0,
    partition_max_bytes: int = 1 << 20,
    max_bytes: int = 1 << 25,
    min_bytes: int = 1,
    max_wait_ms: int = 0,
    leader_epoch: int = -1,
    topic_id: UUID = NO_TOPIC_ID,
    **options: Any,
) -> FetchRequest:
    """One partition from an offset on."""
    part = FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=partition_max_bytes,
        current_leader_epoch=leader_epoch,
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[part])],
        **options,
    )


def list_offset(peer: KafkaPeer, at: int, *, version: int = 11, topic: str = "orders", **options: Any) -> Any:
    """The answer for one partition."""
    part = ListOffsetsPartition(partition_index=0, timestamp=at, **options)
    body = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[part])])
    return peer.ask(LIST_OFFSETS, version, body).topics[0].partitions[0]


def only(topics: Sequence[Any], partitions: str) -> Any:
    """The one partition of the one topic of an answer."""
    (topic,) = topics
    (partition,) = getattr(topic, partitions)
    return partition

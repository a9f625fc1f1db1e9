"""Topics: Metadata (3), CreateTopics (19), DeleteTopics (20), DeleteRecords (21), CreatePartitions (37)."""

from uuid import UUID

from onelog.binary.fields import array32, boolean, i8, i16, i32, i64, text16, uuid
from onelog.binary.message import SIGNED, message


@message()
class MetadataRequestTopic:
    topic_id: UUID = uuid(since=10)
    name: str | None = text16(nullable=10)


@message(flexible=9, lengths=SIGNED)
class MetadataRequest:
    """Asks for topics. In version 0 an empty list means all; later null does, and empty means none."""

    topics: list[MetadataRequestTopic] | None = array32(MetadataRequestTopic, nullable=1)
    allow_auto_topic_creation: bool = boolean(since=4, default=True)
    include_cluster_authorized_operations: bool = boolean(since=8, until=10)
    include_topic_authorized_operations: bool = boolean(since=8)


@message()
class MetadataResponseBroker:
    node_id: int = i32()
    host: str = text16()
    port: int = i32()
    rack: str | None = text16(nullable=True, since=1)


@message()
class MetadataResponsePartition:
    error_code: int = i16()
    partition_index: int = i32()
    leader_id: int = i32()
    leader_epoch: int = i32(since=7, default=-1)
    replica_nodes: list[int] = array32(i32())
    isr_nodes: list[int] = array32(i32())
    offline_replicas: list[int] = array32(i32(), since=5)


@message()
class MetadataResponseTopic:
    error_code: int = i16()
    name: str | None = text16(nullable=12)
    topic_id: UUID = uuid(since=10)
    is_internal: bool = boolean(since=1)
    partitions: list[MetadataResponsePartition] = array32(MetadataResponsePartition)
    topic_authorized_operations: int = i32(since=8, default=-2147483648)


# Each partition of a large cluster counts with all its replicas, three times over.
@message(flexible=9, lengths=SIGNED, elements_max=1 << 23)
class MetadataResponse:
    """The brokers, and the topics with their partitions."""

    throttle_time_ms: int = i32(since=3)
    brokers: list[MetadataResponseBroker] = array32(MetadataResponseBroker)
    cluster_id: str | None = text16(nullable=True, since=2)
    controller_id: int = i32(since=1, default=-1)
    topics: list[MetadataResponseTopic] = array32(MetadataResponseTopic)
    cluster_authorized_operations: int = i32(since=8, until=10, default=-2147483648)
    error_code: int = i16(since=13)


@message()
class CreatableReplicaAssignment:
    partition_index: int = i32()
    broker_ids: list[int] = array32(i32())


@message()
class CreatableTopicConfig:
    name: str = text16()
    value: str | None = text16(nullable=True)


@message()
class CreatableTopic:
    name: str = text16()
    num_partitions: int = i32()
    replication_factor: int = i16()
    assignments: list[CreatableReplicaAssignment] = array32(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array32(CreatableTopicConfig)


@message(flexible=5, lengths=SIGNED)
class CreateTopicsRequest:
    """Counts of -1 leave the choice to the broker (from version 4)."""

    topics: list[CreatableTopic] = array32(CreatableTopic)
    timeout_ms: int = i32(default=60000)
    validate_only: bool = boolean()


@message()
class CreatableTopicConfigs:
    name: str = text16()
    value: str | None = text16(nullable=True)
    read_only: bool = boolean()
    config_source: int = i8(default=-1)
    is_sensitive: bool = boolean()


@message()
class CreatableTopicResult:
    name: str = text16()
    topic_id: UUID = uuid(since=7)
    error_code: int = i16()
    error_message: str | None = text16(nullable=True)
    topic_config_error_code: int = i16(tag=0, since=5)
    num_partitions: int = i32(since=5, default=-1)
    replication_factor: int = i16(since=5, default=-1)
    configs: list[CreatableTopicConfigs] | None = array32(CreatableTopicConfigs, nullable=True, since=5)


@message(flexible=5, lengths=SIGNED)
class CreateTopicsResponse:
    """What became of each topic."""

    throttle_time_ms: int = i32()
    topics: list[CreatableTopicResult] = array32(CreatableTopicResult)


@message()
class DeleteTopicState:
    name: str | None = text16(nullable=True)
    topic_id: UUID = uuid()


@message(flexible=4, lengths=SIGNED)
class DeleteTopicsRequest:
    """By name until version 5, then by name or id."""

    topics: list[DeleteTopicState] = array32(DeleteTopicState, since=6)
    topic_names: list[str] = array32(text16(), until=5)
    timeout_ms: int = i32()


@message()
class DeletableTopicResult:
    name: str | None = text16(nullable=6)
    topic_id: UUID = uuid(since=6)
    error_code: int = i16()
    error_message: str | None = text16(nullable=True, since=5)


@message(flexible=4, lengths=SIGNED)
class DeleteTopicsResponse:
    """What became of each topic."""

    throttle_time_ms: int = i32()
    responses: list[DeletableTopicResult] = array32(DeletableTopicResult)


@message()
class CreatePartitionsAssignment:
    broker_ids: list[int] = array32(i32())


@message()
class CreatePartitionsTopic:
    name: str = text16()
    count: int = i32()
    assignments: list[CreatePartitionsAssignment] | None = array32(CreatePartitionsAssignment, nullable=True)


@message(flexible=2, lengths=SIGNED)
class CreatePartitionsRequest:
    """New totals of partitions."""

    topics: list[CreatePartitionsTopic] = array32(CreatePartitionsTopic)
    timeout_ms: int = i32()
    validate_only: bool = boolean()


@message()
class CreatePartitionsTopicResult:
    name: str = text16()
    error_code: int = i16()
    error_message: str | None = text16(nullable=True)


@message(flexible=2, lengths=SIGNED)
class CreatePartitionsResponse:
    """What became of each topic."""

    throttle_time_ms: int = i32()
    results: list[CreatePartitionsTopicResult] = array32(CreatePartitionsTopicResult)


@message()
class DeleteRecordsPartition:
    partition_index: int = i32()
    offset: int = i64()


@message()
class DeleteRecordsTopic:
    name: str = text16()
    partitions: list[DeleteRecordsPartition] = array32(DeleteRecordsPartition)


@message(flexible=2, lengths=SIGNED)
class DeleteRecordsRequest:
    """Where logs are to begin; -1 is their end."""

    topics: list[DeleteRecordsTopic] = array32(DeleteRecordsTopic)
    timeout_ms: int = i32()


@message()
class DeleteRecordsPartitionResult:
    partition_index: int = i32()
    low_watermark: int = i64()
    error_code: int = i16()


@message()
class DeleteRecordsTopicResult:
    name: str = text16()
    partitions: list[DeleteRecordsPartitionResult] = array32(DeleteRecordsPartitionResult)


@message(flexible=2, lengths=SIGNED)
class DeleteRecordsResponse:
    """Where each log begins now."""

    throttle_time_ms: int = i32()
    topics: list[DeleteRecordsTopicResult] = array32(DeleteRecordsTopicResult)

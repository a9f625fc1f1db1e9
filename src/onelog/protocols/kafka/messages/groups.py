"""Groups and their positions: OffsetCommit (8), OffsetFetch (9), FindCoordinator (10)."""

from uuid import UUID

from onelog.binary.fields import array32, boolean, i8, i16, i32, i64, text16, uuid
from onelog.binary.message import SIGNED, message


@message()
class OffsetCommitRequestPartition:
    partition_index: int = i32()
    committed_offset: int = i64()
    committed_leader_epoch: int = i32(since=6, default=-1)
    committed_metadata: str | None = text16(nullable=True)


@message()
class OffsetCommitRequestTopic:
    name: str = text16(until=9)
    topic_id: UUID = uuid(since=10)
    partitions: list[OffsetCommitRequestPartition] = array32(OffsetCommitRequestPartition)


@message(flexible=8, lengths=SIGNED)
class OffsetCommitRequest:
    """Positions of a group, to be kept."""

    group_id: str = text16()
    generation_id_or_member_epoch: int = i32(default=-1)
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True, since=7)
    retention_time_ms: int = i64(until=4, default=-1)
    topics: list[OffsetCommitRequestTopic] = array32(OffsetCommitRequestTopic)


@message()
class OffsetCommitResponsePartition:
    partition_index: int = i32()
    error_code: int = i16()


@message()
class OffsetCommitResponseTopic:
    name: str = text16(until=9)
    topic_id: UUID = uuid(since=10)
    partitions: list[OffsetCommitResponsePartition] = array32(OffsetCommitResponsePartition)


@message(flexible=8, lengths=SIGNED)
class OffsetCommitResponse:
    """What became of each position."""

    throttle_time_ms: int = i32(since=3)
    topics: list[OffsetCommitResponseTopic] = array32(OffsetCommitResponseTopic)


@message()
class OffsetFetchRequestTopic:
    name: str = text16()
    partition_indexes: list[int] = array32(i32())


@message()
class OffsetFetchRequestTopics:
    name: str = text16(until=9)
    topic_id: UUID = uuid(since=10)
    partition_indexes: list[int] = array32(i32())


@message()
class OffsetFetchRequestGroup:
    group_id: str = text16()
    member_id: str | None = text16(nullable=True, since=9)
    member_epoch: int = i32(since=9, default=-1)
    topics: list[OffsetFetchRequestTopics] | None = array32(OffsetFetchRequestTopics, nullable=True)


@message(flexible=6, lengths=SIGNED)
class OffsetFetchRequest:
    """One group until version 7, then many; no topics means all."""

    group_id: str = text16(until=7)
    topics: list[OffsetFetchRequestTopic] | None = array32(OffsetFetchRequestTopic, nullable=2, until=7)
    groups: list[OffsetFetchRequestGroup] = array32(OffsetFetchRequestGroup, since=8)
    require_stable: bool = boolean(since=7)


@message()
class OffsetFetchResponsePartition:
    partition_index: int = i32()
    committed_offset: int = i64()
    committed_leader_epoch: int = i32(since=5, default=-1)
    metadata: str | None = text16(nullable=True)
    error_code: int = i16()


@message()
class OffsetFetchResponseTopic:
    name: str = text16()
    partitions: list[OffsetFetchResponsePartition] = array32(OffsetFetchResponsePartition)


@message()
class OffsetFetchResponsePartitions:
    partition_index: int = i32()
    committed_offset: int = i64()
    committed_leader_epoch: int = i32(default=-1)
    metadata: str | None = text16(nullable=True)
    error_code: int = i16()


@message()
class OffsetFetchResponseTopics:
    name: str = text16(until=9)
    topic_id: UUID = uuid(since=10)
    partitions: list[OffsetFetchResponsePartitions] = array32(OffsetFetchResponsePartitions)


@message()
class OffsetFetchResponseGroup:
    group_id: str = text16()
    topics: list[OffsetFetchResponseTopics] = array32(OffsetFetchResponseTopics)
    error_code: int = i16()


@message(flexible=6, lengths=SIGNED)
class OffsetFetchResponse:
    """The positions kept; offset -1 where there is none."""

    throttle_time_ms: int = i32(since=3)
    topics: list[OffsetFetchResponseTopic] = array32(OffsetFetchResponseTopic, until=7)
    error_code: int = i16(since=2, until=7)
    groups: list[OffsetFetchResponseGroup] = array32(OffsetFetchResponseGroup, since=8)


@message(flexible=3, lengths=SIGNED)
class FindCoordinatorRequest:
    """One key until version 3, then many. Key types: 0 group, 1 transaction, 2 share."""

    key: str = text16(until=3)
    key_type: int = i8(since=1)
    coordinator_keys: list[str] = array32(text16(), since=4)


@message()
class Coordinator:
    key: str = text16()
    node_id: int = i32()
    host: str = text16()
    port: int = i32()
    error_code: int = i16()
    error_message: str | None = text16(nullable=True)


@message(flexible=3, lengths=SIGNED)
class FindCoordinatorResponse:
    """Who coordinates; the single answer until version 3."""

    throttle_time_ms: int = i32(since=1)
    error_code: int = i16(until=3)
    error_message: str | None = text16(nullable=True, since=1, until=3)
    node_id: int = i32(until=3)
    host: str = text16(until=3)
    port: int = i32(until=3)
    coordinators: list[Coordinator] = array32(Coordinator, since=4)

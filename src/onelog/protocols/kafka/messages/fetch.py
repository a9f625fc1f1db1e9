"""Fetch (key 1), ListOffsets (key 2) and OffsetForLeaderEpoch (key 23)."""

from uuid import UUID

from onelog.binary.fields import Records, array32, i8, i16, i32, i64, records32, struct, text16, uuid
from onelog.binary.message import SIGNED, message
from onelog.protocols.kafka.messages.leaders import LeaderIdAndEpoch, NodeEndpoint


@message()
class ReplicaState:
    replica_id: int = i32(default=-1)
    replica_epoch: int = i64(default=-1)


@message()
class FetchPartition:
    partition: int = i32()
    current_leader_epoch: int = i32(since=9, default=-1)
    fetch_offset: int = i64()
    last_fetched_epoch: int = i32(since=12, default=-1)
    log_start_offset: int = i64(since=5, default=-1)
    partition_max_bytes: int = i32()
    replica_directory_id: UUID = uuid(tag=0, since=17)
    high_watermark: int = i64(tag=1, since=18, default=9223372036854775807)


@message()
class FetchTopic:
    topic: str = text16(until=12)
    topic_id: UUID = uuid(since=13)
    partitions: list[FetchPartition] = array32(FetchPartition)


@message()
class ForgottenTopic:
    topic: str = text16(until=12)
    topic_id: UUID = uuid(since=13)
    partitions: list[int] = array32(i32())


@message(flexible=12, lengths=SIGNED)
class FetchRequest:
    """Batches from partitions, as many as fit; waits for a minimum."""

    cluster_id: str | None = text16(nullable=True, tag=0, since=12)
    replica_id: int = i32(until=14, default=-1)
    replica_state: ReplicaState | None = struct(ReplicaState, tag=1, since=15, default=None)
    max_wait_ms: int = i32()
    min_bytes: int = i32()
    max_bytes: int = i32(default=2147483647)
    isolation_level: int = i8()
    session_id: int = i32(since=7)
    session_epoch: int = i32(since=7, default=-1)
    topics: list[FetchTopic] = array32(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array32(ForgottenTopic, since=7)
    rack_id: str = text16(since=11)


@message()
class EpochEndOffset:
    epoch: int = i32(default=-1)
    end_offset: int = i64(default=-1)


@message()
class SnapshotId:
    end_offset: int = i64(default=-1)
    epoch: int = i32(default=-1)


@message()
class AbortedTransaction:
    producer_id: int = i64()
    first_offset: int = i64()


@message()
class PartitionData:
    partition_index: int = i32()
    error_code: int = i16()
    high_watermark: int = i64()
    last_stable_offset: int = i64(default=-1)
    log_start_offset: int = i64(since=5, default=-1)
    diverging_epoch: EpochEndOffset | None = struct(EpochEndOffset, tag=0, since=12, default=None)
    current_leader: LeaderIdAndEpoch | None = struct(LeaderIdAndEpoch, tag=1, since=12, default=None)
    snapshot_id: SnapshotId | None = struct(SnapshotId, tag=2, since=12, default=None)
    aborted_transactions: list[AbortedTransaction] | None = array32(AbortedTransaction, nullable=True)
    preferred_read_replica: int = i32(since=11, default=-1)
    records: Records = records32()


@message()
class FetchableTopicResponse:
    topic: str = text16(until=12)
    topic_id: UUID = uuid(since=13)
    partitions: list[PartitionData] = array32(PartitionData)


@message(flexible=12, lengths=SIGNED)
class FetchResponse:
    """Whole batches; the first of the answer may exceed the limits."""

    throttle_time_ms: int = i32()
    error_code: int = i16(since=7)
    session_id: int = i32(since=7)
    responses: list[FetchableTopicResponse] = array32(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array32(NodeEndpoint, tag=0, since=16)


@message()
class ListOffsetsPartition:
    partition_index: int = i32()
    current_leader_epoch: int = i32(since=4, default=-1)
    timestamp: int = i64()


@message()
class ListOffsetsTopic:
    name: str = text16()
    partitions: list[ListOffsetsPartition] = array32(ListOffsetsPartition)


@message(flexible=6, lengths=SIGNED)
class ListOffsetsRequest:
    """Offsets by time. Negative timestamps: -1 latest, -2 earliest, -3 the greatest timestamp, -4 earliest local, -5 latest tiered, -6 earliest to be uploaded."""

    replica_id: int = i32()
    isolation_level: int = i8(since=2)
    topics: list[ListOffsetsTopic] = array32(ListOffsetsTopic)
    timeout_ms: int = i32(since=10)


@message()
class ListOffsetsPartitionResponse:
    partition_index: int = i32()
    error_code: int = i16()
    timestamp: int = i64(default=-1)
    offset: int = i64(default=-1)
    leader_epoch: int = i32(since=4, default=-1)


@message()
class ListOffsetsTopicResponse:
    name: str = text16()
    partitions: list[ListOffsetsPartitionResponse] = array32(ListOffsetsPartitionResponse)


@message(flexible=6, lengths=SIGNED)
class ListOffsetsResponse:
    """The first offset at or after each time; -1 if there is none."""

    throttle_time_ms: int = i32(since=2)
    topics: list[ListOffsetsTopicResponse] = array32(ListOffsetsTopicResponse)


@message()
class OffsetForLeaderPartition:
    partition: int = i32()
    current_leader_epoch: int = i32(default=-1)
    leader_epoch: int = i32()


@message()
class OffsetForLeaderTopic:
    topic: str = text16()
    partitions: list[OffsetForLeaderPartition] = array32(OffsetForLeaderPartition)


@message(flexible=4, lengths=SIGNED)
class OffsetForLeaderEpochRequest:
    """Where did what a leader wrote end?"""

    replica_id: int = i32(since=3, default=-2)
    topics: list[OffsetForLeaderTopic] = array32(OffsetForLeaderTopic)


@message()
class LeaderEpochEndOffset:
    error_code: int = i16()
    partition: int = i32()
    leader_epoch: int = i32(default=-1)
    end_offset: int = i64(default=-1)


@message()
class OffsetForLeaderTopicResult:
    topic: str = text16()
    partitions: list[LeaderEpochEndOffset] = array32(LeaderEpochEndOffset)


@message(flexible=4, lengths=SIGNED)
class OffsetForLeaderEpochResponse:
    """The ends; -1 where there was no such leader."""

    throttle_time_ms: int = i32()
    topics: list[OffsetForLeaderTopicResult] = array32(OffsetForLeaderTopicResult)

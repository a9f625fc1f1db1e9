"""Produce (key 0)."""

from uuid import UUID

from onelog.binary.fields import Records, array32, i16, i32, i64, records32, struct, text16, uuid
from onelog.binary.message import SIGNED, message
from onelog.protocols.kafka.messages.leaders import LeaderIdAndEpoch, NodeEndpoint


@message()
class PartitionProduceData:
    index: int = i32()
    records: Records = records32()


@message()
class TopicProduceData:
    name: str = text16(until=12)
    topic_id: UUID = uuid(since=13)
    partition_data: list[PartitionProduceData] = array32(PartitionProduceData)


@message(flexible=9, lengths=SIGNED)
class ProduceRequest:
    """Batches for partitions, one each."""

    transactional_id: str | None = text16(nullable=True)
    acks: int = i16()
    timeout_ms: int = i32()
    topic_data: list[TopicProduceData] = array32(TopicProduceData)


@message()
class BatchIndexAndErrorMessage:
    batch_index: int = i32()
    batch_index_error_message: str | None = text16(nullable=True)


@message()
class PartitionProduceResponse:
    index: int = i32()
    error_code: int = i16()
    base_offset: int = i64()
    log_append_time_ms: int = i64(default=-1)
    log_start_offset: int = i64(since=5, default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = array32(BatchIndexAndErrorMessage, since=8)
    error_message: str | None = text16(nullable=True, since=8)
    current_leader: LeaderIdAndEpoch | None = struct(LeaderIdAndEpoch, tag=0, since=10, default=None)


@message()
class TopicProduceResponse:
    name: str = text16(until=12)
    topic_id: UUID = uuid(since=13)
    partition_responses: list[PartitionProduceResponse] = array32(PartitionProduceResponse)


@message(flexible=9, lengths=SIGNED)
class ProduceResponse:
    """Where they went, or why not."""

    responses: list[TopicProduceResponse] = array32(TopicProduceResponse)
    throttle_time_ms: int = i32()
    node_endpoints: list[NodeEndpoint] = array32(NodeEndpoint, tag=0, since=10)

"""What RustLog's peers say to each other in JSON, as its document has it.

One struct a message; its name is the `type` member and its fields are the other members.
Which of them are too many, unknown or out of range for a request to be granted is the
handlers' to say, what no u32 or u64 can hold is refused here.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

U32_MAX = (1 << 32) - 1
U64_MAX = (1 << 64) - 1

U32 = Annotated[int, Meta(ge=0, le=U32_MAX)]
# msgspec takes no bound above 63 bits; json_form.py checks the rest of it.
U64 = Annotated[int, Meta(ge=0)]


class Request(Struct, tag_field="type"):
    """What a client asks for."""


class Produce(Request, tag="Produce"):
    topic: str
    partition: U32
    records: list[bytes]


class Fetch(Request, tag="Fetch"):
    group_id: str
    topic: str
    partition: U32
    offset: U64
    max_bytes: U64


class OffsetCommit(Request, tag="OffsetCommit"):
    group: str
    topic: str
    partition: U32
    offset: U64


class OffsetFetch(Request, tag="OffsetFetch"):
    group: str
    topic: str
    partition: U32


class CreateTopic(Request, tag="CreateTopic"):
    topic: str
    partition_count: U32


class ListTopics(Request, tag="ListTopics"):
    pass


class DescribeTopic(Request, tag="DescribeTopic"):
    topic: str


class DescribePartition(Request, tag="DescribePartition"):
    topic: str
    partition: U32


class MetricsFetch(Request, tag="MetricsFetch"):
    pass


class Ping(Request, tag="Ping"):
    pass


class Response(Struct, tag_field="type"):
    """What a server answers."""


class ProduceResponse(Response, tag="ProduceResponse"):
    base_offset: U64
    record_count: U64


class FetchedRecord(Struct):
    """One record. The timestamp is in microseconds since 1970."""

    offset: U64
    timestamp: U64
    payload: bytes


class FetchResponse(Response, tag="FetchResponse"):
    records: list[FetchedRecord]
    next_offset: U64


class OffsetCommitResponse(Response, tag="OffsetCommitResponse"):
    success: bool


class OffsetFetchResponse(Response, tag="OffsetFetchResponse"):
    offset: U64 | None


class CreateTopicResponse(Response, tag="CreateTopicResponse"):
    success: bool
    partitions_created: U32


class TopicSummary(Struct):
    """One topic of a list."""

    name: str
    partition_count: U32


class ListTopicsResponse(Response, tag="ListTopicsResponse"):
    topics: list[TopicSummary]


class PartitionSummary(Struct):
    """One partition of a described topic."""

    partition: U32
    high_watermark: U64
    log_start_offset: U64
    segment_count: U64


class DescribeTopicResponse(Response, tag="DescribeTopicResponse"):
    topic: str
    partitions: list[PartitionSummary]


class DescribePartitionResponse(Response, tag="DescribePartitionResponse"):
    topic: str
    partition: U32
    high_watermark: U64
    log_start_offset: U64
    segment_count: U64


class HighWatermark(Struct):
    """How far one partition has come."""

    topic: str
    partition: U32
    high_watermark: U64


class ConsumerLag(Struct):
    """How far one group is behind in one partition."""

    group: str
    topic: str
    partition: U32
    lag: U64


class MetricsData(Struct):
    """The broker in numbers, over all dialects; the lists are cut where a frame would burst."""

    records_produced: U64
    bytes_produced: U64
    records_fetched: U64
    bytes_fetched: U64
    active_connections: U64
    high_watermarks: list[HighWatermark]
    consumer_lag: list[ConsumerLag]
    prometheus: str


class MetricsFetchResponse(Response, tag="MetricsFetchResponse"):
    metrics: MetricsData


class Pong(Response, tag="Pong"):
    pass


class Error(Response, tag="Error"):
    code: U32
    message: str
    details: dict[str, Any] | None = None


class InvalidCall(Struct):
    """Not of the wire: stands for a whole frame that is no request, and is answered in its turn."""

    reason: str


REQUESTS = (
    Produce
    | Fetch
    | OffsetCommit
    | OffsetFetch
    | CreateTopic
    | ListTopics
    | DescribeTopic
    | DescribePartition
    | MetricsFetch
    | Ping
)
RESPONSES = (
    ProduceResponse
    | FetchResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | CreateTopicResponse
    | ListTopicsResponse
    | DescribeTopicResponse
    | DescribePartitionResponse
    | MetricsFetchResponse
    | Pong
    | Error
)

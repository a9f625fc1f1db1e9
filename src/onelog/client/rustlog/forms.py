"""Both forms of RustLog as a client speaks them: one set of requests out, one set of answers in.

JSON is what the document has, and the only form in which all is told. The binary form is what
RustLog's own broker understands: it has no times, no log starts, and no offsets, which are
counted back from the next one.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from onelog.client.rustlog import answers as a
from onelog.client.rustlog.errors import RustLogError
from onelog.protocols.rustlog import binary_form, json_form
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.messages import binary, json
from onelog.protocols.rustlog.recordset import BINARY_RECORDS_MAX, RECORDS_MAX

Buffer = bytes | bytearray | memoryview

# Names, numbers and brackets take little beside the records.
_ROOM = FRAME_BYTES_MAX - 64 * 1024


class Form(Enum):
    """How messages are written."""

    JSON = "json"
    BINARY = "binary"

    @property
    def records_max(self) -> int:
        """How many records one Produce may carry."""
        return RECORDS_MAX if self is Form.JSON else BINARY_RECORDS_MAX

    @property
    def payload_bytes_max(self) -> int:
        """How many bytes of records one Produce may carry. Base64 makes 4 bytes of 3."""
        return _ROOM // 4 * 3 if self is Form.JSON else _ROOM

    def encode(self, request: json.Request) -> Sequence[Buffer]:
        """A frame; InvalidRequest or BinaryError where no frame holds it."""
        if self is Form.JSON:
            return [json_form.encode(request)]
        return binary_form.encode(_TO_BINARY[type(request)](request))

    def decode(self, payload: Buffer) -> a.Answer:
        """The answer; a RustLogError is raised. InvalidRequest, MalformedJson or BinaryError where it is none."""
        if self is Form.JSON:
            return _of_json(json_form.decode_response(payload))
        return _of_binary(binary_form.decode_response(payload))


def _of_json(answer: json.Response) -> a.Answer:
    match answer:
        case json.ProduceResponse(base_offset=base, record_count=count):
            return a.Produced(base, base + count)
        case json.FetchResponse(records=records, next_offset=next_offset):
            found = [a.FetchedRecord(each.offset, each.timestamp, each.payload) for each in records]
            return a.Fetched(found, next_offset)
        case json.OffsetCommitResponse(success=success):
            return a.Committed(success)
        case json.OffsetFetchResponse(offset=offset):
            return a.Position(offset)
        case json.CreateTopicResponse(partitions_created=count):
            return a.Created(count)
        case json.ListTopicsResponse(topics=topics):
            return a.Topics(topics)
        case json.DescribeTopicResponse(partitions=partitions):
            return a.Described([_state(each) for each in partitions])
        case json.DescribePartitionResponse():
            return a.Described([_state(answer)])
        case json.MetricsFetchResponse(metrics=metrics):
            return a.Metrics(metrics.prometheus, metrics)
        case json.Error():
            raise RustLogError(answer)
        case _:
            return a.Pong()


def _state(each: json.PartitionSummary | json.DescribePartitionResponse) -> a.PartitionState:
    return a.PartitionState(each.partition, each.high_watermark, each.log_start_offset, each.segment_count)


def _of_binary(answer: Any) -> a.Answer:
    match answer:
        case binary.Produced(base_offset=base, record_count=count):
            return a.Produced(base, base + count)
        case binary.Fetched(records=records, next_offset=next_offset):
            first = next_offset - len(records)
            found = [a.FetchedRecord(first + n, None, payload) for n, payload in enumerate(records)]
            return a.Fetched(found, next_offset)
        case binary.Committed(success=success):
            return a.Committed(success)
        case binary.Position(offset=offset):
            return a.Position(offset)
        case binary.Created():
            return a.Created(None)
        case binary.TopicList(topics=topics):
            return a.Topics([json.TopicSummary(each.name, each.partition_count) for each in topics])
        case binary.TopicDescribed(partitions=partitions):
            return a.Described([a.PartitionState(each.partition, each.high_watermark) for each in partitions])
        case binary.PartitionDescribed(partition=partition, high_watermark=high_watermark):
            return a.Described([a.PartitionState(partition, high_watermark)])
        case binary.MetricsText(text=text):
            return a.Metrics(text, None)
        case binary.Error():
            raise RustLogError(answer)
        case _:
            return a.Pong()


def _fetch(request: json.Fetch) -> binary.Fetch:
    return binary.Fetch(
        group=request.group_id,
        topic=request.topic,
        partition=request.partition,
        offset=request.offset,
        max_bytes=min(request.max_bytes, json.U32_MAX),
    )


def _same(cls: type[Any]) -> Callable[[Any], Any]:
    """The request of this name, whose fields are called the same in both forms."""
    names = cls.__match_args__
    return lambda request: cls(**{name: getattr(request, name) for name in names})


_TO_BINARY: Final[Mapping[type[json.Request], Callable[[Any], Any]]] = {
    json.Produce: _same(binary.Produce),
    json.Fetch: _fetch,
    json.OffsetCommit: _same(binary.OffsetCommit),
    json.OffsetFetch: _same(binary.OffsetFetch),
    json.CreateTopic: _same(binary.CreateTopic),
    json.ListTopics: _same(binary.ListTopics),
    json.DescribeTopic: _same(binary.DescribeTopic),
    json.DescribePartition: _same(binary.DescribePartition),
    json.MetricsFetch: _same(binary.MetricsFetch),
    json.Ping: _same(binary.Ping),
}

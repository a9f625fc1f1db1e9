"""Where partitions begin and end, one look at many of them, and streams of one."""

from typing import Final

from onelog.broker.broker import Read
from onelog.errors import ErrorCode, OnelogError
from onelog.model import OFFSET_MAX, TopicName, View
from onelog.protocols.contract import Outcome, Push, Reply
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.errors import FluvioRefusal
from onelog.protocols.fluvio.handlers.context import Context, later
from onelog.protocols.fluvio.handlers.objects import SYSTEM_TOPIC, refuse_system_topic
from onelog.protocols.fluvio.handlers.positions import stored_offsets
from onelog.protocols.fluvio.handlers.smartmodules import refuse_programs
from onelog.protocols.fluvio.messages.error import Code, Fault
from onelog.protocols.fluvio.messages.fetch import (
    FetchedOffsetsTopic,
    FetchedPartition,
    FetchedTopic,
    FetchOffsetsRequest,
    FetchOffsetsResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionOffsets,
    StreamFetchRequest,
    StreamFetchResponse,
)
from onelog.protocols.fluvio.tails import (
    ISOLATION,
    Asked,
    Tail,
    bytes_wanted,
    check_place,
    read,
    said,
)

# What a Fetch may hold in all, beside one batch.
ANSWER_BYTES_MAX: Final = 8 << 20
_NO_STREAM: Final = 0
_NOT_HERE: Final = frozenset(
    (ErrorCode.UNKNOWN_TOPIC, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_PARTITION)
)


def fetch_offsets(context: Context, request: Request) -> Outcome:
    """The first offset and the one behind the last, of each partition."""
    body: FetchOffsetsRequest = request.body
    if body.consumer_id is None:
        return context.behind_appends(lambda: _offsets(context, body, {}))
    found = stored_offsets(context, body.consumer_id)
    return later(found, lambda done: _offsets(context, body, done.result()))


def _offsets(
    context: Context, request: FetchOffsetsRequest, stored: dict[tuple[TopicName, int], int]
) -> FetchOffsetsResponse:
    topics = []
    for topic in request.topics:
        parts = []
        for partition in topic.partitions:
            if topic.name == SYSTEM_TOPIC and partition == 0:
                parts.append(PartitionOffsets(partition=partition))
                continue
            try:
                info = context.broker.describe_partition(topic.name, partition)
            except OnelogError as error:
                fault = _fault(context, error, Code.PARTITION_NOT_LEADER)
                parts.append(PartitionOffsets(error=fault, partition=partition))
                continue
            start = stored.get((TopicName(topic.name), partition), info.start)
            parts.append(PartitionOffsets(partition=partition, start=start, last_stable=info.stable))
        topics.append(FetchedOffsetsTopic(name=topic.name, partitions=parts))
    return FetchOffsetsResponse(topics=topics)


def stream_fetch(context: Context, request: Request) -> Outcome:
    """A stream, or one frame that says why there is none."""
    body: StreamFetchRequest = request.body
    stream_id = _NO_STREAM
    try:
        refuse_system_topic(body.topic)
        topic = context.broker.topic(body.topic)
        info = context.broker.describe_partition(topic.name, body.partition)
        stream_id = context.tails.next_id()
        refuse_programs(body)
        check_place(info, body.fetch_offset)
    except (OnelogError, FluvioRefusal) as error:
        fault = _fault(context, error, Code.NOT_LEADER_FOR_PARTITION)
        fetched = FetchedPartition(partition=body.partition, error=fault)
        return Reply(StreamFetchResponse(topic=body.topic, stream_id=stream_id, fetched=fetched))
    asked = Asked(topic, body.partition, bytes_wanted(body.bytes_max), body.consumer_id)
    tail = Tail(context, asked, stream_id=stream_id, offset=body.fetch_offset)
    context.tails.add(tail)
    return Push(tail)


def fetch(context: Context, request: Request) -> Outcome:
    """What there is; or, where there is not enough, a wait."""
    body: FetchRequest = request.body
    bytes_max = bytes_wanted(body.bytes_max or -1)
    reads = [
        Read(TopicName(topic.name), each.partition, each.fetch_offset, bytes_wanted(each.bytes_max))
        for topic in body.topics
        for each in topic.partitions
        if 0 <= each.fetch_offset <= OFFSET_MAX
    ]
    enough = context.broker.wait_fetch(
        reads,
        bytes_max=bytes_max,
        bytes_min=max(body.bytes_min, 0),
        wait_ms=max(body.wait_ms, 0),
        isolation=ISOLATION,
        view=View.CLEAN,
        dialect=None,  # what is answered is read again
    )
    return later(enough, lambda _: _fetched(context, body, bytes_max))


def _fetched(context: Context, request: FetchRequest, bytes_max: int) -> FetchResponse:
    topics = []
    room = bytes_max
    for topic in request.topics:
        parts = []
        for asked in topic.partitions:
            part, size = _part(context, topic.name, asked, room)
            parts.append(part)
            room -= size
        topics.append(FetchedTopic(name=topic.name, partitions=parts))
    return FetchResponse(topics=topics)


def _part(context: Context, topic: str, asked: FetchPartition, room: int) -> tuple[FetchedPartition, int]:
    """One partition, and the bytes of its records; none where there is no room left."""
    broker = context.broker
    try:
        refuse_system_topic(topic)
        info = broker.describe_partition(topic, asked.partition)
        check_place(info, asked.fetch_offset)
        if room <= 0 or asked.fetch_offset >= info.stable:
            return FetchedPartition(
                partition=asked.partition, high_watermark=info.stable, log_start=info.start
            ), 0
        bytes_max = min(bytes_wanted(asked.bytes_max), room)
        records, offset_next = read(broker, TopicName(topic), asked.partition, asked.fetch_offset, bytes_max)
    except (OnelogError, FluvioRefusal) as error:
        fault = _fault(context, error, Code.NOT_LEADER_FOR_PARTITION)
        return FetchedPartition(partition=asked.partition, error=fault), 0
    context.lost(records.losses)
    return said(info, asked.partition, records, offset_next), records.size


def _fault(context: Context, error: BaseException, elsewhere: Code) -> Fault:
    """The refusal; what is not here may be elsewhere, says Fluvio, in a word of each request's own."""
    fault = context.refuse(error)
    return elsewhere if isinstance(error, OnelogError) and error.code in _NOT_HERE else fault

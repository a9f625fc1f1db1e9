"""Topics and their partitions: made, found, and told to read their settings again.

Names are bytes here: what is no topic's name is an unknown topic, not a broken frame, and
comes back as it came.

topics, response       request_id u32 | count u32 | cluster u8 | { name str8 | enabled u8 | partitions u16 |
                       replicas u8, of a cluster only }*
partitions, request    request_id u32 | topic str8 | partition u16*, to the end of the payload
partitions, response   request_id u32 | topic str8 | count u16 | { first u64 | last u64 | reason * }*
                       * u8, where both are 2^64 - 1; fc: address u32, port u16 behind it
"""

from dataclasses import dataclass, field
from typing import Final

from onelog.binary.cursor import Reader, Writer
from onelog.binary.errors import BinaryError
from onelog.binary.fields import Order, bytes8, bytes_uvarint, u8, u16, u32
from onelog.binary.message import LITTLE, message

Buffer = bytes | bytearray | memoryview

NOWHERE: Final = (1 << 64) - 1
OTHER_LEADER: Final = 0xFC
_LEADER_BYTES: Final = 6
_LISTED_MAX: Final = 0xFFFF


@message(byte_order=LITTLE)
class CreateTopicRequest:
    """Make a topic. config: lines of `key=value`."""

    request_id: int = u32()
    name: bytes = bytes8()
    partition_count: int = u16()
    config: bytes = bytes_uvarint()


@message(byte_order=LITTLE)
class CreateTopicResponse:
    """Whether it is there now."""

    request_id: int = u32()
    name: bytes = bytes8()
    code: int = u8()


@message(byte_order=LITTLE)
class DiscoverTopicsRequest:
    """Which topics there are."""

    request_id: int = u32()
    flags: int = u8()


@dataclass(slots=True)
class DiscoveredTopic:
    """One topic."""

    name: bytes
    partition_count: int
    is_enabled: bool = True


@dataclass(slots=True)
class DiscoverTopicsResponse:
    """All topics, in any order."""

    request_id: int
    topics: list[DiscoveredTopic] = field(default_factory=list)


@message(byte_order=LITTLE)
class ReloadConfigRequest:
    """Read the settings of a partition again."""

    request_id: int = u32()
    topic: bytes = bytes8()
    partition: int = u16()


@message(byte_order=LITTLE)
class ReloadConfigResponse:
    """Whether that was done."""

    request_id: int = u32()
    topic: bytes = bytes8()
    partition: int = u16()
    code: int = u8()


@dataclass(slots=True)
class DiscoverPartitionsRequest:
    """How far partitions reach: those of the list, or all if there is none."""

    request_id: int
    topic: bytes
    partitions: list[int] = field(default_factory=list)


@dataclass(slots=True)
class PartitionSpan:
    """The first sequence that can be read and the last one given; 0 and 0 before the first message.

    reason: why both are unknown.
    """

    first: int
    last: int
    reason: int | None = None


@dataclass(slots=True)
class DiscoverPartitionsResponse:
    """A span for each partition; none where the topic is unknown."""

    request_id: int
    topic: bytes
    spans: list[PartitionSpan] = field(default_factory=list)


def decode_discovered_topics(view: memoryview) -> DiscoverTopicsResponse:
    """The answer, of a cluster too."""
    reader = Reader(view, order=Order.LITTLE)
    response = DiscoverTopicsResponse(reader.u32("request id"))
    count, is_cluster = reader.u32("count"), reader.u8("cluster")
    for _ in range(reader.count(count, "count", least_bytes=4)):
        name, enabled = _text(reader), reader.u8("enabled")
        response.topics.append(DiscoveredTopic(name, reader.u16("partitions"), bool(enabled)))
        if is_cluster:
            reader.u8("replicas")
    return response


def encode_discovered_topics(response: DiscoverTopicsResponse) -> list[Buffer]:
    """The answer of a single broker."""
    writer = Writer(order=Order.LITTLE)
    writer.u32(response.request_id)
    writer.u32(len(response.topics))
    writer.u8(0)
    for topic in response.topics:
        _put_text(writer, topic.name)
        writer.u8(topic.is_enabled)
        writer.u16(topic.partition_count)
    return writer.buffers()


def decode_discover_partitions(view: memoryview) -> DiscoverPartitionsRequest:
    """The request, with or without a list."""
    reader = Reader(view, order=Order.LITTLE)
    request = DiscoverPartitionsRequest(reader.u32("request id"), _text(reader))
    # An answer counts them with 16 bits; what is left of the frame could be millions.
    if reader.left > _LISTED_MAX * 2:
        raise BinaryError("partitions", reader.pos, f"{reader.left // 2} of them", f"at most {_LISTED_MAX}")
    while reader.left:
        request.partitions.append(reader.u16("partition"))
    return request


def encode_discover_partitions(request: DiscoverPartitionsRequest) -> list[Buffer]:
    """The request."""
    writer = Writer(order=Order.LITTLE)
    writer.u32(request.request_id)
    _put_text(writer, request.topic)
    for partition in request.partitions:
        writer.u16(partition)
    return writer.buffers()


def decode_discovered_partitions(view: memoryview) -> DiscoverPartitionsResponse:
    """The answer."""
    reader = Reader(view, order=Order.LITTLE)
    response = DiscoverPartitionsResponse(reader.u32("request id"), _text(reader))
    for _ in range(reader.count(reader.u16("count"), "count", least_bytes=16)):
        span = PartitionSpan(reader.u64("first"), reader.u64("last"))
        response.spans.append(span)
        if span.first == span.last == NOWHERE:
            span.reason = reader.u8("reason")
            if span.reason == OTHER_LEADER:
                reader.take(_LEADER_BYTES, "leader")
    return response


def encode_discovered_partitions(response: DiscoverPartitionsResponse) -> list[Buffer]:
    """The answer."""
    writer = Writer(order=Order.LITTLE)
    writer.u32(response.request_id)
    _put_text(writer, response.topic)
    writer.u16(len(response.spans))
    for span in response.spans:
        writer.u64(span.first)
        writer.u64(span.last)
        if span.reason is not None:
            writer.u8(span.reason)
    return writer.buffers()


def _text(reader: Reader) -> bytes:
    return bytes(reader.take(reader.u8("name length"), "name"))


def _put_text(writer: Writer, text: bytes) -> None:
    writer.u8(len(text))
    writer.put(text)

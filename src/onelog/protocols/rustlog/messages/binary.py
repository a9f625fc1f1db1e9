"""What RustLog's published programs send and read: the binary form, which no document describes.

A payload is a byte that says what it is and then the fields, big-endian, in this order. An
answer has its request's byte; that of an Error is FE, that of Ping and Pong FF.
"""

from dataclasses import dataclass
from typing import Final

from onelog.binary.fields import array32, boolean, bytes32, option, text16, text32, u16, u32, u64
from onelog.binary.message import message

# Whatever a name or text says, its length is told in 16 bits.
TEXT_BYTES_MAX: Final = 0xFFFF
# As many empty records as a frame can hold.
_RECORDS_MAX: Final = 10_485_760 // 4


@message()
class Produce:
    """Append records to a partition."""

    topic: str = text16()
    partition: int = u32()
    records: list[bytes] = array32(bytes32())


@message()
class Fetch:
    """Records from an offset on; with a group, from the group's position on, whatever the offset says."""

    group: str = text16()
    topic: str = text16()
    partition: int = u32()
    offset: int = u64()
    max_bytes: int = u32()


@message()
class OffsetCommit:
    """Remember how far a group has read."""

    group: str = text16()
    topic: str = text16()
    partition: int = u32()
    offset: int = u64()


@message()
class OffsetFetch:
    """How far a group has read."""

    group: str = text16()
    topic: str = text16()
    partition: int = u32()


@message()
class CreateTopic:
    """Make a topic."""

    topic: str = text16()
    partition_count: int = u32()


@message()
class ListTopics:
    """Which topics there are."""


@message()
class DescribeTopic:
    """How far the partitions of a topic reach."""

    topic: str = text16()


@message()
class DescribePartition:
    """How far one partition reaches."""

    topic: str = text16()
    partition: int = u32()


@message()
class MetricsFetch:
    """The broker in numbers."""


@message()
class Ping:
    """Whether anybody is there."""


@dataclass(frozen=True)
class Undecodable:
    """Not of the wire: stands for a whole frame that is no request, and is answered in its turn."""

    reason: str


@message()
class Produced:
    """Where the records went."""

    base_offset: int = u64()
    record_count: int = u32()


@message(elements_max=_RECORDS_MAX)
class Fetched:
    """Records without their offsets: the last of them stands before next_offset."""

    records: list[bytes] = array32(bytes32())
    next_offset: int = u64()


@message()
class Committed:
    """Whether the position is kept."""

    success: bool = boolean()


@message()
class Position:
    """The group's position, if it has one."""

    offset: int | None = option(u64())


@message()
class Created:
    """Whether the topic was made."""

    success: bool = boolean()


@message()
class TopicSummary:
    """One topic of a list."""

    name: str = text16()
    partition_count: int = u32()


@message()
class TopicList:
    """All topics."""

    topics: list[TopicSummary] = array32(TopicSummary)


@message()
class PartitionSummary:
    """One partition of a described topic."""

    partition: int = u32()
    high_watermark: int = u64()


@message()
class TopicDescribed:
    """A topic and its partitions."""

    topic: str = text16()
    partition_count: int = u32()
    partitions: list[PartitionSummary] = array32(PartitionSummary)


@message()
class PartitionDescribed:
    """How far one partition reaches."""

    topic: str = text16()
    partition: int = u32()
    high_watermark: int = u64()


@message()
class MetricsText:
    """The broker in numbers, as Prometheus reads them."""

    text: str = text32()


@message()
class Error:
    """Why a request was not granted."""

    code: int = u16()
    message: str = text16()


@message()
class Pong:
    """Somebody is."""

"""Groups: where to begin, how far they have read, and who they are."""

from onelog.binary.fields import array32, i32, i64, text8, text16, u32, u64
from onelog.binary.message import BIG, message
from onelog.protocols.flymq.messages.versions import DOCUMENT, PROGRAMS


@message(byte_order=BIG)
class Subscribe:
    """Where a group is to begin to read; the length of the mode is one byte."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    mode: str = text8()


@message(byte_order=BIG)
class SubscribeByDocument:
    """The same with two bytes, as the document has it."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    mode: str = text16()


@message(byte_order=BIG)
class Commit:
    """How far a group has read: the next offset."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    offset: int = u64()


@message(byte_order=BIG)
class GetOffset:
    """How far a group has read."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()


@message(byte_order=BIG)
class GetLag:
    """How far a group is behind."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()


@message(byte_order=BIG)
class ResetOffset:
    """Move a group's position. Java's client says an offset in every mode."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    mode: str = text8()
    offset: int | None = u64(since=PROGRAMS, default=None)


@message(byte_order=BIG)
class SeekToTimestamp:
    """The first offset at or after a time, kept as the group's position if one is named."""

    topic: str = text16()
    group: str = text16(since=PROGRAMS)
    partition: int = i32()
    timestamp_ms: int = i64()


@message(byte_order=BIG)
class ListGroups:
    """All groups."""


@message(byte_order=BIG)
class DescribeGroup:
    """One group. Go's client sends an empty topic, Java's none."""

    topic: str = text16(since=PROGRAMS)
    group: str = text16()


@message(byte_order=BIG)
class DeleteGroup:
    """Forget a group's positions. The topic as in DescribeGroup."""

    topic: str = text16(since=PROGRAMS)
    group: str = text16()


@message(byte_order=BIG)
class Place:
    """An offset."""

    offset: int = u64()


@message(byte_order=BIG)
class Lag:
    """How far a group has read, and what there is."""

    current: int = u64()
    committed: int = u64()
    latest: int = u64()
    lag: int = u64()


@message(byte_order=BIG)
class PartitionPosition:
    """How far one partition is read."""

    partition: int = i32()
    offset: int = u64()


@message(byte_order=BIG)
class GroupSummary:
    """A group of one topic; a reader that has subscribed counts as a member while it is connected."""

    topic: str = text16()
    group: str = text16()
    member_count: int = u32()
    positions: list[PartitionPosition] = array32(PartitionPosition)


@message(byte_order=BIG)
class Groups:
    """All groups."""

    groups: list[GroupSummary] = array32(GroupSummary)


@message(byte_order=BIG)
class GroupDescribed:
    """One group: as Java's client reads it (0), which names no topic, and as the others do (1)."""

    topic: str = text16(since=PROGRAMS)
    group: str = text16()
    member_count: int = u32(since=PROGRAMS)
    positions: list[PartitionPosition] = array32(PartitionPosition, since=PROGRAMS)
    state: str = text16(until=DOCUMENT)
    members: list[str] = array32(text16(), until=DOCUMENT)
    topics: list[str] = array32(text16(), until=DOCUMENT)
    coordinator: str = text16(until=DOCUMENT)

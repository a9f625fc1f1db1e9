"""Topics: made, removed, listed, and where their partitions begin and end."""

from onelog.binary.fields import array32, boolean, i32, text16, u64
from onelog.binary.message import BIG, message
from onelog.protocols.flymq.messages.versions import PROGRAMS


@message(byte_order=BIG)
class CreateTopic:
    """A topic, unless it is there."""

    topic: str = text16()
    partitions: int = i32()


@message(byte_order=BIG)
class DeleteTopic:
    """No such topic any more."""

    topic: str = text16()


@message(byte_order=BIG)
class ListTopics:
    """The names of all topics."""


@message(byte_order=BIG)
class Metadata:
    """Where the partitions of a topic begin and end."""

    topic: str = text16()


@message(byte_order=BIG)
class Done:
    """It is done. The programs read the first byte; the text is what the document has behind it."""

    success: bool = boolean()
    text: str = text16(since=PROGRAMS)


@message(byte_order=BIG)
class PartitionEnds:
    """Where one partition begins and ends; the end is exclusive."""

    partition: int = i32()
    leader_id: int = i32()
    oldest: int = u64()
    newest: int = u64()


@message(byte_order=BIG)
class TopicMetadata:
    """The partitions of a topic."""

    topic: str = text16()
    partitions: list[PartitionEnds] = array32(PartitionEnds)


@message(byte_order=BIG)
class TopicNames:
    """Topics, in order."""

    topics: list[str] = array32(text16())

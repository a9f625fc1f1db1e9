"""What consumers tell each other through their group: subscription and assignment.

Both are behind an INT16 version of their own inside bytes that a broker hands on unread, but
for the topics at the head of a subscription: it has to know whether a topic is still read.
"""

from onelog.binary.errors import BinaryError
from onelog.binary.fields import array32, bytes32, i16, i32, text16
from onelog.binary.message import SIGNED, codec, message

VERSION_MAX = 3


@message()
class TopicPartition:
    topic: str = text16()
    partitions: list[int] = array32(i32())


@message(lengths=SIGNED)
class ConsumerProtocolSubscription:
    """What a member wants to read, and what it has so far."""

    topics: list[str] = array32(text16())
    user_data: bytes | None = bytes32(nullable=True)
    owned_partitions: list[TopicPartition] = array32(TopicPartition, since=1)
    generation_id: int = i32(since=2, default=-1)
    rack_id: str | None = text16(nullable=True, since=3)


@message(lengths=SIGNED)
class ConsumerProtocolAssignment:
    """What a member is to read."""

    assigned_partitions: list[TopicPartition] = array32(TopicPartition)
    user_data: bytes | None = bytes32(nullable=True)


@message(lengths=SIGNED)
class SubscriptionHead:
    """The part of a subscription that is the same in all versions."""

    version: int = i16()
    topics: list[str] = array32(text16())


def topics_of(metadata: bytes) -> frozenset[str] | None:
    """The topics of a subscription; None where it is not one."""
    try:
        head, _ = codec(SubscriptionHead).decode(metadata)
    except BinaryError:
        return None
    return frozenset(head.topics)

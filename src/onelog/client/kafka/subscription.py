"""What members of a group tell each other: what they want, what they hold, and what they are given.

The bytes are Kafka's consumer protocol, the same for all clients, so that members of different
make share a group. A version of its own leads each message:

    version i16 | body                 newer versions only add fields behind the older ones
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.client.errors import BadAnswer
from onelog.protocols.kafka.messages.consumer_protocol import (
    VERSION_MAX,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)

Place = tuple[str, int]

PROTOCOL_TYPE = "consumer"
# With what is held since 1, and since which generation from 2 on. Clients that know less read the
# beginning.
SUBSCRIPTION_VERSION = 2
ASSIGNMENT_VERSION = 0
NO_GENERATION = -1

_VERSION = struct.Struct(">h")


@dataclass(frozen=True)
class Subscription:
    """What a member wants, and what it holds since when."""

    topics: frozenset[str]
    owned: frozenset[Place] = frozenset()
    generation: int = NO_GENERATION


def subscription_bytes(subscription: Subscription) -> bytes:
    """As the member sends it when it joins."""
    body = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=None,
        owned_partitions=_grouped(subscription.owned),
        generation_id=subscription.generation,
    )
    coded = codec(ConsumerProtocolSubscription, SUBSCRIPTION_VERSION).encode_bytes(body)
    return _VERSION.pack(SUBSCRIPTION_VERSION) + coded


def subscription_of(data: bytes, *, where: str) -> Subscription:
    """What another member wants. BadAnswer when it cannot be read."""
    try:
        body, _ = codec(ConsumerProtocolSubscription, _version(data)).decode(data, _VERSION.size)
    except BinaryError as error:
        raise BadAnswer(f"{where}: a subscription that cannot be read: {error}.") from error
    return Subscription(frozenset(body.topics), _places(body.owned_partitions), body.generation_id)


def assignment_bytes(places: Iterable[Place]) -> bytes:
    """As the leader sends it for one member."""
    body = ConsumerProtocolAssignment(assigned_partitions=_grouped(places), user_data=None)
    coded = codec(ConsumerProtocolAssignment, ASSIGNMENT_VERSION).encode_bytes(body)
    return _VERSION.pack(ASSIGNMENT_VERSION) + coded


def assignment_of(data: bytes, *, where: str) -> frozenset[Place]:
    """What a member is given; nothing where there are no bytes."""
    if not data:
        return frozenset()
    try:
        body, _ = codec(ConsumerProtocolAssignment, _version(data)).decode(data, _VERSION.size)
    except BinaryError as error:
        raise BadAnswer(f"{where}: an assignment that cannot be read: {error}.") from error
    return _places(body.assigned_partitions)


def _version(data: bytes) -> int:
    # What has no room for a version has none for a body, which is told better.
    found = int.from_bytes(data[: _VERSION.size], "big", signed=True)
    return max(0, min(found, VERSION_MAX))


def _grouped(places: Iterable[Place]) -> list[TopicPartition]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        by_topic.setdefault(topic, []).append(partition)
    return [TopicPartition(topic=topic, partitions=some) for topic, some in by_topic.items()]


def _places(grouped: Iterable[TopicPartition]) -> frozenset[Place]:
    return frozenset((each.topic, partition) for each in grouped for partition in each.partitions)

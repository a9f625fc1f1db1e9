"""What members of a group tell each other: what they want, what they hold, and what they are given.

The bytes are Kafka's consumer protocol, the same for all clients, so that members of different
make share a group. A version of its own leads each of the two messages:

    version i16 | body                 newer versions only add fields behind the older ones
"""

from collections.abc import Iterable
from dataclasses import dataclass

from onelog.binary.errors import BinaryError
from onelog.binary.fields import array32, bytes32, i16, i32, text16
from onelog.binary.message import SIGNED, codec, message
from onelog.client.errors import BadAnswer

Place = tuple[str, int]

PROTOCOL_TYPE = "consumer"
# With what is held since 1, and since which generation from 2 on. Clients that know less read the
# beginning.
SUBSCRIPTION_VERSION = 2
ASSIGNMENT_VERSION = 0
VERSION_BYTES = 2
NO_GENERATION = -1


@dataclass(frozen=True)
class Subscription:
    """What a member wants, and what it holds since when."""

    topics: frozenset[str]
    owned: frozenset[Place] = frozenset()
    generation: int = NO_GENERATION


@message()
class _Partitions:
    topic: str = text16()
    partitions: list[int] = array32(i32())


@message(lengths=SIGNED)
class _Subscription:
    topics: list[str] = array32(text16())
    user_data: bytes | None = bytes32(nullable=True)
    owned_partitions: list[_Partitions] = array32(_Partitions, since=1)
    generation_id: int = i32(since=2, default=NO_GENERATION)


@message(lengths=SIGNED)
class _Assignment:
    assigned_partitions: list[_Partitions] = array32(_Partitions)
    user_data: bytes | None = bytes32(nullable=True)


@message(lengths=SIGNED)
class _Version:
    version: int = i16()


def subscription_bytes(subscription: Subscription) -> bytes:
    """As the member sends it when it joins."""
    body = _Subscription(
        topics=sorted(subscription.topics),
        user_data=None,
        owned_partitions=_grouped(subscription.owned),
        generation_id=subscription.generation,
    )
    version = SUBSCRIPTION_VERSION
    return _leading(version) + codec(_Subscription, version).encode_bytes(body)


def subscription_of(data: bytes, *, where: str) -> Subscription:
    """What another member wants. BadAnswer when it cannot be read."""
    try:
        version = _version_of(data, at_most=SUBSCRIPTION_VERSION)
        body, _ = codec(_Subscription, version).decode(data, VERSION_BYTES)
    except BinaryError as error:
        raise BadAnswer(f"{where}: a subscription that cannot be read: {error}") from error
    return Subscription(frozenset(body.topics), _places(body.owned_partitions), body.generation_id)


def assignment_bytes(places: Iterable[Place]) -> bytes:
    """As the leader sends it for one member."""
    body = _Assignment(assigned_partitions=_grouped(places), user_data=None)
    return _leading(ASSIGNMENT_VERSION) + codec(_Assignment, ASSIGNMENT_VERSION).encode_bytes(body)


def assignment_of(data: bytes, *, where: str) -> frozenset[Place]:
    """What a member is given; nothing where there are no bytes."""
    if not data:
        return frozenset()
    try:
        version = _version_of(data, at_most=ASSIGNMENT_VERSION)
        body, _ = codec(_Assignment, version).decode(data, VERSION_BYTES)
    except BinaryError as error:
        raise BadAnswer(f"{where}: an assignment that cannot be read: {error}") from error
    return _places(body.assigned_partitions)


def _leading(version: int) -> bytes:
    return codec(_Version, 0).encode_bytes(_Version(version=version))


def _version_of(data: bytes, *, at_most: int) -> int:
    found, _ = codec(_Version, 0).decode(data)
    return max(0, min(found.version, at_most))


def _grouped(places: Iterable[Place]) -> list[_Partitions]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        by_topic.setdefault(topic, []).append(partition)
    return [_Partitions(topic=topic, partitions=some) for topic, some in by_topic.items()]


def _places(grouped: Iterable[_Partitions]) -> frozenset[Place]:
    return frozenset((each.topic, partition) for each in grouped for partition in each.partitions)

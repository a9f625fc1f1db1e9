"""Which topics there are: what may be changed, and what a change does. Pure.

A decision is made against everything decided before it, durable or not. Who may see a
topic, and when, is the service's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from onelog.broker.topics.settings import altered, changed
from onelog.broker.values import SettingChange, Topic
from onelog.errors import InvalidName, InvalidPartitions, TopicExists, UnknownTopic, UnknownTopicId
from onelog.model import TopicId, TopicName, topic_name

RESERVED_NAMES: Mapping[str, str] = {
    "__consumer_offsets": "Kafka",
    "__transaction_state": "Kafka",
    "__share_group_state": "Kafka",
    "consumer-offset": "Fluvio",
}


@dataclass(frozen=True, slots=True)
class Create:
    """Make a topic under an id that nobody had before."""

    id: TopicId
    name: str
    partition_count: int
    settings: Mapping[str, str | None]
    notes: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a topic, said by its name or its id."""

    topic: str | UUID


@dataclass(frozen=True, slots=True)
class Alter:
    """Change settings. replaces: it has no others of its own afterwards."""

    name: str
    changes: Mapping[str, SettingChange]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Grow:
    """Add partitions, up to a higher count."""

    name: str
    partition_count: int


Command = Create | Delete | Alter | Grow


@dataclass(frozen=True, slots=True)
class Created:
    """A topic is there."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class Deleted:
    """A topic is gone; its id is not forgotten before its files are."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class Altered:
    """A topic has other settings."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class Grown:
    """A topic has more partitions; the first new one is named."""

    topic: Topic
    first_new: int


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Nothing is left of a deleted topic."""

    id: TopicId


Change = Created | Deleted | Altered | Grown | Forgotten


@dataclass
class TopicsState:
    """All topics as decided. Owned by the service; changed by apply alone."""

    by_name: dict[str, Topic] = field(default_factory=dict)
    by_id: dict[TopicId, Topic] = field(default_factory=dict)
    removed: dict[TopicId, TopicName] = field(default_factory=dict)
    by_folded: dict[str, str] = field(default_factory=dict)


def decide(state: TopicsState, command: Command, *, partition_count_max: int) -> tuple[Change, Topic]:
    """What the command does, and the topic as it is then; or a OnelogError."""
    match command:
        case Create():
            return _create(state, command, partition_count_max)
        case Delete():
            topic = _deleted(state, command.topic)
            return Deleted(topic), topic
        case Alter():
            topic = _known(state, command.name)
            settings = altered(topic.settings, command.changes, replaces=command.replaces)
            topic = replace(topic, settings=settings)
            return Altered(topic), topic
        case Grow():
            return _grow(state, command, partition_count_max)


def apply(state: TopicsState, change: Change) -> None:
    """Make the change true in memory."""
    match change:
        case Created(topic) | Altered(topic) | Grown(topic, _):
            state.by_name[topic.name] = topic
            state.by_id[topic.id] = topic
            state.by_folded[_folded(topic.name)] = topic.name
        case Deleted(topic):
            del state.by_name[topic.name]
            del state.by_id[topic.id]
            del state.by_folded[_folded(topic.name)]
            state.removed[topic.id] = topic.name
        case Forgotten(id):
            state.removed.pop(id, None)


def _create(state: TopicsState, command: Create, count_max: int) -> tuple[Change, Topic]:
    name = topic_name(command.name)
    if name in RESERVED_NAMES:
        raise InvalidName(name=name, reason=f"{RESERVED_NAMES[name]} keeps this name for itself")
    other = state.by_folded.get(_folded(name))
    if other == name:
        raise TopicExists(topic=name, partition_count=state.by_name[name].partition_count)
    if other is not None:
        # Kafka's metrics spell "." as "_", so it keeps the two apart by allowing only one of them.
        raise InvalidName(name=name, reason=f"it differs from the topic {other!r} only in . and _")
    if not 1 <= command.partition_count <= count_max:
        raise InvalidPartitions(topic=name, found=command.partition_count, expected=f"1 to {count_max}")
    settings = changed({}, command.settings)
    topic = Topic(name, command.id, command.partition_count, settings, command.notes)
    return Created(topic), topic


def _grow(state: TopicsState, command: Grow, count_max: int) -> tuple[Change, Topic]:
    topic = _known(state, command.name)
    if not topic.partition_count < command.partition_count <= count_max:
        expected = f"{topic.partition_count + 1} to {count_max}: it has {topic.partition_count}"
        raise InvalidPartitions(topic=topic.name, found=command.partition_count, expected=expected)
    grown = replace(topic, partition_count=command.partition_count)
    return Grown(grown, topic.partition_count), grown


def _known(state: TopicsState, name: str) -> Topic:
    topic = state.by_name.get(name)
    if topic is None:
        raise UnknownTopic(topic=name)
    return topic


def _deleted(state: TopicsState, topic: str | UUID) -> Topic:
    if isinstance(topic, str):
        return _known(state, topic)
    found = state.by_id.get(topic)
    if found is None:
        raise UnknownTopicId(topic_id=str(topic))
    return found


def _folded(name: str) -> str:
    return name.replace(".", "_")

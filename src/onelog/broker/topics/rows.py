"""Topics as rows: what of a change lasts, and the topics that the rows say.

topics          id, name, partition_count
topic_settings  topic_id, name, value            own settings only
topic_notes     topic_id, dialect, note          what a dialect wants back as it was given
partitions      topic_id, partition, log_start, leader_epoch
removed_topics  id, name                         deleted, files perhaps still there
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from onelog.broker.topics.state import Altered, Change, Created, Deleted, Forgotten, Grown, TopicsState, apply
from onelog.broker.values import Topic
from onelog.model import TopicId, TopicName

Statement = tuple[str, tuple[Any, ...]]

TABLES = (
    """
    CREATE TABLE topics (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, partition_count INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE topic_settings (
        topic_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (topic_id, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE partitions (
        topic_id TEXT NOT NULL, partition INTEGER NOT NULL,
        log_start INTEGER NOT NULL, leader_epoch INTEGER NOT NULL,
        PRIMARY KEY (topic_id, partition)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE removed_topics (id TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID",
)

NOTES = (
    """
    CREATE TABLE topic_notes (
        topic_id TEXT NOT NULL, dialect TEXT NOT NULL, note BLOB NOT NULL,
        PRIMARY KEY (topic_id, dialect)
    ) WITHOUT ROWID
    """,
)

_ADD_NOTE = "INSERT INTO topic_notes VALUES (?, ?, ?)"
_ADD_SETTING = "INSERT INTO topic_settings VALUES (?, ?, ?)"
_ADD_PARTITION = "INSERT INTO partitions VALUES (?, ?, 0, 0)"


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """What the catalog knows of a partition."""

    log_start: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything about topics, as the rows say at the start."""

    state: TopicsState
    partitions: dict[tuple[TopicId, int], PartitionRow]


def statements(change: Change) -> list[Statement]:
    """The change as rows."""
    match change:
        case Created(topic):
            return [
                ("INSERT INTO topics VALUES (?, ?, ?)", (str(topic.id), topic.name, topic.partition_count)),
                *_settings(topic),
                *((_ADD_NOTE, (str(topic.id), *note)) for note in sorted(topic.notes.items())),
                *_partitions(topic, 0),
            ]
        case Altered(topic):
            return [("DELETE FROM topic_settings WHERE topic_id = ?", (str(topic.id),)), *_settings(topic)]
        case Grown(topic, first_new):
            count = (
                "UPDATE topics SET partition_count = ? WHERE id = ?",
                (topic.partition_count, str(topic.id)),
            )
            return [count, *_partitions(topic, first_new)]
        case Deleted(topic):
            only = (str(topic.id),)
            return [
                ("DELETE FROM topics WHERE id = ?", only),
                ("DELETE FROM topic_settings WHERE topic_id = ?", only),
                ("DELETE FROM topic_notes WHERE topic_id = ?", only),
                ("DELETE FROM partitions WHERE topic_id = ?", only),
                ("INSERT INTO removed_topics VALUES (?, ?)", (str(topic.id), topic.name)),
            ]
        case Forgotten(id):
            return [("DELETE FROM removed_topics WHERE id = ?", (str(id),))]


def start_raised(id: TopicId, partition: int, start: int) -> Statement:
    """A log begins later than before."""
    return (
        "UPDATE partitions SET log_start = ? WHERE topic_id = ? AND partition = ?",
        (start, str(id), partition),
    )


def epoch_raised(id: TopicId, partition: int, leader_epoch: int) -> Statement:
    """Clients are to notice that a log may have lost records."""
    return (
        "UPDATE partitions SET leader_epoch = ? WHERE topic_id = ? AND partition = ?",
        (leader_epoch, str(id), partition),
    )


def load(rows: Callable[[str], list[tuple[Any, ...]]]) -> Loaded:
    """The topics that the rows say."""
    own: dict[str, dict[str, str]] = {}
    for topic_id, name, value in rows("SELECT topic_id, name, value FROM topic_settings"):
        own.setdefault(topic_id, {})[name] = value
    notes: dict[str, dict[str, bytes]] = {}
    for topic_id, dialect, note in rows("SELECT topic_id, dialect, note FROM topic_notes"):
        notes.setdefault(topic_id, {})[dialect] = note
    state = TopicsState()
    for topic_id, name, count in rows("SELECT id, name, partition_count FROM topics"):
        topic = Topic(TopicName(name), UUID(topic_id), count, own.get(topic_id, {}), notes.get(topic_id, {}))
        apply(state, Created(topic))
    for topic_id, name in rows("SELECT id, name FROM removed_topics"):
        state.removed[UUID(topic_id)] = TopicName(name)
    partitions = {
        (UUID(topic_id), partition): PartitionRow(start, epoch)
        for topic_id, partition, start, epoch in rows(
            "SELECT topic_id, partition, log_start, leader_epoch FROM partitions"
        )
    }
    return Loaded(state, partitions)


def _settings(topic: Topic) -> list[Statement]:
    return [(_ADD_SETTING, (str(topic.id), name, value)) for name, value in sorted(topic.settings.items())]


def _partitions(topic: Topic, first: int) -> list[Statement]:
    return [(_ADD_PARTITION, (str(topic.id), partition)) for partition in range(first, topic.partition_count)]

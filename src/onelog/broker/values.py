"""What is asked of the broker and what it answers: plain values, no behaviour.

Dialects get them from broker.py, which names them again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from onelog.model import TopicName
from onelog.records.batch import Batch
from onelog.storage.log import Marks


class Spot(Enum):
    """A place in a log that is not a number."""

    EARLIEST = "earliest"
    LATEST = "latest"
    MAX_TIMESTAMP = "max_timestamp"
    FIRST_RECORD = "first_record"
    """Of the first record that is there, which may stand behind the start: a log may begin with a hole."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it stands. Its settings are its own ones only.

    notes: by dialect, what it wants back as it was given when the topic was made, in its own bytes.
    Nobody else reads it, and nothing follows from it.
    """

    name: TopicName
    id: UUID
    partition_count: int
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic that is served from now on, or looks different, or is gone."""

    before: Topic | None
    after: Topic | None


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be made. No count: the broker's default. A setting of None: its default."""

    name: str
    partition_count: int | None = None
    settings: Mapping[str, str | None] = field(default_factory=dict)
    notes: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListChange:
    """Words, separated by commas, that are added to a list or taken from it, whatever it holds by then."""

    added: str = ""
    removed: str = ""


# What becomes of a setting; None brings its default back.
SettingChange = str | ListChange | None


@dataclass(frozen=True, slots=True)
class AlterTopic:
    """Settings to be changed. replaces: what is not named gets its default."""

    name: str
    changes: Mapping[str, SettingChange]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class SettingValue:
    """One setting of one topic. kind is one of boolean, string, int, long, double, list."""

    name: str
    value: str
    default: str
    kind: str
    is_own: bool
    doc: str


@dataclass(slots=True)
class Append:
    """Batches for one partition: appended in order, all of them or none."""

    topic: TopicName
    partition: int
    batches: Sequence[Batch]


@dataclass(frozen=True, slots=True)
class ProduceRules:
    """What holds for this producer. kafka_rules: what Kafka refuses of Kafka's producers only."""

    dialect: str
    batch_bytes_max: int
    kafka_rules: bool = False


class AppendResult(NamedTuple):
    """Where the records are: first to end (exclusive). timestamp_ms: the log's, or -1 if the records kept theirs."""

    first: int
    end: int
    timestamp_ms: int
    log_start: int


@dataclass(slots=True)
class Read:
    """From where, and how much at most, of one partition. leader_epoch -1: not checked."""

    topic: TopicName
    partition: int
    offset: int
    bytes_max: int
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Aborted:
    """A transaction that was undone: its producer, where its records begin, and where its marker stands."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class ReadResult:
    """Whole batches; the first may begin before the offset asked for. offset_next: where reading goes on."""

    batches: list[Batch]
    marks: Marks
    leader_epoch: int
    offset_next: int
    aborted: Sequence[Aborted] = ()

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(batch.size for batch in self.batches)


class OffsetAt(NamedTuple):
    """An offset, the timestamp of its record where one was looked for, and its epoch; all -1: no such record."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    """One partition as it stands. segment_count counts the active segment.

    offset_next is what the next record gets: what was appended and is not durable yet is below it.
    """

    start: int
    high_watermark: int
    stable: int
    offset_next: int
    leader_epoch: int
    segment_count: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DirectoryInfo:
    """Where all logs are, and how much fits in beside them."""

    path: str
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Commit:
    """How far a group has read one partition: the next offset that it wants.

    keep_ms: how long it is to be kept, whatever else is done with the group; None: as the broker says.
    """

    topic: TopicName
    partition: int
    offset: int
    leader_epoch: int = -1
    note: str = ""
    keep_ms: int | None = None


class Position(NamedTuple):
    """A commit as it is remembered."""

    offset: int
    leader_epoch: int = -1
    note: str = ""

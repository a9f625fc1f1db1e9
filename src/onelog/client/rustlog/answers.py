"""What a RustLog broker answered, whichever form it was said in. None: the binary form does not tell."""

from collections.abc import Sequence
from typing import NamedTuple

from onelog.protocols.rustlog.messages.json import MetricsData, TopicSummary


class Produced(NamedTuple):
    """Where records went: offset to offset_end, exclusive."""

    offset: int
    offset_end: int


class FetchedRecord(NamedTuple):
    """One record; its timestamp is in microseconds."""

    offset: int
    timestamp: int | None
    payload: bytes


class Fetched(NamedTuple):
    """Records in order of their offsets, and where to go on."""

    records: Sequence[FetchedRecord]
    next_offset: int


class Committed(NamedTuple):
    """Whether a position was taken."""

    success: bool


class Position(NamedTuple):
    """A group's position, if it has one."""

    offset: int | None


class Created(NamedTuple):
    """How many partitions the new topic has, where that is told."""

    partition_count: int | None


class Topics(NamedTuple):
    """Every topic."""

    topics: list[TopicSummary]


class PartitionState(NamedTuple):
    """How far one partition reaches."""

    partition: int
    high_watermark: int
    log_start_offset: int | None = None
    segment_count: int | None = None


class Described(NamedTuple):
    """Partitions of a topic."""

    partitions: list[PartitionState]


class Metrics(NamedTuple):
    """The broker in numbers: as Prometheus' text, and typed where they are told so."""

    prometheus: str
    data: MetricsData | None


class Pong(NamedTuple):
    """Somebody is there."""


Answer = Produced | Fetched | Committed | Position | Created | Topics | Described | Metrics | Pong

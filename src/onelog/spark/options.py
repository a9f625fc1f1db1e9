"""Options of the source and the sink: the words of Spark's Kafka source, typed, refused kindly.

An option that is not known is refused with the nearest one that is; one that Spark's own source
has and this one does not have yet is refused by its name. Defaults stand here and nowhere else.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from onelog.model import Isolation
from onelog.spark.offsets import EARLIEST, LATEST, Offsets, OffsetsError, Place, parse, parse_assignment


class OptionsError(ValueError):
    """An option that cannot be: its name, what was found, what was expected."""


class Spot(Enum):
    """An end of the log."""

    EARLIEST = "earliest"
    LATEST = "latest"


Position = Spot | Offsets

SOURCE_OPTIONS = (
    "kafka.bootstrap.servers",
    "kafka.client.id",
    "kafka.isolation.level",
    "subscribe",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "failOnDataLoss",
    "maxOffsetsPerTrigger",
    "includeHeaders",
)
SINK_OPTIONS = (
    "kafka.bootstrap.servers",
    "kafka.client.id",
    "kafka.compression.type",
    "topic",
    "checkpointLocation",
)
LATER = (
    "subscribePattern",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxBytesPerTrigger",
    "groupIdPrefix",
    "kafka.group.id",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "columns",
    "isolation",
)


@dataclass(frozen=True)
class SourceOptions:
    """What is read, from where to where."""

    bootstrap: str
    topics: tuple[str, ...]
    assigned: tuple[Place, ...]
    starting: Position
    ending: Position
    fail_on_data_loss: bool
    rows_max: int | None
    include_headers: bool
    isolation: Isolation
    client_id: str


@dataclass(frozen=True)
class SinkOptions:
    """Where rows are written to."""

    bootstrap: str
    topic: str | None
    compression: str
    client_id: str


def source_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """Typed options of a read, or OptionsError."""
    given = _known(options, SOURCE_OPTIONS)
    topics, assigned = _chosen(given)
    rows = given.get("maxoffsetspertrigger")
    if streaming and "endingoffsets" in given:
        raise OptionsError("endingOffsets: a stream has no end; expected only in a batch read. Remove it.")
    return SourceOptions(
        bootstrap=_required(given, "kafka.bootstrap.servers", "HOST:PORT"),
        topics=topics,
        assigned=assigned,
        starting=_position(
            given, "startingOffsets", Spot.LATEST if streaming else Spot.EARLIEST, (EARLIEST, LATEST)
        ),
        ending=_position(given, "endingOffsets", Spot.LATEST, (LATEST,)),
        fail_on_data_loss=_truth(given, "failOnDataLoss", default=True),
        rows_max=None if rows is None else _count("maxOffsetsPerTrigger", rows),
        include_headers=_truth(given, "includeHeaders", default=False),
        isolation=_isolation(given.get("kafka.isolation.level", "read_uncommitted")),
        client_id=given.get("kafka.client.id", "onelog-spark"),
    )


def includes_headers(options: Mapping[str, str]) -> bool:
    """Whether the schema has headers; asked before anything else is."""
    return _truth(_known(options, SOURCE_OPTIONS), "includeHeaders", default=False)


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Typed options of a write, or OptionsError."""
    given = _known(options, SINK_OPTIONS)
    compression = given.get("kafka.compression.type", "none")
    if compression not in ("none", "gzip", "snappy", "lz4", "zstd"):
        raise OptionsError(
            f"kafka.compression.type = {compression!r}; expected none, gzip, snappy, lz4 or zstd."
        )
    return SinkOptions(
        bootstrap=_required(given, "kafka.bootstrap.servers", "HOST:PORT"),
        topic=given.get("topic"),
        compression=compression,
        client_id=given.get("kafka.client.id", "onelog-spark"),
    )


def _known(options: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    # Spark hands options over in lower case; people know them as they are spelled.
    spelled = {name.lower(): name for name in names}
    later = {name.lower(): name for name in LATER}
    given: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() in spelled:
            given[name.lower()] = value
        elif name.lower() in later:
            raise OptionsError(
                f"option {later[name.lower()]}: not supported yet. Remove it, or use format('kafka')."
            )
        else:
            close = difflib.get_close_matches(name.lower(), spelled, n=1, cutoff=0.5)
            hint = f"did you mean {spelled[close[0]]}?" if close else f"known are {', '.join(names)}."
            raise OptionsError(f"option {name} is not known; {hint}")
    return given


def _chosen(given: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[Place, ...]]:
    if ("subscribe" in given) == ("assign" in given):
        raise OptionsError(
            'expected exactly one of subscribe ("topic,topic") and assign ({"topic": [0, 1]}).'
        )
    if "assign" in given:
        try:
            places = parse_assignment(given["assign"], what="assign")
        except OffsetsError as error:
            raise OptionsError(f"{error}.") from None
        return (), tuple(places)
    topics = tuple(sorted({t.strip() for t in given["subscribe"].split(",") if t.strip()}))
    if not topics:
        raise OptionsError(
            f"subscribe = {given['subscribe']!r}; expected names of topics, separated by commas."
        )
    return topics, ()


def _position(given: Mapping[str, str], name: str, default: Spot, allowed: tuple[int, ...]) -> Position:
    text = given.get(name.lower())
    if text is None:
        return default
    words = {"earliest": EARLIEST, "latest": LATEST}
    if text.lower() in words:
        if words[text.lower()] not in allowed:
            raise OptionsError(f"{name} = {text!r}; expected latest, or offsets as JSON.")
        return Spot(text.lower())
    if not text.lstrip().startswith("{"):
        known = " or ".join(word for word, at in words.items() if at in allowed)
        raise OptionsError(
            f'{name} = {text!r}; expected {known}, or offsets as JSON: {{"topic": {{"0": 23}}}}.'
        )
    try:
        return parse(text, what=name, allowed=allowed)
    except OffsetsError as error:
        raise OptionsError(f"{error}.") from None


def _required(given: Mapping[str, str], name: str, form: str) -> str:
    if not given.get(name):
        raise OptionsError(f"option {name} is missing; expected {form}.")
    return given[name]


def _truth(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name.lower())
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise OptionsError(f"{name} = {text!r}; expected true or false.")
    return text.lower() == "true"


def _count(name: str, text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise OptionsError(f"{name} = {text!r}; expected a whole number above 0.")
    return int(text)


def _isolation(text: str) -> Isolation:
    try:
        return Isolation[text.upper()]
    except KeyError:
        raise OptionsError(
            f"kafka.isolation.level = {text!r}; expected read_uncommitted or read_committed."
        ) from None

"""What a flow is: topics, a schema, expectations, steps, a watermark and a sink.

Said in Python as values; flow_file.py reads the same from TOML. Each value refuses what cannot
be as soon as it is made, so that whoever runs a flow never asks again. Knows no Spark.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from onelog.errors import InvalidName
from onelog.model import topic_name
from onelog.pipeline.errors import FlowError

BOOTSTRAP = "127.0.0.1:9092"
TRIGGER = "1 second"
MASTER = "local[*]"
DEAD_LETTERS = "/dead_letters"
# So that a long way to catch up is gone in steps: each is on record, and seen by who watches.
RECORDS_PER_BATCH_MAX = 1_000_000

# Part of file names and of the application id, so nothing that needs quoting anywhere.
_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}")

# A span of time as Spark reads it. What it cannot read it tells in a page, or not at all.
_SPAN = re.compile(
    r"\s*(interval\s+)?"
    r"((\d{1,9}(\.\d{1,6})?\s+seconds?|\d{1,9}\s+(microsecond|millisecond|minute|hour|day|week)s?)\s*)+",
    re.IGNORECASE,
)

Step = str | Callable[[Any], Any]
"""SQL text over the view `input`, or a function from DataFrame to DataFrame."""


class Otherwise(Enum):
    """What becomes of a record that does not keep a rule."""

    DROP = "drop"
    DEAD_LETTER = "dead_letter"
    FAIL = "fail"


class Mode(Enum):
    """How a batch enters the table."""

    APPEND = "append"
    UPSERT = "upsert"


class Start(Enum):
    """Where a flow begins that has landed nothing yet."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True)
class Expect:
    """A rule in Spark's SQL; a record for which it is not true takes the other way."""

    rule: str
    otherwise: Otherwise = Otherwise.DEAD_LETTER

    def __post_init__(self) -> None:
        if not self.rule.strip():
            raise FlowError("expect: the rule is empty; expected a condition in SQL, as in 'cents >= 0'.")


@dataclass(frozen=True)
class Watermark:
    """How late a record may be before the state about its time is dropped."""

    column: str
    delay: str

    def __post_init__(self) -> None:
        _refuse_no_span("watermark: delay", self.delay)


@dataclass(frozen=True)
class DeltaSink:
    """A Delta table in a folder. Upsert needs the columns that tell rows apart."""

    path: str
    mode: Mode = Mode.APPEND
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.path or "://" in self.path:
            raise FlowError(f"sink: delta = {self.path!r}; expected the path of a folder.")
        if self.mode is Mode.UPSERT and not self.key:
            raise FlowError("sink: mode 'upsert' needs a key; expected key = [\"column\", …].")
        if self.mode is Mode.APPEND and self.key:
            raise FlowError("sink: a key is for mode 'upsert'; take it out, or say mode = \"upsert\".")

    @property
    def dead_letters_path(self) -> str:
        """The table beside this one that takes what was refused."""
        return self.path.rstrip("/") + "_dead_letters"


@dataclass(frozen=True)
class Flow:
    """One query: from topics to a table."""

    name: str
    topics: tuple[str, ...]
    sink: DeltaSink
    schema: str | None = None
    malformed: Otherwise = Otherwise.DEAD_LETTER
    expect: tuple[Expect, ...] = ()
    steps: tuple[Step, ...] = ()
    watermark: Watermark | None = None
    start: Start = Start.EARLIEST
    records_per_batch_max: int = RECORDS_PER_BATCH_MAX
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        where = f"flow {self.name!r}"
        if _NAME.fullmatch(self.name) is None:
            raise FlowError(f"{where}: expected a name of 1 to 100 of a-z A-Z 0-9 _ -.")
        if not self.topics:
            raise FlowError(f'{where}: no topics; expected topics = ["name", …].')
        for topic in self.topics:
            try:
                topic_name(topic)
            except InvalidName as error:
                raise FlowError(f"{where}: {error}") from None
        if len(set(self.topics)) != len(self.topics):
            raise FlowError(f"{where}: a topic is named twice in {list(self.topics)}.")
        if self.records_per_batch_max < 1:
            raise FlowError(
                f"{where}: records_per_batch_max = {self.records_per_batch_max}; expected 1 or more."
            )

    @property
    def is_landing(self) -> bool:
        """Every record becomes one row, unchanged: the table can be proved equal to the log."""
        is_plain = self.schema is None and not self.expect and not self.steps
        return is_plain and self.sink.mode is Mode.APPEND

    @property
    def has_dead_letters(self) -> bool:
        """Some record could take that way."""
        ways = [e.otherwise for e in self.expect]
        if self.schema is not None:
            ways.append(self.malformed)
        return Otherwise.DEAD_LETTER in ways

    @property
    def app_id(self) -> str:
        """Whose batches these are, in the table's commits. The same after every restart."""
        return f"onelog/{self.name}"

    @property
    def dead_letters_app_id(self) -> str:
        """The same for the table of its dead letters, which has gaps where there were none."""
        return f"{self.app_id}{DEAD_LETTERS}"

    @property
    def checkpoint_path(self) -> str:
        """Where Spark notes its progress. Beside the table, so that both go and stay together."""
        return self.checkpoint or f"{self.sink.path.rstrip('/')}/_onelog/checkpoint"


@dataclass(frozen=True)
class Pipeline:
    """Flows that run in one session, and how."""

    flows: tuple[Flow, ...]
    bootstrap: str = BOOTSTRAP
    trigger: str = TRIGGER
    master: str = MASTER
    conf: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.flows:
            raise FlowError("the pipeline has no flow; expected at least one [[flow]].")
        _refuse_no_span("trigger", self.trigger)
        _refuse_repeats("name", [flow.name for flow in self.flows])
        _refuse_repeats("table", [flow.sink.path.rstrip("/") for flow in self.flows])
        _refuse_repeats("checkpoint", [flow.checkpoint_path.rstrip("/") for flow in self.flows])


def landing(topic: str, path: str) -> Flow:
    """The flow that puts every record of a topic into a table, as it is."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"land_{topic}")[:100]
    return Flow(name=name, topics=(topic,), sink=DeltaSink(path))


def _refuse_no_span(what: str, text: str) -> None:
    if _SPAN.fullmatch(text) is None:
        raise FlowError(
            f"{what} = {text!r}; expected a span of time like '1 second', '500 milliseconds' or "
            "'1 minute 30 seconds'."
        )


def _refuse_repeats(what: str, values: list[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise FlowError(f"two flows have the {what} {value!r}; expected one each.")

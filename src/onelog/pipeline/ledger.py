"""What a commit covers, and whether a batch is new, done, or impossible. Pure.

Every commit that a flow makes carries one entry: whose it is, the number of its batch, and
the offsets [start, end) of each partition in it. An entry also says where the table begins
and how far it reaches, so the newest one alone tells what the table claims to hold. Spark
repeats a batch after a crash with the same number and the same offsets; a lost checkpoint
numbers from 0 again under another query id, and then only the offsets can tell.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, NamedTuple

from onelog.pipeline.errors import LedgerError

ENTRY_KEY = "onelog.ledger"
"""The name of the entry among a commit's own metadata."""


class Partition(NamedTuple):
    """A partition by its topic's name, in the order of tables and messages."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.number}"


class Range(NamedTuple):
    """Offsets, from start up to and without end."""

    start: int
    end: int


Ranges = Mapping[Partition, Range]


@dataclass(frozen=True)
class Entry:
    """One batch of one flow, and with it all that the table has so far."""

    app_id: str
    query_id: str
    batch_id: int
    attempt: str
    ranges: Ranges
    begins: Mapping[Partition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    is_landing: bool = False
    is_stateful: bool = False

    @property
    def ends(self) -> Mapping[Partition, int]:
        """How far the table reaches: the next offset of each partition."""
        return {partition: span.end for partition, span in self.ranges.items()}

    @property
    def claims(self) -> Ranges:
        """What the table says it holds, all batches together."""
        return {p: Range(self.begins.get(p, span.start), span.end) for p, span in self.ranges.items()}

    @property
    def is_empty(self) -> bool:
        """No offset is in this batch."""
        return all(span.start == span.end for span in self.ranges.values())

    def text(self) -> str:
        """As it stands in a commit."""
        return json.dumps(
            {
                "app": self.app_id,
                "query": self.query_id,
                "batch": self.batch_id,
                "attempt": self.attempt,
                "ranges": _nested({p: [span.start, span.end] for p, span in self.ranges.items()}),
                "begins": _nested(self.begins),
                "topic_ids": dict(sorted(self.topic_ids.items())),
                "landing": self.is_landing,
                "stateful": self.is_stateful,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def of(text: str) -> "Entry":
        """From a commit; LedgerError if another than us wrote it."""
        try:
            found = json.loads(text)
            return Entry(
                app_id=str(found["app"]),
                query_id=str(found["query"]),
                batch_id=int(found["batch"]),
                attempt=str(found["attempt"]),
                ranges={p: Range(int(v[0]), int(v[1])) for p, v in _flat(found["ranges"])},
                begins={p: int(v) for p, v in _flat(found["begins"])},
                topic_ids=dict(found["topic_ids"]),
                is_landing=bool(found["landing"]),
                is_stateful=bool(found["stateful"]),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise LedgerError(
                f"a commit's {ENTRY_KEY} is {text[:120]!r}; expected what onelog writes ({error!r})."
            ) from error


class Verdict(Enum):
    """What to do with a batch. What is impossible is an error, not a verdict."""

    NEW = "new"
    DONE = "done"


def judge(last: Entry | None, batch: Entry) -> Verdict:
    """Whether the batch comes next or is there already; LedgerError if it can be neither."""
    if last is None:
        for partition, span in sorted(batch.ranges.items()):
            begin = batch.begins.get(partition, span.start)
            if span.start > begin:
                raise _impossible(
                    batch,
                    f"the checkpoint says that {partition} from {begin} to {span.start} was landed, the table "
                    "has nothing of it",
                    "Remove the checkpoint, and the flow begins anew.",
                )
        return Verdict.NEW
    if last.app_id != batch.app_id:
        raise _impossible(batch, f"the table is written by {last.app_id}", "Give each flow its own table.")
    _refuse_recreated(last, batch)
    if last.query_id == batch.query_id and batch.batch_id <= last.batch_id:
        if batch.batch_id == last.batch_id and any(last.ranges.get(p) != s for p, s in batch.ranges.items()):
            raise _impossible(batch, "the table has this batch with other offsets", _RESET)
        return Verdict.DONE
    if not batch.is_empty and _is_covered(last, batch):
        return Verdict.DONE
    for partition, span in sorted(batch.ranges.items()):
        end = last.ends.get(partition)
        if end is None or span.start == end:
            continue
        kind = "a gap" if span.start > end else "an overlap"
        raise _impossible(
            batch, f"{partition} starts at {span.start}, the table ends at {end}: {kind}", _RESET
        )
    return Verdict.NEW


def judge_apart(last: Entry | None, batch: Entry) -> Verdict:
    """The same for a table that may have gaps: done is what leaves nothing uncovered."""
    if last is not None and last.app_id != batch.app_id:
        raise _impossible(batch, f"the table is written by {last.app_id}", "Give each flow its own table.")
    return Verdict.NEW if uncovered(last, batch.ranges) else Verdict.DONE


_RESET = "Remove the checkpoint, and the flow goes on where the table ends."


def entry_after(last: Entry | None, batch: Entry) -> Entry:
    """The batch's entry as the table will have it: it also speaks for partitions without a part in it."""
    begins = {p: batch.begins.get(p, span.start) for p, span in batch.ranges.items()}
    if last is None:
        return replace(batch, begins=begins)
    kept = {p: Range(end, end) for p, end in last.ends.items()}
    begins |= last.begins
    return replace(
        batch,
        ranges={**kept, **batch.ranges},
        begins=begins,
        topic_ids={**last.topic_ids, **batch.topic_ids},
        is_stateful=batch.is_stateful or last.is_stateful,
        is_landing=batch.is_landing and last.is_landing,
    )


def uncovered(last: Entry | None, ranges: Ranges) -> Ranges:
    """What of the ranges the table does not have yet. For tables that may run ahead, and may leave gaps."""
    ends = last.ends if last is not None else {}
    left = {p: Range(max(span.start, ends.get(p, span.start)), span.end) for p, span in ranges.items()}
    return {p: span for p, span in left.items() if span.start < span.end}


def check_log(last: Entry, *, log: Ranges, topic_ids: Mapping[str, str]) -> None:
    """Whether the flow can go on from the table's end: the log must still have what comes next."""
    for topic, known in last.topic_ids.items():
        if topic_ids.get(topic, known) != known:
            raise _recreated(topic, f"its id was {known}, and is {topic_ids[topic]}")
    for partition, end in sorted(last.ends.items()):
        span = log.get(partition)
        if span is None:
            continue
        if end > span.end:
            raise _recreated(partition.topic, f"{partition} ends at {span.end}, the table has it up to {end}")
        if end < span.start:
            raise LedgerError(
                f"{partition}: the table ends at {end}, the log begins at {span.start}: retention removed "
                f"{span.start - end} offsets before they were landed. Land into another table."
            )


def _refuse_recreated(last: Entry, batch: Entry) -> None:
    for topic, known in last.topic_ids.items():
        found = batch.topic_ids.get(topic, known)
        if found != known:
            raise _recreated(topic, f"its id was {known}, and is {found}")


def _recreated(topic: str, fact: str) -> LedgerError:
    return LedgerError(
        f"topic {topic!r} was deleted and created again ({fact}). "
        "What the table has is of the old one: land the new one into another table."
    )


def _is_covered(last: Entry, batch: Entry) -> bool:
    return all(p in last.ends and span.end <= last.ends[p] for p, span in batch.ranges.items())


def _impossible(batch: Entry, found: str, remedy: str) -> LedgerError:
    return LedgerError(f"{batch.app_id}, batch {batch.batch_id}: {found}. {remedy}")


def _nested(values: Mapping[Partition, Any]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for partition, value in sorted(values.items()):
        nested.setdefault(partition.topic, {})[str(partition.number)] = value
    return nested


def _flat(nested: Mapping[str, Mapping[str, Any]]) -> list[tuple[Partition, Any]]:
    return [(Partition(topic, int(n)), v) for topic, numbers in nested.items() for n, v in numbers.items()]

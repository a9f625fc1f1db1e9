"""The table against the log: what is missing, doubled or altered, by partition and offset. Fixes nothing.

A landing is compared row by row, in stretches of one partition, so that memory holds neither
side whole. What a flow with steps made cannot be compared with records; there the ledger is
looked at: whether its batches follow each other without gap, and how far they reach.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from onelog.pipeline.errors import TableError
from onelog.pipeline.flow import DEAD_LETTERS
from onelog.pipeline.ledger import Entry, Partition, Range, Ranges
from onelog.pipeline.log import Window
from onelog.pipeline.steps import LANDING
from onelog.pipeline.tables import Table

FINDINGS_MAX = 20
MISSING, DOUBLED, ALTERED, UNKNOWN = "missing", "doubled", "altered", "unknown"
KINDS = (MISSING, DOUBLED, ALTERED, UNKNOWN)
_COMPARED = {
    "offset": "_offset",
    "timestamp": "_timestamp",
    "key": "key",
    "value": "value",
    "headers": "headers",
}

Watch = Callable[[int, int], None]


class LogReader(Protocol):
    """What an audit needs of the log."""

    def spans(self, topics: tuple[str, ...]) -> Ranges:
        """What each partition holds now."""
        ...

    def topic_ids(self, topics: tuple[str, ...]) -> Mapping[str, str]:
        """The id of each topic."""
        ...

    def windows(self, partition: Partition, span: Range) -> Iterator[Window]:
        """The records of a range, in stretches that follow each other."""
        ...


class Finding(NamedTuple):
    """A record that is not in the table as it is in the log."""

    kind: str
    partition: Partition
    offset: int
    what: str

    def __str__(self) -> str:
        return (
            f"{self.partition} at offset {self.offset}: {self.kind}{f' ({self.what})' if self.what else ''}"
        )


@dataclass
class PartitionReport:
    """One partition: what the table claims, what the log has, what came out."""

    partition: Partition
    claimed: Range
    log: Range
    compared: int = 0
    unprovable: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def waiting(self) -> int:
        """Offsets that the table has still to take."""
        return max(0, self.log.end - self.claimed.end)


@dataclass
class Report:
    """What an audit found. Filled while it runs, by the audit alone."""

    path: str
    version: int
    is_landing: bool
    batch_count: int
    findings_max: int
    partitions: list[PartitionReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Nothing speaks against the table."""
        return not self.problems and not any(self.total(kind) for kind in KINDS)

    @property
    def compared(self) -> int:
        """Records of the log that were looked for in the table."""
        return sum(p.compared for p in self.partitions)

    def total(self, kind: str) -> int:
        """How many records of a kind, in all partitions."""
        return sum(p.counts[kind] for p in self.partitions)

    def found(self, into: PartitionReport, kind: str, offset: int, what: str = "", *, count: int = 1) -> None:
        """Count, and name while there is room."""
        into.counts[kind] += count
        if len(self.findings) < self.findings_max:
            self.findings.append(Finding(kind, into.partition, offset, what))


def audit(
    path: str, log: LogReader, *, findings_max: int = FINDINGS_MAX, watch: Watch | None = None
) -> Report:
    """Compare the table in that folder with the log. watch hears how many offsets of how many are done."""
    table = Table(path)
    entries = table.entries()
    if not entries:
        raise TableError(
            f"{path}: no commit of a flow is in its history; expected a table that onelog landed."
        )
    last = entries[-1]
    is_landing = last.is_landing and set(LANDING) <= table.columns.keys()
    report = Report(path, int(table.delta.version()), is_landing, len(entries), findings_max)
    report.problems += chain(entries)
    topics = tuple(sorted({p.topic for p in last.claims}))
    report.problems += _recreated(last, log.topic_ids(topics))
    spans = log.spans(topics)
    for partition, claimed in sorted(last.claims.items()):
        held = spans.get(partition, Range(0, 0))
        if held.end < claimed.end:
            report.problems.append(
                f"{partition}: the table claims offsets up to {claimed.end}, the log ends at {held.end}"
            )
        report.partitions.append(PartitionReport(partition, claimed, held))
    if is_landing:
        _compare(report, table.delta.to_pyarrow_dataset(), log, watch)
    return report


def chain(entries: list[Entry]) -> list[str]:
    """Where a batch does not begin at the end of the one before it, in words.

    A table of dead letters has nothing to say of batches without any, so there only an overlap counts.
    """
    problems = []
    has_gaps = entries[-1].app_id.endswith(DEAD_LETTERS)
    for before, after in itertools.pairwise(entries):
        for partition, span in sorted(after.ranges.items()):
            end = before.ends.get(partition, span.start)
            if span.start < end or (span.start > end and not has_gaps):
                problems.append(
                    f"{partition}: batch {after.batch_id} begins at {span.start}, the one before ends at {end}"
                )
    return problems


def _recreated(last: Entry, ids: Mapping[str, str]) -> list[str]:
    return [
        f"topic {topic!r} was deleted and created again: the table has the old one ({known})"
        for topic, known in last.topic_ids.items()
        if ids.get(topic, known) != known
    ]


def _compare(report: Report, rows: ds.Dataset, log: LogReader, watch: Watch | None) -> None:
    total = sum(p.claimed.end - p.claimed.start for p in report.partitions)
    done = row_count = 0
    for part in report.partitions:
        begin = min(max(part.claimed.start, part.log.start), part.claimed.end)
        end = max(begin, min(part.claimed.end, part.log.end))
        # What retention took from the log has nothing left to be compared with.
        part.unprovable = rows.count_rows(filter=_stretch(part.partition, Range(part.claimed.start, begin)))
        row_count += part.unprovable
        for window in log.windows(part.partition, Range(begin, end)):
            found = rows.to_table(
                columns=list(_COMPARED.values()), filter=_stretch(part.partition, window.span)
            )
            row_count += found.num_rows
            _compare_window(report, part, window, found.rename_columns(list(_COMPARED)))
            done += window.span.end - window.span.start
            if watch is not None:
                watch(done, total)
        row_count += _outside(report, part, rows, end)
    strays = rows.count_rows() - row_count
    if strays:
        report.problems.append(f"{strays} rows are of no partition that the ledger names")


def _outside(report: Report, part: PartitionReport, rows: ds.Dataset, end: int) -> int:
    """Rows of the partition that the table does not claim, or that the log never had."""
    outside = _of(part.partition) & (
        (ds.field("_offset") < part.claimed.start) | (ds.field("_offset") >= end)
    )
    count = rows.count_rows(filter=outside)
    if count:
        offsets = rows.head(report.findings_max, columns=["_offset"], filter=outside)["_offset"].to_pylist()
        for offset in offsets:
            report.found(part, UNKNOWN, offset, "the ledger does not cover it")
        part.counts[UNKNOWN] += count - len(offsets)
    return int(count)


def _compare_window(report: Report, part: PartitionReport, window: Window, found: pa.Table) -> None:
    part.compared += window.records.num_rows
    rows = found.take(pc.sort_indices(found, sort_keys=[("offset", "ascending")]))
    if rows.num_rows == window.records.num_rows and _equal(rows, window.records):
        return
    there = Counter(rows["offset"].to_pylist())
    for offset, times in there.items():
        if times > 1:
            report.found(part, DOUBLED, offset, f"{times} times", count=times - 1)
    by_offset = {row["offset"]: row for row in rows.to_pylist()}
    for record in window.records.to_pylist():
        row = by_offset.pop(record["offset"], None)
        if row is None:
            report.found(part, MISSING, record["offset"])
            continue
        differing = [name for name in _COMPARED if _value(row, name) != _value(record, name)]
        if differing:
            report.found(part, ALTERED, record["offset"], ", ".join(differing))
    for offset in by_offset:
        report.found(part, UNKNOWN, offset, "the log has no such record")


def _equal(rows: pa.Table, records: pa.Table) -> bool:
    """Whether all is the same, decided by Arrow; False only asks for a closer look."""
    return bool(rows.select(list(_COMPARED)).cast(records.select(list(_COMPARED)).schema).equals(records))


def _value(row: Mapping[str, Any], name: str) -> Any:
    # No headers and an empty list of them are the same record.
    return row[name] or [] if name == "headers" else row[name]


def _stretch(partition: Partition, span: Range) -> ds.Expression:
    return _of(partition) & (ds.field("_offset") >= span.start) & (ds.field("_offset") < span.end)


def _of(partition: Partition) -> ds.Expression:
    return (ds.field("_topic") == partition.topic) & (ds.field("_log_partition") == partition.number)

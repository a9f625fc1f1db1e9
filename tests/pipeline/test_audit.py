import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onelog.pipeline.audit import Report, audit, chain
from onelog.pipeline.errors import TableError
from onelog.pipeline.ledger import Entry, Partition, Range, Ranges, entry_after
from onelog.pipeline.log import Window
from onelog.pipeline.tables import Table
from onelog.records.columns import HEADERS, TIMESTAMP

A, B = Partition("orders", 0), Partition("orders", 1)
RECORD = pa.schema(
    [("offset", pa.int64()), ("timestamp", TIMESTAMP), ("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS)]
)  # fmt: skip
LANDED = {
    "_topic": "string", "_log_partition": "integer", "_offset": "long", "_timestamp": "timestamp", "key": "binary",
    "value": "binary", "headers": {"type": "array", "containsNull": True, "elementType": {"type": "struct", "fields": [
        {"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in (("key", "string"), ("value", "binary"))]}},
}  # fmt: skip

Row = dict[str, Any]


def record(offset: int, **other: Any) -> Row:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=offset)
    return {
        "offset": offset,
        "timestamp": at,
        "key": b"k%d" % offset,
        "value": b"v%d" % offset,
        "headers": [],
        **other,
    }


@dataclass
class FakeLog:
    """Records by partition, handed out two at a time."""

    records: dict[Partition, list[Row]]
    held: dict[Partition, Range] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def spans(self, topics: tuple[str, ...]) -> Ranges:
        return {p: self.held.get(p, Range(0, len(rows))) for p, rows in self.records.items()}

    def topic_ids(self, topics: tuple[str, ...]) -> Mapping[str, str]:
        return self.ids

    def windows(self, partition: Partition, span: Range) -> Iterator[Window]:
        for start in range(span.start, span.end, 2):
            end = min(start + 2, span.end)
            rows = [r for r in self.records[partition] if start <= r["offset"] < end]
            yield Window(Range(start, end), pa.Table.from_pylist(rows, schema=RECORD))


class Landed:
    """A landed table, written by hand so that it can be wrong."""

    def __init__(self, path: Path) -> None:
        fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in LANDED.items()]
        self.table = Table.create(str(path), json.dumps({"type": "struct", "fields": fields}))
        self.last: Entry | None = None
        self.count = 0

    def batch(self, ranges: Ranges, rows: list[tuple[Partition, Row]], **said: Any) -> None:
        batch = Entry("onelog/f", "q", self.count, "x", ranges, is_landing=True)
        self.last = replace(entry_after(self.last, batch), **said)
        self.count += 1
        columns = [
            {"_topic": p.topic, "_log_partition": p.number, "_offset": r["offset"], "_timestamp": r["timestamp"],
             "key": r["key"], "value": r["value"], "headers": r["headers"]}
            for p, r in rows
        ]  # fmt: skip
        names = dict(zip(LANDED, ["_topic", "_log_partition", *RECORD.names], strict=False))
        kinds = [pa.string(), pa.int32(), *RECORD.types]
        schema = pa.schema(list(zip(names, kinds, strict=True)))
        file = self.table.path / f"f{self.count}.parquet"
        pq.write_table(pa.Table.from_pylist(columns, schema=schema), file)
        self.table.append([file], self.last)


LOG = FakeLog({A: [record(n) for n in range(5)], B: [record(n) for n in range(3)]})
ALL = [(p, row) for p, rows in LOG.records.items() for row in rows]

Audited = Callable[..., Report]


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    """Audit a table of one batch that covers the log and holds these rows."""

    def run(rows: list[tuple[Partition, Row]], log: FakeLog = LOG, **said: Any) -> Report:
        landed = Landed(tmp_path / "t")
        landed.batch({A: Range(0, 5), B: Range(0, 3)}, rows, **said)
        return audit(str(tmp_path / "t"), log)

    return run


def named(report: Report) -> list[str]:
    return [str(finding) for finding in report.findings]


def test_a_table_that_holds_the_log_is_clean(audited: Audited) -> None:
    report = audited(ALL[::-1])
    assert report.is_clean
    assert report.compared == 8
    assert [p.waiting for p in report.partitions] == [0, 0]


def test_a_missing_record_is_named_by_partition_and_offset(audited: Audited) -> None:
    report = audited([row for row in ALL if row != ALL[3]])
    assert not report.is_clean
    assert named(report) == ["orders/0 at offset 3: missing"]


def test_a_doubled_record_is_named_and_counted_by_what_is_too_much(audited: Audited) -> None:
    report = audited([*ALL, ALL[6], ALL[6]])
    assert named(report) == ["orders/1 at offset 1: doubled (3 times)"]
    assert report.total("doubled") == 2


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"value": b"other"}, "value"),
        ({"value": None}, "value"),
        ({"key": None}, "key"),
        ({"headers": [{"key": "h", "value": b"x"}]}, "headers"),
        ({"timestamp": datetime(2026, 1, 1, tzinfo=UTC)}, "timestamp"),
    ],
)
def test_an_altered_record_is_named_with_what_differs(audited: Audited, change: Row, what: str) -> None:
    rows = [(p, {**row, **change}) if (p, row) == ALL[2] else (p, row) for p, row in ALL]
    assert named(audited(rows)) == [f"orders/0 at offset 2: altered ({what})"]


def test_no_headers_are_as_good_as_an_empty_list_of_them(audited: Audited) -> None:
    assert audited([(p, {**row, "headers": None}) for p, row in ALL]).is_clean


def test_rows_that_the_log_does_not_know_are_told(audited: Audited) -> None:
    stray = Partition("other", 0)
    report = audited([*ALL, (A, record(9)), (stray, record(0))])
    assert named(report) == ["orders/0 at offset 9: unknown (the ledger does not cover it)"]
    assert report.problems == ["1 rows are of no partition that the ledger names"]


def test_an_offset_without_a_record_is_no_loss_and_a_row_for_it_is_unknown(audited: Audited) -> None:
    gap = FakeLog(
        {A: [r for r in LOG.records[A] if r["offset"] != 2], B: LOG.records[B]}, held={A: Range(0, 5)}
    )
    assert named(audited(ALL, gap)) == ["orders/0 at offset 2: unknown (the log has no such record)"]


def test_what_retention_took_is_not_provable_and_what_came_later_waits(audited: Audited) -> None:
    moved = FakeLog({A: [record(n) for n in range(2, 9)], B: LOG.records[B]}, held={A: Range(2, 9)})
    report = audited(ALL, moved)
    assert report.is_clean
    assert (report.partitions[0].unprovable, report.partitions[0].waiting) == (2, 4)


def test_a_log_that_ends_before_the_table_and_another_topic_of_the_name_are_problems(
    audited: Audited,
) -> None:
    short = FakeLog({A: LOG.records[A][:3], B: LOG.records[B]}, ids={"orders": "new"})
    report = audited(ALL, short, topic_ids={"orders": "old"})
    assert not report.is_clean
    assert report.problems == [
        "topic 'orders' was deleted and created again: the table has the old one (old)",
        "orders/0: the table claims offsets up to 5, the log ends at 3",
    ]


def test_all_are_counted_and_the_first_are_named(audited: Audited, tmp_path: Path) -> None:
    assert audited([]).total("missing") == 8
    few = audit(str(tmp_path / "t"), LOG, findings_max=3)
    assert (few.total("missing"), len(few.findings)) == (8, 3)


def test_of_a_flow_with_steps_only_the_ledger_is_looked_at(audited: Audited) -> None:
    report = audited([], is_landing=False)
    assert report.is_clean
    assert not report.is_landing
    assert report.compared == 0


def test_a_hole_between_two_batches_is_told() -> None:
    one = Entry("a", "q", 0, "x", {A: Range(0, 5)})
    two = Entry("a", "q", 1, "x", {A: Range(6, 9)})
    assert chain([one, two]) == ["orders/0: batch 1 begins at 6, the one before ends at 5"]
    assert chain([one, replace(two, ranges={A: Range(5, 9), B: Range(7, 8)})]) == []


def test_dead_letters_may_have_holes_and_no_overlap() -> None:
    one = Entry("onelog/f/dead_letters", "q", 0, "x", {A: Range(0, 5)})
    assert chain([one, replace(one, batch_id=4, ranges={A: Range(9, 12)})]) == []
    assert len(chain([one, replace(one, batch_id=4, ranges={A: Range(4, 12)})])) == 1


def test_batches_are_followed_over_many_commits(tmp_path: Path) -> None:
    landed = Landed(tmp_path / "t")
    landed.batch({A: Range(0, 2), B: Range(0, 0)}, ALL[:2])
    landed.batch({A: Range(2, 5), B: Range(0, 3)}, ALL[2:])
    heard: list[tuple[int, int]] = []
    report = audit(str(tmp_path / "t"), LOG, watch=lambda done, total: heard.append((done, total)))
    assert report.is_clean
    assert report.batch_count == 2
    assert heard[-1] == (8, 8)


def test_a_table_of_others_is_told(tmp_path: Path) -> None:
    landed = Landed(tmp_path / "t")
    assert landed.last is None
    with pytest.raises(TableError, match="no commit of a flow is in its history"):
        audit(str(tmp_path / "t"), LOG)

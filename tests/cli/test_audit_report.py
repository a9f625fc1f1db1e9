import json
from collections import Counter
from pathlib import Path

import pytest

from onelog.cli.audit_report import as_json, text
from onelog.cli.main import main
from onelog.pipeline.audit import Finding, PartitionReport, Report
from onelog.pipeline.ledger import Partition, Range

P = Partition("orders", 0)
REMEDY = (
    "Landing again into this table repairs nothing: land anew with "
    "`onelog land orders --to ANOTHER_PATH --once`, and audit that."
)


def report(*, is_landing: bool = True, **counts: int) -> Report:
    found = Report("tables/orders", 7, is_landing, 3, findings_max=1)
    found.partitions = [PartitionReport(P, Range(0, 9), Range(0, 12), compared=9, counts=Counter(counts))]
    found.findings = [Finding("missing", P, 4, "")] if counts else []
    return found


def test_a_clean_table_says_so_last() -> None:
    lines = text(report()).splitlines()
    assert lines[0] == "tables/orders, version 7, 3 batches in its ledger"
    assert lines[2].split() == ["orders/0", "0", "to", "9", "9", "0", "0", "0", "0", "0", "3"]
    assert lines[-1] == "clean: 9 records of the log, each in the table once and unaltered."


def test_what_was_found_is_named_and_the_rest_counted() -> None:
    lines = text(report(missing=2, altered=1)).splitlines()
    assert lines[-3:] == [
        "orders/0 at offset 4: missing",
        "and 2 more; name them with --findings",
        "not clean: 2 missing, 1 altered. " + REMEDY,
    ]


def test_a_table_of_steps_says_what_is_not_proved() -> None:
    lines = text(report(is_landing=False)).splitlines()
    assert lines[1].split() == ["partition", "offsets", "waiting"]
    assert "are not compared" in lines[-1]


def test_programs_get_the_same_as_json() -> None:
    found = json.loads(json.dumps(as_json(report(missing=1))))
    assert found["clean"] is False
    assert found["missing"] == 1
    assert found["findings"] == [
        {"kind": "missing", "topic": "orders", "partition": 0, "offset": 4, "what": ""}
    ]
    assert found["partitions"][0]["waiting"] == 3


def test_a_folder_without_a_table_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"onelog: {tmp_path}: no Delta table that can be read")


def test_what_steps_made_is_computed_anew_and_one_batch_is_no_plural() -> None:
    found = report(is_landing=False)
    found.batch_count = 1
    found.problems = ["a gap"]
    lines = text(found).splitlines()
    assert lines[0].endswith("version 7, 1 batch in its ledger")
    assert lines[-1].startswith("not clean: see above. Landing again repairs nothing: let the flow compute")

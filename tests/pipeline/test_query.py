import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from onelog.pipeline.errors import LedgerError, PipelineError
from onelog.pipeline.flow import DeltaSink, Expect, Flow, Mode, Otherwise, Pipeline, Start, Watermark, landing
from onelog.pipeline.query import reason
from onelog.pipeline.run import run
from onelog.pipeline.tables import Table
from tests.support.folder_log import FolderLog

pytestmark = pytest.mark.spark

Land = Callable[[Flow], int]


@pytest.fixture
def land(spark: SparkSession, log: FolderLog) -> Land:
    """Run a flow until everything has landed; how many records this time."""
    return lambda flow: run(Pipeline(flows=(flow,)), once=True, spark=spark, log=log)[0].records


def order(id: int, customer: str, cents: int, second: int) -> str:
    return json.dumps(
        {"id": id, "customer": customer, "cents": cents, "at": f"2026-01-01T10:00:{second:02}Z"}
    )


def spent(path: Path) -> Flow:
    return Flow(
        name="spent",
        topics=("orders",),
        schema="id bigint, customer string, cents bigint, at timestamp",
        expect=(Expect("cents >= 0"),),
        watermark=Watermark("at", "10 minutes"),
        steps=(
            "select window(at, '1 minute') as minute, customer, sum(cents) as cents from input group by 1, 2",
        ),
        sink=DeltaSink(str(path), Mode.UPSERT, ("minute", "customer")),
    )


def content(path: Path | str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Table(str(path)).delta.to_pyarrow_dataset().to_table().to_pylist()
    return rows


def forget_last_commit(checkpoint: str) -> None:
    """As if the process had died between the table's commit and Spark's own note of it."""
    commits = Path(checkpoint) / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink()


def test_a_landing_goes_on_where_it_ended_and_survives_the_loss_of_its_checkpoint(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    flow = landing("orders", str(tmp_path / "t"))
    log.append("orders", "a", "b", None)
    log.append("orders", "c", partition=1)
    assert land(flow) == 4
    log.append("orders", "d")
    assert land(flow) == 1
    forget_last_commit(flow.checkpoint_path)
    assert land(flow) == 0
    shutil.rmtree(flow.checkpoint_path)
    log.append("orders", "e", partition=1)
    assert land(flow) == 1
    found = sorted((r["_log_partition"], r["_offset"], r["value"]) for r in content(tmp_path / "t"))
    assert found == [(0, 0, b"a"), (0, 1, b"b"), (0, 2, None), (0, 3, b"d"), (1, 0, b"c"), (1, 1, b"e")]


def test_an_aggregate_is_right_after_a_repeated_batch_and_dead_letters_come_once(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    flow = spent(tmp_path / "t")
    log.append("orders", order(1, "ann", 100, 1), order(2, "ann", 50, 2), order(3, "bob", -1, 3), "{no")
    land(flow)
    forget_last_commit(flow.checkpoint_path)
    log.append("orders", order(4, "ann", 1000, 4), order(5, "bob", -2, 5), partition=1)
    land(flow)
    assert [(r["customer"], r["cents"]) for r in content(tmp_path / "t")] == [("ann", 1150)]
    dead = sorted((r["_log_partition"], r["_offset"]) for r in content(flow.sink.dead_letters_path))
    assert dead == [(0, 2), (0, 3), (1, 1)]


def test_sums_whose_checkpoint_is_gone_are_not_begun_anew_into_the_same_table(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    flow = replace(spent(tmp_path / "t"), expect=(), malformed=Otherwise.DROP)
    log.append("orders", order(1, "ann", 100, 1))
    land(flow)
    shutil.rmtree(flow.checkpoint_path)
    with pytest.raises(LedgerError, match="what the steps had summed up"):
        land(flow)


def test_a_flow_that_starts_at_the_end_leaves_out_what_was_there(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    flow = replace(landing("orders", str(tmp_path / "t")), start=Start.LATEST)
    log.append("orders", "old")
    assert land(flow) == 0
    log.append("orders", "new")
    assert land(flow) == 1
    assert [r["_offset"] for r in content(tmp_path / "t")] == [1]


def test_a_broken_rule_that_must_hold_ends_the_run_by_the_name_of_the_record(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    sink = DeltaSink(str(tmp_path / "t"))
    rule = Expect("length(value) < 3", Otherwise.FAIL)
    log.append("orders", "ok", "too long")
    with pytest.raises(
        PipelineError, match=r"flow 'f': a rule .* broken: orders/0 at offset 1: length\(value\) < 3: false$"
    ):
        land(Flow(name="f", topics=("orders",), sink=sink, expect=(rule,)))
    assert content(tmp_path / "t") == []


def test_a_topic_that_was_created_again_is_refused_by_name(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    flow = landing("orders", str(tmp_path / "t"))
    log.append("orders", "a", "b")
    log.ids["orders"] = "first"
    land(flow)
    log.ids["orders"] = "second"
    with pytest.raises(LedgerError, match="'orders' was deleted and created again"):
        land(flow)


def test_an_output_that_spark_cannot_give_is_told_in_one_sentence(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    log.append("orders", "a")
    flow = Flow(
        name="f",
        topics=("orders",),
        sink=DeltaSink(str(tmp_path / "t")),
        steps=("select count(*) as n from input",),
    )
    with pytest.raises(PipelineError, match=r"flow 'f': Invalid streaming output mode: append"):
        land(flow)


def test_the_sentence_is_found_in_what_spark_says() -> None:
    python = "Traceback (most recent call last):\n  File x\nValueError: orders/0: lost\n\n=== Streaming Query ===\nError: plan"
    assert reason(python) == "orders/0: lost"
    assert reason("[SOME_CLASS.SUB] It broke. SQLSTATE: 42000\nat x") == "It broke."

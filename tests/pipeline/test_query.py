import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from onelog.client.errors import BrokerUnavailable
from onelog.pipeline.errors import LedgerError, PipelineError, TableError
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


def test_an_aggregate_that_cannot_append_is_told_what_to_do_and_leaves_nothing_in_the_way(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    log.append("orders", '{"n": 1}', '{"n": 2}', "none")
    flow = Flow(
        name="f",
        topics=("orders",),
        schema="n bigint",
        sink=DeltaSink(str(tmp_path / "t")),
        steps=("select count(*) as n from input",),
    )
    with pytest.raises(PipelineError, match=r'flow \'f\': .* Say mode = "upsert" with a key in its sink, or'):
        land(flow)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    land(replace(flow, steps=("select n, true as whole from input",)))
    assert [row["n"] for row in content(tmp_path / "t")] == [1, 2]


def test_a_flow_that_failed_in_its_first_batch_can_be_corrected_where_it_stands(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    log.append("orders", '{"n": 1}', "none")
    flow = Flow(
        name="f",
        topics=("orders",),
        schema="n bigint",
        malformed=Otherwise.FAIL,
        sink=DeltaSink(str(tmp_path / "t"), Mode.UPSERT, ("one",)),
        steps=("select count(*) as n, 1 as one from input group by 2",),
    )
    with pytest.raises(PipelineError, match="a rule that must hold is broken"):
        land(flow)
    log.append("orders", '{"n": 3}')
    corrected = replace(flow, malformed=Otherwise.DROP, sink=DeltaSink(str(tmp_path / "t")), steps=())
    land(corrected)
    assert [row["n"] for row in content(tmp_path / "t")] == [1, 3]


def test_a_table_of_another_flow_is_refused_by_its_name_before_anything_is_read(
    land: Land, log: FolderLog, tmp_path: Path
) -> None:
    log.append("orders", "a")
    log.append("mine", "b")
    land(landing("orders", str(tmp_path / "t")))
    with pytest.raises(TableError) as refusal:
        land(landing("mine", str(tmp_path / "t")))
    assert str(refusal.value) == (
        f"flow 'land_mine': {tmp_path}/t belongs to the flow 'land_orders' (onelog/land_orders, topic orders); "
        "expected a table of onelog/land_mine. Give each flow its own table."
    )
    assert len(content(tmp_path / "t")) == 1


def test_the_sentence_is_found_in_what_spark_says() -> None:
    python = "Traceback (most recent call last):\n  File x\nValueError: orders/0: lost\n\n=== Streaming Query ===\nError: plan"
    assert reason(python) == "orders/0: lost"
    assert reason("[SOME_CLASS.SUB] It broke. SQLSTATE: 42000\nat x") == "It broke."


def test_inside_spark_nobody_is_told_of_an_option_of_commands() -> None:
    said = str(
        BrokerUnavailable(address="h:1", doing="connecting", found="refused", attempts=2, waited_s=1.0)
    )
    assert reason(f"Traceback\nonelog.client.errors.BrokerUnavailable: {said}").endswith(
        "Is it running there?"
    )

import dataclasses
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import onelog
from examples.orders import orders
from onelog.pipeline.audit import audit
from onelog.pipeline.flow_file import load
from onelog.pipeline.log import OnelogLog
from onelog.pipeline.run import run
from onelog.pipeline.tables import Table
from onelog.protocols.registry import ENDPOINTS

PIPELINE = Path(orders.__file__).with_name("pipeline.toml")


def test_the_example_writes_through_every_dialect() -> None:
    assert set(orders.WRITERS) == set(orders.READERS) == {endpoint.name for endpoint in ENDPOINTS}


def test_every_dialect_reads_the_same_record_back(tmp_path: Path) -> None:
    with onelog.Broker(tmp_path / "data") as broker:
        own = {listener: broker.address(listener) for listener in orders.OWN_LISTENERS.values()}
        orders.write(broker.bootstrap, own=own, now=datetime.now(UTC), count=20)
        for partition in range(orders.PARTITIONS):
            [value] = set(orders.read_back(broker.bootstrap, own=own, partition=partition).values())
            assert value


@pytest.mark.spark
def test_the_example_lands_and_sums_what_every_dialect_wrote(spark: SparkSession, tmp_path: Path) -> None:
    found = load(str(PIPELINE))
    flows = tuple(
        dataclasses.replace(f, sink=dataclasses.replace(f.sink, path=str(tmp_path / f.name)))
        for f in found.flows
    )
    with onelog.Broker(tmp_path / "data") as broker:
        own = {listener: broker.address(listener) for listener in orders.OWN_LISTENERS.values()}
        written = orders.write(broker.bootstrap, own=own, now=datetime.now(UTC), count=20)
        pipeline = dataclasses.replace(found, flows=flows, bootstrap=broker.bootstrap)
        run(pipeline, once=True, spark=spark)
        with OnelogLog(broker.bootstrap) as log:
            report = audit(str(tmp_path / "orders_landed"), log)
    assert report.is_clean
    assert report.compared == sum(written.values())
    rows = Table(str(tmp_path / "orders_by_minute")).delta.to_pyarrow_dataset().to_table().to_pylist()
    assert sum(row["orders"] for row in rows) == 20 * len(orders.WRITERS)
    dead = Table(flows[1].sink.dead_letters_path).delta.to_pyarrow_dataset()
    assert dead.count_rows() == len(orders.SPOILT) * len(orders.WRITERS)


@pytest.mark.spark
def test_a_broker_that_cannot_start_for_another_reason_than_its_ports_is_tried_once(tmp_path: Path) -> None:
    command = [sys.executable, str(Path(orders.__file__).with_name("run.py")), "--once"]
    with onelog.Broker(tmp_path / "onelog-data", listen="shared=127.0.0.1:0"):
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        "onelog: onelog-data/.lock: another process has the directory open. Stop it first, or use another directory.",
        "run: the broker does not start; see above for its reason.",
    ]

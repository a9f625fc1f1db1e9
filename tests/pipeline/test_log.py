import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import onelog
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.pipeline import log as log_module
from onelog.pipeline.audit import audit
from onelog.pipeline.flow import DeltaSink, Expect, Flow, Pipeline, landing
from onelog.pipeline.ledger import Partition, Range
from onelog.pipeline.log import OnelogLog
from onelog.pipeline.run import run
from onelog.records.record import Header, Record

A, B = Partition("orders", 0), Partition("orders", 1)


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    """A broker with one topic of two partitions and seven records."""
    with onelog.Broker(tmp_path / "data", listen="shared=127.0.0.1:0") as broker:
        with KafkaClient(broker.bootstrap) as client:
            Admin(client).create_topic("orders", partition_count=2)
            records = [
                Record(key=None, value=b"v%d" % n, timestamp_ms=n, headers=(Header("h", None),))
                for n in range(5)
            ]
            Producer(client).send("orders", records, partition=0)
            Producer(client).send("orders", records[:2], partition=1)
        yield broker.bootstrap


def test_the_log_tells_what_it_holds_and_which_topic_it_is(bootstrap: str) -> None:
    with OnelogLog(bootstrap) as log:
        assert log.spans(("orders",)) == {A: Range(0, 5), B: Range(0, 2)}
        assert len(log.topic_ids(("orders",))["orders"]) == 36


def test_windows_follow_each_other_and_end_where_they_were_told(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OnelogLog(bootstrap) as log:
        (whole,) = log.windows(A, Range(1, 4))
        assert whole.span == Range(1, 4)
        assert whole.records["offset"].to_pylist() == [1, 2, 3]
        assert whole.records["headers"].to_pylist()[0] == [{"key": "h", "value": None}]
        assert list(log.windows(A, Range(2, 2))) == []
        monkeypatch.setattr(log_module, "WINDOW_ROWS", 1)
        with KafkaClient(bootstrap) as client:
            Producer(client).send("orders", [Record(None, b"x", 0)], partition=0)
        spans = [window.span for window in log.windows(A, Range(0, 6))]
        assert (spans[0].start, spans[-1].end) == (0, 6)
        assert all(before.end == after.start for before, after in itertools.pairwise(spans))


@pytest.mark.spark
def test_what_was_produced_lands_and_is_proved_and_dead_letters_are_read_by_their_range(
    bootstrap: str, spark: SparkSession, tmp_path: Path
) -> None:
    checked = Flow(
        name="checked",
        topics=("orders",),
        sink=DeltaSink(str(tmp_path / "checked")),
        expect=(Expect("value <> 'v1'"),),
    )
    flows = (landing("orders", str(tmp_path / "landed")), checked)
    states = run(Pipeline(flows=flows, bootstrap=bootstrap), once=True, spark=spark)
    assert [(state.records, state.behind) for state in states] == [(7, 0), (7, 0)]
    with OnelogLog(bootstrap) as log:
        report = audit(str(tmp_path / "landed"), log)
        assert report.is_clean
        assert report.compared == 7
        dead = audit(str(tmp_path / "checked_dead_letters"), log)
        assert dead.is_clean
        assert dead.batch_count == 1

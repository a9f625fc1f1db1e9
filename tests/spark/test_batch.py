import pytest

from onelog.client.kafka.admin import Admin
from onelog.client.kafka.producer import Producer
from onelog.records.record import Header, Record
from tests.spark.conftest import Bench

pytestmark = pytest.mark.spark


def test_every_column_of_every_record_arrives(bench: Bench) -> None:
    bench.create("columns")
    record = Record(key=None, value=None, timestamp_ms=1_234, headers=(Header("h", b"x"), Header("n", None)))
    Producer(bench.client).send("columns", [Record(key=b"k", value=b"", timestamp_ms=5), record])
    first, second = bench.read("columns", includeHeaders="true").orderBy("offset").collect()
    assert (bytes(first.key), bytes(first.value), first.topic, first.partition) == (b"k", b"", "columns", 0)
    assert (first.offset, first.timestampType, first.headers) in ((0, 0, None), (0, 0, []))
    assert (second.key, second.value, second.offset) == (None, None, 1)
    assert [(h.key, h.value and bytes(h.value)) for h in second.headers] == [("h", b"x"), ("n", None)]
    assert second.timestamp.timestamp() == 1.234


def test_a_read_spans_partitions_and_stays_between_its_offsets(bench: Bench) -> None:
    bench.create("between", partitions=2)
    bench.fill("between", 10, partition=0)
    bench.fill("between", 10, partition=1)
    rows = bench.read(
        "between",
        startingOffsets='{"between": {"0": 4, "1": -2}}',
        endingOffsets='{"between": {"0": 6, "1": -1}}',
    ).collect()
    found = sorted((r.partition, r.offset) for r in rows)
    assert found == [(0, 4), (0, 5)] + [(1, n) for n in range(10)]


def test_partitions_can_be_assigned(bench: Bench) -> None:
    bench.create("assigned", partitions=2)
    bench.fill("assigned", 3, partition=0)
    bench.fill("assigned", 5, partition=1)
    reader = bench.spark.read.format("onelog").option("kafka.bootstrap.servers", bench.bootstrap)
    assert reader.option("assign", '{"assigned": [1]}').load().count() == 5


def test_fewer_columns_can_be_asked_for(bench: Bench) -> None:
    bench.create("pruned")
    bench.fill("pruned", 4)
    reader = bench.spark.read.format("onelog").schema("offset bigint, value binary")
    frame = reader.option("kafka.bootstrap.servers", bench.bootstrap).option("subscribe", "pruned").load()
    assert frame.columns == ["offset", "value"]
    assert [r.offset for r in frame.orderBy("offset").collect()] == [0, 1, 2, 3]


def test_lost_records_stop_a_read_unless_they_are_to_be_borne(bench: Bench) -> None:
    bench.create("lost")
    bench.fill("lost", 5)
    wanted = '{"lost": {"0": 9}}'
    with pytest.raises(Exception, match="the log ends at 5"):
        bench.read("lost", startingOffsets=wanted).count()
    assert bench.read("lost", startingOffsets=wanted, failOnDataLoss="false").count() == 0


def test_an_unknown_topic_is_named(bench: Bench) -> None:
    with pytest.raises(Exception, match="nowhere"):
        bench.read("nowhere").count()
    assert "nowhere" not in [t.name for t in Admin(bench.client).topics()]

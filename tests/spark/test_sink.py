from pathlib import Path

import pytest

from onelog.client.kafka.consumer import Consumer
from tests.spark.conftest import Bench

pytestmark = pytest.mark.spark


def _values(bench: Bench, topic: str, partition: int = 0) -> list[bytes | None]:
    return [record.value for _, record in Consumer(bench.client).iterate(topic, partition, 0)]


def test_rows_of_a_batch_become_records(bench: Bench) -> None:
    bench.create("sunk")
    frame = bench.spark.sql(
        "select 'k' as key, binary('v') as value, array(named_struct('key', 'h', 'value', binary('x'))) as headers"
    )
    frame.write.format("onelog").mode("append").option("kafka.bootstrap.servers", bench.bootstrap).option(
        "topic", "sunk"
    ).save()
    ((_, record),) = Consumer(bench.client).iterate("sunk", 0, 0)
    assert (record.key, record.value) == (b"k", b"v")
    assert [(h.key, h.value) for h in record.headers] == [("h", b"x")]


def test_a_row_may_name_its_topic_and_partition(bench: Bench) -> None:
    bench.create("named", partitions=2)
    frame = bench.spark.sql("select 'a' as value, 'named' as topic, 1 as partition")
    frame.write.format("onelog").mode("append").option("kafka.bootstrap.servers", bench.bootstrap).save()
    assert _values(bench, "named", 0) == []
    assert _values(bench, "named", 1) == [b"a"]


def test_a_stream_writes_what_it_reads(bench: Bench, tmp_path: Path) -> None:
    bench.create("from")
    bench.create("to")
    bench.fill("from", 20)
    query = (
        bench.stream("from", maxOffsetsPerTrigger="7")
        .select("key", "value")
        .writeStream.format("onelog")
        .option("kafka.bootstrap.servers", bench.bootstrap)
        .option("topic", "to")
        .option("kafka.compression.type", "lz4")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert _values(bench, "to") == [b"v%d" % n for n in range(20)]


def test_overwriting_a_log_is_refused(bench: Bench) -> None:
    frame = bench.spark.sql("select 'a' as value")
    writer = frame.write.format("onelog").mode("overwrite").option("topic", "x")
    with pytest.raises(Exception, match="never overwritten"):
        writer.option("kafka.bootstrap.servers", bench.bootstrap).save()

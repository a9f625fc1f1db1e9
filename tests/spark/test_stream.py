import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from onelog.client.kafka.admin import Admin
from onelog.spark.options import source_options
from onelog.spark.schema import source_schema
from onelog.spark.stream import StreamReader
from tests.spark.conftest import Bench

pytestmark = pytest.mark.spark


def _land(bench: Bench, topic: str, folder: Path, **options: str) -> list[Any]:
    """Everything that waits, into Parquet; how far each batch went."""
    writer = bench.stream(topic, **options).writeStream.format("parquet").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start(str(folder / "rows"))
    assert query.awaitTermination(60)
    return list(query.recentProgress)


def _offsets(bench: Bench, folder: Path) -> list[int]:
    return sorted(row.offset for row in bench.spark.read.parquet(str(folder / "rows")).collect())


def test_a_stream_goes_on_where_its_checkpoint_ends(bench: Bench, tmp_path: Path) -> None:
    bench.create("going-on")
    bench.fill("going-on", 5)
    _land(bench, "going-on", tmp_path)
    bench.fill("going-on", 5, first=5)
    _land(bench, "going-on", tmp_path)
    assert _offsets(bench, tmp_path) == list(range(10))


def test_a_batch_takes_no_more_than_its_limit(bench: Bench, tmp_path: Path) -> None:
    bench.create("limited")
    bench.fill("limited", 25)
    progress = _land(bench, "limited", tmp_path, maxOffsetsPerTrigger="10")
    assert [p.numInputRows for p in progress if p.numInputRows] == [10, 10, 5]
    assert _offsets(bench, tmp_path) == list(range(25))


def test_the_checkpoint_has_offsets_as_sparks_kafka_source_spells_them(bench: Bench, tmp_path: Path) -> None:
    bench.create("spelled", partitions=2)
    bench.fill("spelled", 3, partition=1)
    _land(bench, "spelled", tmp_path)
    last = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
    assert last.replace(" ", "") == '{"spelled":{"0":0,"1":3}}'


def test_progress_tells_how_far_behind_a_stream_is(bench: Bench, tmp_path: Path) -> None:
    bench.create("behind")
    bench.fill("behind", 12)
    progress = _land(bench, "behind", tmp_path, maxOffsetsPerTrigger="10")
    assert '"0": 12' in progress[0].sources[0].latestOffset


def test_a_topic_made_anew_stops_the_stream(bench: Bench, tmp_path: Path) -> None:
    bench.create("anew")
    bench.fill("anew", 5)
    _land(bench, "anew", tmp_path)
    Admin(bench.client).delete_topic("anew")
    bench.create("anew")
    with pytest.raises(Exception, match="the log ends at 0"):
        _land(bench, "anew", tmp_path)


def test_a_topic_made_anew_is_read_from_its_beginning_where_losses_are_borne(
    bench: Bench, tmp_path: Path
) -> None:
    bench.create("borne")
    bench.fill("borne", 5)
    _land(bench, "borne", tmp_path)
    Admin(bench.client).delete_topic("borne")
    bench.create("borne")
    bench.fill("borne", 2)
    for _ in range(2):  # one batch to notice, one to read
        _land(bench, "borne", tmp_path, failOnDataLoss="false")
    assert _offsets(bench, tmp_path) == [0, 0, 1, 1, 2, 3, 4]


@pytest.mark.parametrize(("end", "is_heard"), [(EOFError(), False), (ValueError("data was lost"), True)])
def test_a_reader_whose_spark_has_hung_up_says_nothing_more_and_any_other_does(
    end: Exception, is_heard: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = io.StringIO()
    monkeypatch.setattr(sys, "stderr", heard)
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
    reader = StreamReader(source_options(options, streaming=True), source_schema(include_headers=False))
    # As Spark's own runner of a stream's source does it.
    with contextlib.suppress(EOFError, ValueError):
        try:
            raise end
        finally:
            reader.stop()
    sys.stderr.write("a page of traceback")
    assert bool(heard.getvalue()) is is_heard

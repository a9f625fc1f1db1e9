from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from onelog.pipeline.errors import FlowError, LedgerError, TableError
from onelog.pipeline.flow import DeltaSink, Mode
from onelog.pipeline.ledger import Entry, Partition, Range, Verdict, judge
from onelog.pipeline.sinks import Rule, Sink
from onelog.pipeline.tables import Table

pytestmark = pytest.mark.spark

P = Partition("t", 0)


def entry(batch: int, start: int, end: int) -> Entry:
    return Entry("onelog/f", "q", batch, "", {P: Range(start, end)})


@contextmanager
def opened(sink: DeltaSink, frame: DataFrame, *, rule: Rule = judge) -> Iterator[Sink]:
    there = Sink(sink, frame.schema, app_id="onelog/f", where="flow 'f'", rule=rule)
    try:
        yield there
    finally:
        there.close()


def written(sink: Sink, frame: DataFrame, batch: Entry) -> Verdict:
    if sink.judge(batch) is Verdict.DONE:
        return Verdict.DONE
    return sink.commit(sink.stage(frame, batch), batch)


def rows(path: Path) -> list[tuple[object, ...]]:
    found = Table(str(path)).delta.to_pyarrow_dataset().to_table().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def test_a_batch_that_comes_twice_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id bigint, what string")
    with opened(DeltaSink(str(tmp_path)), frame) as sink:
        assert written(sink, frame, entry(0, 0, 2)) is Verdict.NEW
        assert written(sink, frame, entry(0, 0, 2)) is Verdict.DONE
    assert rows(tmp_path) == [(1, "a"), (2, "b")]
    assert list((tmp_path / "_onelog" / "staging").iterdir()) == []


def test_without_the_check_of_the_batch_number_it_is_there_twice(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    with opened(DeltaSink(str(tmp_path)), frame, rule=lambda last, batch: Verdict.NEW) as sink:
        written(sink, frame, entry(0, 0, 1))
        written(sink, frame, entry(0, 0, 1))
    assert rows(tmp_path) == [(1, "a"), (1, "a")]


def test_a_writer_that_was_overtaken_with_the_same_batch_leaves_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    with opened(DeltaSink(str(tmp_path)), frame) as sink:
        staged = sink.stage(frame, entry(0, 0, 1))
        Table(str(tmp_path)).append([], entry(0, 0, 1))
        assert sink.commit(staged, entry(0, 0, 1)) is Verdict.DONE
    assert rows(tmp_path) == []
    assert list(tmp_path.glob("*.parquet")) == []


def test_a_batch_goes_in_behind_a_clean_up_of_files(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    with opened(DeltaSink(str(tmp_path)), frame) as sink:
        written(sink, frame, entry(0, 0, 1))
        written(sink, frame, entry(1, 1, 2))
        staged = sink.stage(frame, entry(2, 2, 3))
        Table(str(tmp_path)).delta.optimize.compact()
        assert sink.commit(staged, entry(2, 2, 3)) is Verdict.NEW
    assert len(rows(tmp_path)) == 3


def test_a_gap_is_refused_and_nothing_written(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    with opened(DeltaSink(str(tmp_path)), frame) as sink:
        written(sink, frame, entry(0, 0, 1))
        with pytest.raises(LedgerError, match="a gap"):
            written(sink, frame, entry(1, 5, 6))
    assert len(rows(tmp_path)) == 1


def test_an_upsert_keeps_the_last_record_of_a_key(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id bigint, what string, _offset bigint, _timestamp timestamp, _log_partition int"
    values = [(1, "old", 0), (1, "new", 2), (2, "b", 1), (None, "n", 3)]
    frame = spark.createDataFrame([(*v, None, 0) for v in values], columns)
    later = spark.createDataFrame([(1, "newest", 4, None, 0), (None, "m", 5, None, 0)], columns)
    with opened(DeltaSink(str(tmp_path), Mode.UPSERT, ("id",)), frame) as sink:
        written(sink, frame, entry(0, 0, 4))
        written(sink, later, entry(1, 4, 6))
        assert written(sink, later, entry(1, 4, 6)) is Verdict.DONE
    assert [row[:2] for row in rows(tmp_path)] == [(1, "newest"), (2, "b"), (None, "m")]


def test_rows_that_share_their_key_are_refused_where_no_order_is_known(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql("select struct(1 as a) as id, x from values (1), (2) as t(x)")
    with (
        opened(DeltaSink(str(tmp_path), Mode.UPSERT, ("id",)), frame) as sink,
        pytest.raises(TableError, match=r"flow 'f', batch 0: 1 rows share their key \(id\)"),
    ):
        written(sink, frame, entry(0, 0, 2))
    assert rows(tmp_path) == []


def test_a_key_or_a_column_that_is_not_there_is_told(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    with (
        pytest.raises(FlowError, match="key 'idd'; expected some of id, what"),
        opened(DeltaSink(str(tmp_path), Mode.UPSERT, ("idd",)), frame),
    ):
        pass
    with opened(DeltaSink(str(tmp_path)), frame) as sink:
        written(sink, frame, entry(0, 0, 1))
    other = spark.createDataFrame([(1, 2)], "id bigint, more bigint")
    with (
        pytest.raises(TableError, match="more is bigint, in the table not there; what is not there, in the"),
        opened(DeltaSink(str(tmp_path)), other),
    ):
        pass
    with opened(DeltaSink(str(tmp_path)), frame):
        pass


def test_a_table_that_nothing_was_committed_to_is_made_anew_for_other_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    other = spark.createDataFrame([(1, 2)], "id bigint, more bigint")
    with opened(DeltaSink(str(tmp_path)), frame):
        pass
    with opened(DeltaSink(str(tmp_path)), other) as sink:
        written(sink, other, entry(0, 0, 1))
    assert rows(tmp_path) == [(1, 2)]


def test_an_empty_table_of_somebody_else_is_never_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    DeltaTable.create(tmp_path, pa.schema([("id", pa.int64())]))
    with (
        pytest.raises(TableError, match="what is string, in the table not there"),
        opened(DeltaSink(str(tmp_path)), frame),
    ):
        pass
    assert Table(str(tmp_path)).delta.version() == 0


def test_a_sink_that_was_not_used_takes_back_what_it_made_and_nothing_else(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.createDataFrame([(1, "a")], "id bigint, what string")
    path = tmp_path / "t"
    Sink(DeltaSink(str(path)), frame.schema, app_id="onelog/f", where="flow 'f'").undo()
    assert not path.exists()
    with opened(DeltaSink(str(path)), frame):
        pass
    Sink(DeltaSink(str(path)), frame.schema, app_id="onelog/f", where="flow 'f'").undo()
    assert Table.exists(str(path))

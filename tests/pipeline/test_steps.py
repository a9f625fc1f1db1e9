from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from onelog.pipeline import steps
from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import DeltaSink, Flow, Watermark
from onelog.pipeline.ledger import Partition, Range
from tests.support.folder_log import FolderLog

pytestmark = pytest.mark.spark


def flow(**said: Any) -> Flow:
    return Flow(**{"name": "f", "topics": ("t",), "sink": DeltaSink("x"), **said})


@pytest.fixture
def source(spark: SparkSession, log: FolderLog) -> DataFrame:
    log.append("t", '{"id": 1, "at": "2026-01-01T10:00:00Z"}', "{no", None)
    return log.batch(spark, {Partition("t", 0): Range(0, 3)})


def test_without_a_schema_rows_are_the_records(source: DataFrame) -> None:
    rows = steps.rows(steps.records(source, flow()), flow())
    assert tuple(rows.columns) == steps.LANDING
    first = rows.collect()[0]
    assert (first._topic, first._log_partition, first._offset, bytes(first.key)) == ("t", 0, 0, b"k0")


def test_with_a_schema_rows_are_its_fields_and_the_lineage(source: DataFrame) -> None:
    parsed = flow(schema="id bigint, at timestamp")
    frame = steps.records(source, parsed)
    assert [r._malformed for r in frame.orderBy("_offset").collect()] == [False, True, True]
    rows = steps.rows(frame, parsed)
    assert tuple(rows.columns) == ("id", "at", *steps.LINEAGE, "_key")
    assert rows.where("id = 1").select("at").first()["at"].isoformat() == "2026-01-01T10:00:00"


def test_steps_run_one_upon_the_other_in_sql_and_python(spark: SparkSession) -> None:
    frame = spark.range(4)
    result = steps.run(
        frame, ("select id * 2 as id from input", lambda df: df.where("id > 2"), "select max(id) m from input"),
        where="flow 'f'",
    )  # fmt: skip
    assert result.collect()[0].m == 6
    assert not spark.catalog.tableExists("input")


def test_a_step_that_is_wrong_is_told_with_its_number_and_the_columns(spark: SparkSession) -> None:
    with pytest.raises(FlowError, match=r"flow 'f', step 2: .*`nope`.*the view 'input' with id\."):
        steps.run(spark.range(1), ("select id from input", "select nope from input"), where="flow 'f'")
    with pytest.raises(FlowError, match="step 1: gave int; expected a DataFrame"):
        steps.run(spark.range(1), (lambda df: df.count(),), where="flow 'f'")


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("id bogus", "schema = 'id bogus': Unsupported data type"),
        ("_offset bigint", "names a field '_offset'"),
    ],
)
def test_a_schema_that_is_wrong_is_told(source: DataFrame, schema: str, told: str) -> None:
    with pytest.raises(FlowError, match=told):
        steps.records(source, flow(schema=schema))


def test_a_watermark_is_on_a_column_that_is_there(spark: SparkSession) -> None:
    with pytest.raises(FlowError, match="watermark on 'at'; expected one of id"):
        steps.watermarked(spark.range(1), flow(watermark=Watermark("at", "1 minute")))
    assert steps.watermarked(spark.range(1), flow()).columns == ["id"]

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from onelog.spark.options import OptionsError, SinkOptions
from onelog.spark.rows import check_columns, records

TO_T = SinkOptions(bootstrap="h:1", topic="t", compression="none", client_id="c")
TO_ANY = SinkOptions(bootstrap="h:1", topic=None, compression="none", client_id="c")


def _schema(**columns: object) -> StructType:
    return StructType([StructField(name, kind, True) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("schema", "options", "complaint"),
    [
        (_schema(key=StringType()), TO_T, "value is missing"),
        (_schema(value=StringType()), TO_ANY, "no topic"),
        (_schema(value=IntegerType()), TO_T, "expected binary or string"),
        (_schema(value=StringType(), partition=StringType()), TO_T, "expected int"),
        (_schema(value=StringType(), colour=StringType()), TO_T, "colour is not known"),
    ],
)
def test_a_frame_that_is_not_of_records_is_refused(
    schema: StructType, options: SinkOptions, complaint: str
) -> None:
    with pytest.raises(OptionsError) as refusal:
        check_columns(schema, options)
    assert complaint in str(refusal.value)


def test_text_and_bytes_are_values() -> None:
    check_columns(_schema(value=StringType(), key=StringType()), TO_T)
    batch = pa.record_batch({"value": pa.array(["ä", None]), "key": pa.array([b"k", None])})
    found = list(records(batch, TO_T, timestamp_ms=7))
    assert [target for target, _ in found] == [("t", None), ("t", None)]
    assert [(r.key, r.value, r.timestamp_ms) for _, r in found] == [(b"k", "ä".encode(), 7), (None, None, 7)]


def test_the_option_beats_the_column() -> None:
    batch = pa.record_batch(
        {"value": pa.array(["a"]), "topic": pa.array(["other"]), "partition": pa.array([3])}
    )
    ((target, _),) = records(batch, TO_T, timestamp_ms=0)
    assert target == ("t", 3)


def test_a_row_without_a_topic_is_refused() -> None:
    batch = pa.record_batch({"value": pa.array(["a"]), "topic": pa.array([None], pa.string())})
    with pytest.raises(ValueError, match="no topic"):
        list(records(batch, TO_ANY, timestamp_ms=0))

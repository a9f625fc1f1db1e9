import io
import json
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onelog.pipeline.statistics import statistics


def said(table: pa.Table, **options: Any) -> dict[str, Any]:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    found: dict[str, Any] = json.loads(statistics(pq.read_metadata(file)))
    return found


def test_bounds_span_all_row_groups() -> None:
    found = said(pa.table({"offset": [5, 9, None, 1]}), row_group_size=2)
    assert found == {
        "numRecords": 4,
        "minValues": {"offset": 1},
        "maxValues": {"offset": 9},
        "nullCount": {"offset": 1},
    }


def test_the_upper_bound_of_a_time_is_not_below_it() -> None:
    at = datetime(2026, 1, 1, 12, 0, 0, 123_456, UTC)
    found = said(pa.table({"at": pa.array([at], pa.timestamp("us", tz="UTC"))}))
    assert found["minValues"]["at"] == "2026-01-01T12:00:00.123Z"
    assert found["maxValues"]["at"] == "2026-01-01T12:00:00.124Z"


def test_texts_and_days_are_bounded_and_long_texts_left_out() -> None:
    found = said(pa.table({"t": ["a", "b"], "long": ["x" * 65, "y"], "day": [date(2026, 1, 2)] * 2}))
    assert found["minValues"] == {"t": "a", "day": "2026-01-02"}
    assert found["maxValues"] == {"t": "b", "day": "2026-01-02"}
    assert found["nullCount"] == {"t": 0, "long": 0, "day": 0}


def test_a_column_of_nulls_has_no_bounds_and_bytes_truths_and_nested_ones_neither() -> None:
    nothing = pa.array([None, None], pa.int64())
    found = said(pa.table({"n": nothing, "b": [b"x", b"y"], "yes": [True, False], "s": [{"a": 1}, {"a": 2}]}))
    assert found["minValues"] == {}
    assert found["nullCount"] == {"n": 2, "b": 0, "yes": 0}

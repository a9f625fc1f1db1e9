"""Rows of a sink as records: which columns may be there, and what they have to be.

The columns are those of Spark's own Kafka sink: value, and where wanted key, topic, headers and
partition. Pure but for Arrow; what cannot be written is refused before anything is sent.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

from onelog.records.record import Header, Record
from onelog.spark.options import OptionsError, SinkOptions
from onelog.spark.schema import HEADERS

Target = tuple[str, int | None]

_KINDS = {
    "key": (BinaryType(), StringType()),
    "value": (BinaryType(), StringType()),
    "topic": (StringType(),),
    "partition": (IntegerType(),),
    "headers": (HEADERS,),
}


def check_columns(schema: StructType, options: SinkOptions) -> None:
    """Refuse a frame that is not one of records, by the column that is wrong."""
    found = {field.name: field.dataType for field in schema.fields}
    if "value" not in found:
        raise OptionsError(f"a column value is missing; found {', '.join(found)}.")
    if "topic" not in found and options.topic is None:
        raise OptionsError('no topic: set the option "topic", or have a column topic.')
    for name, kind in found.items():
        if name not in _KINDS:
            raise OptionsError(f"column {name} is not known; expected {', '.join(_KINDS)}. Drop it.")
        if not any(_matches(kind, expected) for expected in _KINDS[name]):
            expected_text = " or ".join(e.simpleString() for e in _KINDS[name])
            raise OptionsError(f"column {name} is {kind.simpleString()}; expected {expected_text}.")


def records(
    batch: pa.RecordBatch, options: SinkOptions, *, timestamp_ms: int
) -> Iterator[tuple[Target, Record]]:
    """Each row as a record and where it is to go; a partition of None is chosen by the key."""
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    nothing = [None] * batch.num_rows
    topics = nothing if options.topic is not None else columns["topic"]
    rows = zip(
        topics,
        columns.get("partition", nothing),
        columns.get("key", nothing),
        columns["value"],
        columns.get("headers", nothing),
        strict=True,
    )
    for topic, partition, key, value, headers in rows:
        name = options.topic or topic
        if name is None:
            raise ValueError(
                'a row has no topic: its column topic is null, and the option "topic" is not set.'
            )
        record = Record(
            key=_bytes(key), value=_bytes(value), timestamp_ms=timestamp_ms, headers=_headers(headers)
        )
        yield (name, partition), record


def _matches(found: Any, expected: Any) -> bool:
    # By text: whether a column may be null says nothing about what is in it.
    return bool(found.simpleString() == expected.simpleString())


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(found: list[dict[str, object]] | None) -> tuple[Header, ...]:
    return tuple(Header(str(h["key"]), h["value"]) for h in found or ())  # type: ignore[arg-type]  # bytes by schema

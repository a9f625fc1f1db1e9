"""DataFrame to DataFrame: from a log's columns to rows of a flow, and on through its steps.

Lineage columns say for every row which record it came from. They are spelled with a leading
underscore so that they never meet a field of a schema; `_log_partition`, because Iceberg keeps
`_partition` for itself. Pure: nothing here reads, writes or opens a session.
"""

import re
from collections.abc import Sequence

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import Flow, Step

LINEAGE = ("_topic", "_log_partition", "_offset", "_timestamp")
RAW = ("_key", "_value", "_headers")
PLAIN = ("key", "value", "headers")
LANDING = (*LINEAGE, *PLAIN)
MALFORMED = "_malformed"
INPUT = "input"

_PARSED = "_parsed"
_RESERVED = (*LINEAGE, *RAW, MALFORMED, _PARSED, "_verdict")


def records(source: DataFrame, flow: Flow) -> DataFrame:
    """The source's columns by our names, and beside them what the flow sees of a record.

    That is the schema's fields and `_malformed`, or without a schema key, value and headers.
    """
    raw = source.select(
        f.col("topic").alias("_topic"),
        f.col("partition").alias("_log_partition"),
        f.col("offset").alias("_offset"),
        f.col("timestamp").alias("_timestamp"),
        f.col("key").alias("_key"),
        f.col("value").alias("_value"),
        f.col("headers").alias("_headers"),
    )
    if flow.schema is None:
        return raw.select("*", *(f.col(r).alias(p) for r, p in zip(RAW, PLAIN, strict=True)))
    fields = _schema(flow)
    kind = StructType(list(fields.fields)).add(MALFORMED, "string")
    text = f.col("_value").cast("string")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}
    frame = raw.withColumn(_PARSED, f.from_json(text, kind, options))
    parsed = f.col(_PARSED)
    return frame.select(
        *LINEAGE,
        *RAW,
        *(parsed.getField(name).alias(name) for name in fields.names),
        (parsed.isNull() | parsed.getField(MALFORMED).isNotNull()).alias(MALFORMED),
    )


def rows(frame: DataFrame, flow: Flow) -> DataFrame:
    """What the steps see as `input`, out of what records() gave."""
    if flow.schema is None:
        return frame.select(*LANDING)
    return frame.select(*_schema(flow).names, *LINEAGE, "_key")


def watermarked(frame: DataFrame, flow: Flow) -> DataFrame:
    """With the flow's watermark, if it has one."""
    if flow.watermark is None:
        return frame
    if flow.watermark.column not in frame.columns:
        raise FlowError(
            f"flow {flow.name!r}: watermark on {flow.watermark.column!r}; expected one of "
            f"{', '.join(frame.columns)}."
        )
    return frame.withWatermark(flow.watermark.column, flow.watermark.delay)


def run(frame: DataFrame, steps: Sequence[Step], *, where: str) -> DataFrame:
    """Each step upon what the one before it gave."""
    for number, step in enumerate(steps, 1):
        place = f"{where}, step {number}"
        if isinstance(step, str):
            frame = _sql(frame, step, where=place)
            continue
        result = step(frame)
        if not isinstance(result, DataFrame):
            raise FlowError(f"{place}: gave {type(result).__name__}; expected a DataFrame.")
        frame = result
    return frame


def _sql(frame: DataFrame, text: str, *, where: str) -> DataFrame:
    session = frame.sparkSession
    frame.createOrReplaceTempView(INPUT)
    try:
        return session.sql(text)
    except (ParseException, AnalysisException) as error:
        raise FlowError(
            f"{where}: {first_line(error)} In: {text.strip()[:200]!r}. The rows are the view {INPUT!r} with "
            f"{', '.join(frame.columns)}."
        ) from None
    finally:
        session.catalog.dropTempView(INPUT)


def _schema(flow: Flow) -> StructType:
    where = f"flow {flow.name!r}"
    try:
        fields = StructType.fromDDL(flow.schema or "")
    except (ParseException, AnalysisException) as error:
        raise FlowError(
            f"{where}: schema = {flow.schema!r}: {first_line(error)} Expected columns as in "
            "'id bigint, at timestamp'."
        ) from None
    assert isinstance(fields, StructType)
    for name in fields.names:
        if name.lower() in _RESERVED:
            raise FlowError(
                f"{where}: schema names a field {name!r}; expected none of {', '.join(_RESERVED)}."
            )
    return fields


def first_line(error: Exception) -> str:
    """What Spark's analysis says, without its codes and the plan behind it."""
    line = str(error).strip().splitlines()[0]
    return re.sub(r"^\[[A-Z_.0-9]+\] |\s*SQLSTATE: \w{5}|[;(] ?line \d+,? pos \d+\)?;?", "", line).strip()

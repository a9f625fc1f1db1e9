"""Rules on records: the good ones go on, the others leave with a reason. Nothing is dropped silently.

A rule is a condition in Spark's SQL; what is not true (false, or unknown because something is
null) breaks it. The first broken rule decides. A value that does not parse by the schema
breaks a rule of its own, before all others.
"""

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from onelog.pipeline import steps
from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import Expect, Flow, Otherwise

SCHEMA_RULE = "value parses by the schema"
FAILED = "onelog: a rule that must hold is broken: "
"""Opens the text of the error that a `fail` rule raises on an executor."""

_VERDICT = "_verdict"


def good(source: DataFrame, flow: Flow) -> DataFrame:
    """The rows that keep every rule, as the steps see them. Fails the task where a `fail` rule is broken."""
    frame = _judged(source, flow)
    if _VERDICT in frame.columns:
        verdict = f.col(_VERDICT)
        where = f.concat(
            f.lit(FAILED), f.col("_topic"), f.lit("/"), f.col("_log_partition"), f.lit(" at offset "),
            f.col("_offset"), f.lit(": "), verdict.getField("rule"), f.lit(": "), verdict.getField("reason"),
        )  # fmt: skip
        must_fail = verdict.getField("way") == Otherwise.FAIL.value
        frame = frame.filter(f.when(must_fail, f.raise_error(where)).otherwise(verdict.isNull()))
    return steps.rows(frame, flow)


def dead_letters(source: DataFrame, flow: Flow) -> DataFrame:
    """The records that a `dead_letter` rule turns away: as they came, with the rule and the reason."""
    verdict = f.col(_VERDICT)
    frame = _judged(source, flow).filter(verdict.getField("way") == Otherwise.DEAD_LETTER.value)
    return frame.select(
        *steps.LINEAGE,
        *(f.col(raw).alias(plain) for raw, plain in zip(steps.RAW, steps.PLAIN, strict=True)),
        verdict.getField("rule").alias("rule"),
        verdict.getField("reason").alias("reason"),
    )


def _judged(source: DataFrame, flow: Flow) -> DataFrame:
    """records(), with the verdict beside them where the flow has rules: null, or rule, way and reason."""
    frame = steps.records(source, flow)
    if flow.schema is None and not flow.expect:
        return frame
    broken = f.lit(None)
    for expect in reversed(flow.expect):
        holds = _condition(frame, expect, flow)
        reason = f.when(holds.isNull(), f.lit("not known, something is null")).otherwise(f.lit("false"))
        verdict = _verdict(expect.rule, expect.otherwise, reason)
        broken = f.when(~f.coalesce(holds, f.lit(False)), verdict).otherwise(broken)
    if flow.schema is not None:
        reason = f.when(f.col("_value").isNull(), f.lit("the value is null")).otherwise(
            f.lit(f"not JSON of {flow.schema}")
        )
        verdict = _verdict(SCHEMA_RULE, flow.malformed, reason)
        broken = f.when(f.col(steps.MALFORMED), verdict).otherwise(broken)
    return frame.withColumn(_VERDICT, broken)


def _condition(frame: DataFrame, expect: Expect, flow: Flow) -> Column:
    """The rule as a column; what cannot be one is refused here, with the rule's own words."""
    where = f"flow {flow.name!r}: expect {expect.rule!r}"
    try:
        holds = f.expr(expect.rule)
        kind = frame.select(holds).schema[0].dataType.simpleString()
    except (ParseException, AnalysisException) as error:
        raise FlowError(f"{where}: {steps.first_line(error)}") from None
    if kind != "boolean":
        raise FlowError(f"{where}: is of type {kind}; expected a condition.")
    return holds


def _verdict(rule: str, way: Otherwise, reason: Column) -> Column:
    return f.struct(f.lit(rule).alias("rule"), f.lit(way.value).alias("way"), reason.alias("reason"))

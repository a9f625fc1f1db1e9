"""The columns of the source and the sink: those of Spark's own Kafka source, name by name."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

HEADERS = ArrayType(
    StructType([StructField("key", StringType(), True), StructField("value", BinaryType(), True)]), True
)

_COLUMNS = (
    StructField("key", BinaryType(), True),
    StructField("value", BinaryType(), True),
    StructField("topic", StringType(), True),
    StructField("partition", IntegerType(), True),
    StructField("offset", LongType(), True),
    StructField("timestamp", TimestampType(), True),
    StructField("timestampType", IntegerType(), True),
)


def source_schema(*, include_headers: bool) -> StructType:
    """What a read gives, unless its user asks for fewer columns with .schema(...)."""
    columns = list(_COLUMNS)
    if include_headers:
        columns.append(StructField("headers", HEADERS, True))
    return StructType(columns)

from onelog.spark.schema import source_schema

# As Spark's documentation of its Kafka source lists them.
KAFKA = [
    ("key", "binary"),
    ("value", "binary"),
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("timestamp", "timestamp"),
    ("timestampType", "int"),
    ("headers", "array<struct<key:string,value:binary>>"),
]


def test_columns_and_types_are_those_of_sparks_kafka_source() -> None:
    found = [(f.name, f.dataType.simpleString()) for f in source_schema(include_headers=True).fields]
    assert found == KAFKA
    assert [(f.name, f.dataType.simpleString()) for f in source_schema(include_headers=False)] == KAFKA[:-1]

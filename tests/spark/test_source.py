import pytest
from pyspark.sql.types import StructType

from onelog.spark.source import OnelogSource
from tests.spark.conftest import Bench

pytestmark = pytest.mark.spark


def test_a_plain_session_knows_the_source_by_its_name(bench: Bench) -> None:
    """Nothing registers it: Spark finds the package pyspark_onelog."""
    bench.create("known")
    assert bench.read("known").count() == 0


def test_headers_are_a_column_only_when_asked_for() -> None:
    def columns(**options: str) -> list[str]:
        schema: StructType = OnelogSource({"subscribe": "t", **options}).schema()
        return list(schema.names)

    assert "headers" not in columns()
    assert columns(includeHeaders="true")[-1] == "headers"


def test_an_unknown_option_fails_the_query_with_the_nearest_name(bench: Bench) -> None:
    bench.create("optioned")
    with pytest.raises(Exception, match="did you mean startingOffsets"):
        bench.read("optioned", startingOfsets="earliest")

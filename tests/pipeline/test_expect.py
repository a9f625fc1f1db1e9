from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from onelog.pipeline import expect
from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import DeltaSink, Expect, Flow, Otherwise
from onelog.pipeline.ledger import Partition, Range
from tests.support.folder_log import FolderLog

pytestmark = pytest.mark.spark

GOOD = '{"id": 1, "cents": 5}'
VALUES = (GOOD, '{"id": 2, "cents": -5}', '{"id": 3}', "{no", None, '{"id": 5, "cents": "five"}')


def flow(*rules: Expect, **said: Any) -> Flow:
    default = {"name": "f", "topics": ("t",), "sink": DeltaSink("x"), "schema": "id bigint, cents bigint"}
    return Flow(**{**default, "expect": rules, **said})


@pytest.fixture
def source(spark: SparkSession, log: FolderLog) -> DataFrame:
    log.append("t", *VALUES)
    return log.batch(spark, {Partition("t", 0): Range(0, len(VALUES))})


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


def test_what_keeps_every_rule_goes_on_and_the_rest_leaves_with_rule_and_reason(source: DataFrame) -> None:
    rules = flow(Expect("cents >= 0"), Expect("id < 100"))
    assert ids(expect.good(source, rules)) == [1]
    dead = expect.dead_letters(source, rules).orderBy("_offset").collect()
    assert [(r._offset, r.rule, r.reason) for r in dead] == [
        (1, "cents >= 0", "false"),
        (2, "cents >= 0", "not known, something is null"),
        (3, expect.SCHEMA_RULE, "not JSON of id bigint, cents bigint"),
        (4, expect.SCHEMA_RULE, "the value is null"),
        (5, expect.SCHEMA_RULE, "not JSON of id bigint, cents bigint"),
    ]
    assert bytes(dead[0].value).decode() == VALUES[1]
    assert bytes(dead[0].key) == b"k1"
    assert dead[0].headers[0].key == "source"


def test_a_dropped_record_is_neither_here_nor_there(source: DataFrame) -> None:
    rules = flow(Expect("cents >= 0", Otherwise.DROP), malformed=Otherwise.DROP)
    assert ids(expect.good(source, rules)) == [1]
    assert expect.dead_letters(source, rules).count() == 0


def test_the_first_broken_rule_decides(source: DataFrame) -> None:
    rules = flow(Expect("cents >= 0", Otherwise.DROP), Expect("cents > -100"), malformed=Otherwise.DROP)
    assert expect.dead_letters(source, rules).count() == 0


def test_a_rule_that_must_hold_names_the_record_that_breaks_it(source: DataFrame) -> None:
    rules = flow(Expect("cents >= 0", Otherwise.FAIL), malformed=Otherwise.DROP)
    with pytest.raises(PySparkException, match="t/0 at offset 1: cents >= 0: false"):
        expect.good(source, rules).collect()


def test_rules_hold_for_records_without_a_schema_too(source: DataFrame) -> None:
    rules = flow(Expect("value is not null"), schema=None)
    assert expect.good(source, rules).count() == 5
    assert expect.dead_letters(source, rules).collect()[0]._offset == 4


def test_a_flow_without_rules_passes_everything(source: DataFrame) -> None:
    assert expect.good(source, flow(schema=None)).count() == len(VALUES)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("nope > 1", "expect 'nope > 1': .*`nope`"),
        ("cents +", "expect 'cents \\+'"),
        ("cents", "is of type bigint"),
    ],
)
def test_a_rule_that_is_none_is_told(source: DataFrame, rule: str, told: str) -> None:
    with pytest.raises(FlowError, match=told):
        expect.good(source, flow(Expect(rule)))

from typing import Any

import pytest

from onelog.pipeline.errors import FlowError
from onelog.pipeline.flow import DeltaSink, Expect, Flow, Mode, Otherwise, Pipeline, landing


def flow(**said: Any) -> Flow:
    return Flow(**{"name": "orders", "topics": ("orders",), "sink": DeltaSink("t"), **said})


def test_a_flow_without_schema_rules_and_steps_is_a_landing() -> None:
    assert landing("orders", "t").is_landing
    assert not flow(steps=("select 1",)).is_landing
    assert not flow(sink=DeltaSink("t", Mode.UPSERT, ("key",))).is_landing
    assert not flow(expect=(Expect("true"),)).is_landing
    assert not flow(schema="id bigint").is_landing


def test_a_landing_of_a_topic_with_dots_has_a_name_that_can_name_files() -> None:
    assert landing("shop.orders", "t").name == "land_shop_orders"


def test_dead_letters_are_there_when_some_record_could_become_one() -> None:
    assert flow(schema="id bigint").has_dead_letters
    assert not flow(schema="id bigint", malformed=Otherwise.DROP).has_dead_letters
    assert flow(expect=(Expect("true"),)).has_dead_letters
    assert not flow(expect=(Expect("true", Otherwise.FAIL),)).has_dead_letters


def test_checkpoint_and_dead_letters_lie_with_the_table() -> None:
    there = flow(sink=DeltaSink("tables/orders/"))
    assert there.checkpoint_path == "tables/orders/_onelog/checkpoint"
    assert there.sink.dead_letters_path == "tables/orders_dead_letters"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"name": "a b"}, "flow 'a b': expected a name"),
        ({"topics": ()}, "no topics"),
        ({"topics": ("a", "a")}, "named twice"),
        ({"topics": ("a/b",)}, "cannot be a topic"),
        ({"records_per_batch_max": 0}, "expected 1 or more"),
    ],
)
def test_what_cannot_be_a_flow_is_refused_where_it_is_said(said: dict[str, Any], told: str) -> None:
    with pytest.raises(FlowError, match=told):
        flow(**said)


def test_an_upsert_needs_a_key_and_an_append_has_none() -> None:
    with pytest.raises(FlowError, match="needs a key"):
        DeltaSink("t", Mode.UPSERT)
    with pytest.raises(FlowError, match="a key is for mode 'upsert'"):
        DeltaSink("t", key=("id",))
    with pytest.raises(FlowError, match="path of a folder"):
        DeltaSink("s3://bucket/t")
    with pytest.raises(FlowError, match="rule is empty"):
        Expect(" ")


def test_two_flows_do_not_share_name_table_or_checkpoint() -> None:
    one = flow()
    for other, what in (
        (flow(sink=DeltaSink("u")), "name"),
        (flow(name="b", sink=DeltaSink("t/")), "table"),
        (flow(name="b", sink=DeltaSink("u"), checkpoint="t/_onelog/checkpoint"), "checkpoint"),
    ):
        with pytest.raises(FlowError, match=f"two flows have the {what}"):
            Pipeline(flows=(one, other))
    with pytest.raises(FlowError, match="no flow"):
        Pipeline(flows=())


@pytest.mark.parametrize(
    "text", ["1 second", "0 seconds", "interval 10 MINUTES", "1 minute 30 seconds", "1.5 seconds"]
)
def test_a_span_of_time_is_what_spark_takes_for_one(text: str) -> None:
    assert Pipeline(flows=(flow(),), trigger=text).trigger == text


@pytest.mark.parametrize("text", ["", "1 secnd", "1", "second", "-1 second", "1.5 minutes", "1 month"])
def test_what_is_no_span_of_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(FlowError, match=r"trigger = .*; expected a span of time like '1 second'"):
        Pipeline(flows=(flow(),), trigger=text)

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onelog
from onelog.client.errors import BadAnswer, BrokerUnavailable, ClientError, OutcomeUnknown
from onelog.client.retry import Retrier, RetryPolicy
from onelog.client.rustlog.client import (
    PAYLOAD_BYTES_MAX,
    RECORDS_MAX,
    Fetched,
    Produced,
    RustLogClient,
    lots,
)
from onelog.client.rustlog.errors import RustLogError
from onelog.protocols.rustlog.messages.json import FetchedRecord, PartitionSummary, TopicSummary
from tests.support.hand_clock import HandClock
from tests.support.scripted_server import HANG_UP, ScriptedServer

Answers = Callable[..., tuple[RustLogClient, ScriptedServer]]


@pytest.fixture
def answering() -> Iterator[Answers]:
    """A client and a server that gives these answers, one after the other."""
    open_ones: list[Any] = []

    def make(*answers: object) -> tuple[RustLogClient, ScriptedServer]:
        left = iter(answers)

        def script(_: bytes) -> object:
            answer = next(left)
            return answer if answer is HANG_UP else json.dumps(answer).encode()

        server, clock = ScriptedServer(script), HandClock()
        retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
        client = RustLogClient(server.address, retrier=retrier)
        open_ones.extend((client, server))
        return client, server

    yield make
    for each in open_ones:
        each.close()


def asked(server: ScriptedServer) -> list[Any]:
    return [json.loads(frame) for frame in server.frames]


def test_records_are_produced_and_their_place_comes_back(answering: Answers) -> None:
    client, server = answering({"type": "ProduceResponse", "base_offset": 42, "record_count": 2})
    assert client.produce("events", 1, [b"hello", b"\xff"]) == [Produced(42, 44)]
    assert asked(server) == [
        {"type": "Produce", "topic": "events", "partition": 1, "records": ["aGVsbG8=", "/w=="]}
    ]


def test_a_produce_whose_answer_was_lost_is_not_sent_again(answering: Answers) -> None:
    client, server = answering(HANG_UP)
    with pytest.raises(OutcomeUnknown, match=r"producing to events/0.* may have done it"):
        client.produce("events", 0, [b"x"])
    assert len(server.frames) == 1


def test_a_fetch_whose_answer_was_lost_is_asked_again(answering: Answers) -> None:
    answer = {
        "type": "FetchResponse",
        "records": [{"offset": 7, "timestamp": 1641024000000000, "payload": "aGVsbG8="}],
        "next_offset": 8,
    }
    client, server = answering(
        HANG_UP, {"type": "Error", "code": 503, "message": "busy", "details": None}, answer
    )
    assert client.fetch("events", 0, 7, group="g") == Fetched(
        [FetchedRecord(7, 1641024000000000, b"hello")], 8
    )
    assert len(server.frames) == 3
    assert asked(server)[-1] == {
        "type": "Fetch",
        "group_id": "g",
        "topic": "events",
        "partition": 0,
        "offset": 7,
        "max_bytes": 1 << 20,
    }


def test_iterating_goes_on_until_there_is_no_record(answering: Answers) -> None:
    def page(*offsets: int, next: int) -> dict[str, Any]:
        records = [{"offset": o, "timestamp": 0, "payload": ""} for o in offsets]
        return {"type": "FetchResponse", "records": records, "next_offset": next}

    client, server = answering(page(0, 1, next=2), page(2, next=3), page(next=3))
    assert [record.offset for record in client.iterate("events", 0, 0)] == [0, 1, 2]
    assert [request["offset"] for request in asked(server)] == [0, 2, 3]


def test_an_error_of_the_broker_is_typed(answering: Answers) -> None:
    client, _ = answering(
        {"type": "Error", "code": 404, "message": "no such topic", "details": {"available_topics": ["a"]}}
    )
    with pytest.raises(RustLogError) as caught:
        client.describe_topic("b")
    assert (caught.value.code, caught.value.details) == (404, {"available_topics": ["a"]})


def test_positions_are_kept_and_read(answering: Answers) -> None:
    client, _ = answering(
        {"type": "OffsetCommitResponse", "success": True},
        {"type": "OffsetFetchResponse", "offset": 150},
        {"type": "OffsetFetchResponse", "offset": None},
        {"type": "OffsetCommitResponse", "success": False},
    )
    client.commit("g", "events", 0, 150)
    assert client.position("g", "events", 0) == 150
    assert client.position("h", "events", 0) is None
    with pytest.raises(ClientError, match="did not take the position"):
        client.commit("g", "nothing", 0, 1)


def test_topics_are_created_listed_and_described(answering: Answers) -> None:
    summary = {"partition": 0, "high_watermark": 5, "log_start_offset": 1, "segment_count": 2}
    client, _ = answering(
        {"type": "CreateTopicResponse", "success": True, "partitions_created": 3},
        {"type": "ListTopicsResponse", "topics": [{"name": "a", "partition_count": 3}]},
        {"type": "DescribeTopicResponse", "topic": "a", "partitions": [summary]},
        {"type": "DescribePartitionResponse", "topic": "a", **summary},
        {"type": "Pong"},
    )
    described = PartitionSummary(partition=0, high_watermark=5, log_start_offset=1, segment_count=2)
    assert client.create_topic("a", partition_count=3) == 3
    assert client.topics() == [TopicSummary("a", 3)]
    assert client.describe_topic("a") == [described]
    assert client.describe_partition("a", 0) == described
    client.ping()


def test_a_topic_that_a_lost_attempt_made_counts_as_made(answering: Answers) -> None:
    exists = {"type": "Error", "code": 400, "message": "exists", "details": {"partition_count": 3}}
    client, _ = answering(HANG_UP, exists)
    assert client.create_topic("a", partition_count=3) == 3
    client, _ = answering(exists)
    with pytest.raises(RustLogError, match="exists"):
        client.create_topic("a", partition_count=3)


def test_metrics_come_typed(answering: Answers) -> None:
    numbers = dict.fromkeys(
        ["records_produced", "bytes_produced", "records_fetched", "bytes_fetched", "active_connections"], 1
    )
    metrics = {**numbers, "high_watermarks": [], "consumer_lag": [], "prometheus": "x 1\n"}
    client, _ = answering({"type": "MetricsFetchResponse", "metrics": metrics})
    assert client.metrics().prometheus == "x 1\n"


def test_an_answer_to_something_else_is_bad(answering: Answers) -> None:
    client, _ = answering({"type": "Pong"})
    with pytest.raises(BadAnswer, match="Pong while listing topics; expected ListTopicsResponse"):
        client.topics()


def test_the_next_address_is_tried_when_one_cannot_be_reached(answering: Answers) -> None:
    _, server = answering({"type": "Pong"})
    gone = ScriptedServer(lambda _: None)
    gone.close()
    with RustLogClient(f"{gone.address},{server.address}") as client:
        client.ping()


def test_a_broker_that_is_not_there_is_named_in_the_end() -> None:
    gone = ScriptedServer(lambda _: None)
    gone.close()
    clock = HandClock()
    retrier = Retrier(RetryPolicy(timeout_s=1.0), clock=clock, sleep=clock.sleep)
    with pytest.raises(BrokerUnavailable, match=f"no broker answers at {gone.address}"):
        RustLogClient(gone.address, retrier=retrier).produce("events", 0, [b"x"])


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.sampled_from([0, 1, 1000, PAYLOAD_BYTES_MAX // 2, PAYLOAD_BYTES_MAX]), max_size=20))
def test_every_record_is_in_one_lot_in_order_and_no_lot_is_too_large(sizes: list[int]) -> None:
    records = [bytes(size) for size in sizes]
    found = list(lots(records))
    assert [record for lot in found for record in lot] == records
    assert all(len(lot) == 1 or sum(map(len, lot)) <= PAYLOAD_BYTES_MAX for lot in found)


def test_a_lot_has_no_more_records_than_the_protocol_allows() -> None:
    assert [len(lot) for lot in lots([b""] * (2 * RECORDS_MAX + 1))] == [RECORDS_MAX, RECORDS_MAX, 1]


def test_a_real_broker_is_spoken_to_in_every_request(broker: onelog.Broker) -> None:
    with RustLogClient(broker.bootstrap, timeout_s=10) as client:
        client.ping()
        assert client.create_topic("spoken", partition_count=2) == 2
        assert client.produce("spoken", 1, [b"a", b"\xff", b""]) == [Produced(0, 3)]
        assert [(r.offset, r.payload) for r in client.iterate("spoken", 1, 1)] == [(1, b"\xff"), (2, b"")]
        assert client.position("spoken group", "spoken", 1) is None
        client.commit("spoken group", "spoken", 1, 2)
        assert client.position("spoken group", "spoken", 1) == 2
        assert TopicSummary("spoken", 2) in client.topics()
        assert [p.high_watermark for p in client.describe_topic("spoken")] == [0, 3]
        assert client.describe_partition("spoken", 1).high_watermark == 3
        assert client.metrics().records_produced >= 3
        with pytest.raises(RustLogError, match=r"TOPIC_NOT_FOUND \(404\)"):
            client.fetch("nothing", 0, 0)
        with pytest.raises(ClientError, match="did not take the position"):
            client.commit("spoken group", "nothing", 0, 1)

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onelog
from onelog.client.errors import BadAnswer, BrokerUnavailable, ClientError, OutcomeUnknown
from onelog.client.retry import Retrier, RetryPolicy
from onelog.client.rustlog.answers import Fetched, FetchedRecord, PartitionState, Produced
from onelog.client.rustlog.client import RustLogClient, lots
from onelog.client.rustlog.errors import RustLogError
from onelog.client.rustlog.forms import Form
from onelog.protocols.rustlog.messages.json import TopicSummary
from tests.support.hand_clock import HandClock
from tests.support.rustlog_golden import capture
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
    described = PartitionState(partition=0, high_watermark=5, log_start_offset=1, segment_count=2)
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
    with pytest.raises(BadAnswer, match="Pong while listing topics; expected Topics"):
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


@pytest.mark.parametrize("form", Form)
@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.sampled_from([0, 1, 1000, 3 << 20, 7 << 20, 10 << 20]), max_size=20))
def test_every_record_is_in_one_lot_in_order_and_no_lot_is_too_large(form: Form, sizes: list[int]) -> None:
    records = [bytes(size) for size in sizes]
    found = list(lots(records, form=form))
    assert [record for lot in found for record in lot] == records
    assert all(len(lot) == 1 or sum(map(len, lot)) <= form.payload_bytes_max for lot in found)


@pytest.mark.parametrize("form", Form)
def test_a_lot_has_no_more_records_than_the_protocol_allows(form: Form) -> None:
    found = [len(lot) for lot in lots([b""] * (2 * form.records_max + 1), form=form)]
    assert found == [form.records_max, form.records_max, 1]


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
        told = client.metrics().data
        assert told is not None
        assert told.records_produced >= 3
        with pytest.raises(RustLogError, match=r"TOPIC_NOT_FOUND \(404\)"):
            client.fetch("nothing", 0, 0)
        with pytest.raises(ClientError, match="did not take the position"):
            client.commit("spoken group", "nothing", 0, 1)


# ---- the binary form


@pytest.fixture
def binary_answering() -> Iterator[Answers]:
    """The same in the binary form; answers are payloads."""
    open_ones: list[Any] = []

    def make(*answers: object) -> tuple[RustLogClient, ScriptedServer]:
        left = iter(answers)
        server, clock = ScriptedServer(lambda _: next(left)), HandClock()
        retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
        client = RustLogClient(server.address, retrier=retrier, form=Form.BINARY)
        open_ones.extend((client, server))
        return client, server

    yield make
    for each in open_ones:
        each.close()


def test_an_original_broker_is_asked_as_its_own_programs_do(binary_answering: Answers) -> None:
    talk = [
        "prog_01_ping",
        "prog_03_rustlog_admin_create_topic_demo_part",
        "prog_08_producer",
        "prog_09_consumer",
        "prog_10_consumer_group_g1_1",
        "prog_12_consumer_group_g1_3",
        "prog_07_rustlog_admin_list_topics",
        "prog_16_rustlog_admin_describe_topic_demo",
        "prog_18_rustlog_admin_describe_partition_dem",
    ]
    captures = [capture(name) for name in talk]
    client, server = binary_answering(*(each.answer[4:] for each in captures))
    words = [b"hello", b"from", b"rustlog"]
    client.ping()
    assert client.create_topic("demo", partition_count=1) == 1
    assert client.produce("demo", 0, words) == [Produced(0, 3)]
    fetched = client.fetch("demo", 0, 0)
    assert fetched == Fetched([FetchedRecord(n, None, word) for n, word in enumerate(words)], 3)
    assert client.position("g1", "demo", 0) is None
    client.commit("g1", "demo", 0, 0)
    assert client.topics() == [TopicSummary("demo", 1), TopicSummary("events", 2)]
    assert client.describe_topic("demo") == [PartitionState(0, 0)]
    assert client.describe_partition("demo", 0) == PartitionState(0, 0)
    assert server.frames == [each.sent[4:] for each in captures]


def test_a_topic_that_a_lost_binary_attempt_made_counts_as_made(binary_answering: Answers) -> None:
    exists = capture("prog_04_rustlog_admin_create_topic_demo_part").answer[4:]
    listed = capture("prog_07_rustlog_admin_list_topics").answer[4:]
    client, _ = binary_answering(HANG_UP, exists, listed)
    assert client.create_topic("demo", partition_count=1) == 1
    client, _ = binary_answering(exists)
    with pytest.raises(RustLogError, match=r"TOPIC_EXISTS \(11\): Topic 'demo' already exists"):
        client.create_topic("demo", partition_count=1)


def test_a_real_broker_is_spoken_to_in_every_binary_request(broker: onelog.Broker) -> None:
    with RustLogClient(broker.bootstrap, timeout_s=10, form=Form.BINARY) as client:
        client.ping()
        assert client.create_topic("binary", partition_count=2) == 2
        assert client.produce("binary", 1, [b"a", b"\xff", b""]) == [Produced(0, 3)]
        assert [(r.offset, r.payload) for r in client.iterate("binary", 1, 1)] == [(1, b"\xff"), (2, b"")]
        assert client.position("binary group", "binary", 1) is None
        client.commit("binary group", "binary", 1, 2)
        assert client.position("binary group", "binary", 1) == 2
        assert client.fetch("binary", 1, 0, group="binary group").next_offset == 3
        assert TopicSummary("binary", 2) in client.topics()
        assert [p.high_watermark for p in client.describe_topic("binary")] == [0, 3]
        assert client.describe_partition("binary", 1).high_watermark == 3
        assert "messages_produced_total" in client.metrics().prometheus
        with pytest.raises(RustLogError, match=r"UNKNOWN_PARTITION \(10\)"):
            client.fetch("nothing", 0, 0)
        with pytest.raises(RustLogError, match=r"COMMIT_FAILED \(5\)"):
            client.commit("binary group", "nothing", 0, 1)

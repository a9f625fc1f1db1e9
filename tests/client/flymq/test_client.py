from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onelog
from onelog.client.errors import BadAnswer, BrokerUnavailable, OutcomeUnknown
from onelog.client.flymq.client import (
    LOT_BYTES_MAX,
    LOT_COUNT_MAX,
    FlyMQClient,
    Outgoing,
    Produced,
    lots,
)
from onelog.client.flymq.errors import FlyMQError
from onelog.client.retry import Retrier, RetryPolicy
from onelog.protocols.flymq.messages.admin import Identity
from onelog.protocols.flymq.messages.groups import GroupSummary, Lag, PartitionPosition
from onelog.protocols.flymq.messages.topics import PartitionEnds
from onelog.protocols.flymq.recordset import Fetched
from tests.support.flymq_wire import commit, data, fetch, frame, i32, produce, subscribe, text, u64
from tests.support.hand_clock import HandClock
from tests.support.scripted_flymq import HANG_UP, ScriptedFlyMQ

Answers = Callable[..., tuple[FlyMQClient, ScriptedFlyMQ]]


@pytest.fixture
def answering() -> Iterator[Answers]:
    """A client and a server that gives these answers, one after the other."""
    open_ones: list[Any] = []

    def make(*answers: object) -> tuple[FlyMQClient, ScriptedFlyMQ]:
        left = iter(answers)
        server, clock = ScriptedFlyMQ(lambda _: next(left)), HandClock()
        retrier = Retrier(RetryPolicy(timeout_s=5.0), clock=clock, sleep=clock.sleep)
        client = FlyMQClient(server.address, retrier=retrier)
        open_ones.extend((client, server))
        return client, server

    yield make
    for each in open_ones:
        each.close()


def produced(partition: int, offset: int) -> bytes:
    return frame(0x01, text("t") + i32(partition) + u64(offset) + u64(17) + i32(-1) + i32(1))


def page(*records: tuple[int, bytes], next: int) -> bytes:
    listed = b"".join(u64(offset) + data(b"") + data(value) for offset, value in records)
    return frame(0x07, i32(len(records)) + u64(next) + listed)


def error(said: str) -> bytes:
    return frame(0xFF, said.encode(), flags=0)


def test_a_record_is_produced_and_its_place_comes_back(answering: Answers) -> None:
    client, server = answering(produced(2, 42), produced(0, 1))
    assert client.produce("t", b"v", key=b"k", partition=2) == Produced(2, 42, 17)
    assert client.produce("t", b"v") == Produced(0, 1, 17)
    assert server.frames == [produce("t", b"v", key=b"k", partition=2), produce("t", b"v")]


def test_many_records_are_on_their_way_together(answering: Answers) -> None:
    client, server = answering(*[produced(0, at) for at in range(300)])
    made = client.produce_all("t", [Outgoing(b"%d" % at) for at in range(300)])
    assert [each.offset for each in made] == list(range(300))
    assert server.frames == [produce("t", b"%d" % at) for at in range(300)]
    assert server.connections == 1


def test_a_refusal_among_many_is_raised_and_not_tried_again(answering: Answers) -> None:
    client, server = answering(produced(0, 0), error("not leader: later"), produced(0, 1))
    with pytest.raises(FlyMQError, match="not leader"):
        client.produce_all("t", [Outgoing(b"v")] * 3)
    assert len(server.frames) == 3


def test_a_produce_whose_answer_was_lost_is_not_sent_again(answering: Answers) -> None:
    client, server = answering(HANG_UP)
    with pytest.raises(OutcomeUnknown, match=r"producing to t.* may have done it"):
        client.produce("t", b"v")
    assert len(server.frames) == 1


def test_a_fetch_whose_answer_was_lost_is_asked_again(answering: Answers) -> None:
    client, server = answering(HANG_UP, page((7, b"v"), next=8))
    assert client.fetch("t", 0, 7, count_max=5, filter="x").records == [Fetched(7, b"", b"v")]
    assert server.frames == [fetch("t", 7, count=5, filter="x")] * 2


def test_what_a_cluster_without_a_leader_refuses_is_asked_again(answering: Answers) -> None:
    client, server = answering(error("not leader: no leader elected"), page(next=0))
    assert client.fetch("t", 0, 0).records == []
    assert len(server.frames) == 2


def test_iterating_goes_on_while_something_was_looked_at(answering: Answers) -> None:
    client, _ = answering(page((0, b"a"), (3, b"b"), next=4), page(next=1004), page(next=1004))
    assert [record.offset for record in client.iterate("t", 0, 0, filter="x")] == [0, 3]


def test_positions_are_kept_and_read(answering: Answers) -> None:
    client, server = answering(
        frame(0x06, b"\1"),
        frame(0x60, u64(150)),
        error("consumer group not found: t:h"),
        error("topic not found: t"),
    )
    client.commit("g", "t", 0, 150)
    assert client.position("g", "t", 0) == 150
    assert client.position("h", "t", 0) is None
    with pytest.raises(FlyMQError, match="topic not found"):
        client.position("h", "t", 0)
    assert server.frames[0] == commit("t", "g", 150)


def test_an_original_brokers_shorter_answers_are_read(answering: Answers) -> None:
    nobody, somebody = bytes(9), b"\1" + text("al") + i32(1) + b"\5admin" + text("")
    client, _ = answering(frame(0x03, b"\1"), frame(0x72, nobody), frame(0x72, somebody))
    client.create_topic("t")
    assert client.whoami() == Identity()
    assert client.whoami() == Identity(authenticated=True, user="al", roles=["admin"])


def test_an_original_brokers_partitions_are_found_by_subscribing(answering: Answers) -> None:
    state = i32(0) + text("n1") + text("h:1") + u64(1) + text("online") + i32(0) + i32(0)
    cluster = frame(0x53, text("standalone") + i32(1) + text("t") + i32(1) + state)
    place = {0: frame(0x05, u64(0)), 1: frame(0x05, u64(1)), 5: frame(0x05, u64(5))}
    unknown = error("unknown opcode: 4")
    client, server = answering(
        unknown, cluster, place[0], place[5], unknown, cluster, place[0], place[1], page(next=0)
    )
    assert client.partitions("t") == [PartitionEnds(partition=0, leader_id=0, oldest=0, newest=5)]
    assert client.partitions("t") == [PartitionEnds(partition=0, leader_id=0, oldest=0, newest=0)]
    assert server.frames[2] == subscribe("t", "onelog", "earliest")


def test_an_answer_to_something_else_is_bad(answering: Answers) -> None:
    client, _ = answering(frame(0x08, i32(0)))
    with pytest.raises(BadAnswer, match="07"):
        client.fetch("t", 0, 0)


def test_the_next_address_is_tried_when_one_cannot_be_reached(answering: Answers) -> None:
    _, server = answering(frame(0x08, i32(0)))
    gone = ScriptedFlyMQ(lambda _: None)
    gone.close()
    with FlyMQClient(f"{gone.address},{server.address}") as client:
        assert client.topics() == []


def test_a_broker_that_is_not_there_is_named_in_the_end() -> None:
    gone = ScriptedFlyMQ(lambda _: None)
    gone.close()
    clock = HandClock()
    retrier = Retrier(RetryPolicy(timeout_s=1.0), clock=clock, sleep=clock.sleep)
    with pytest.raises(BrokerUnavailable, match=f"no broker answers at {gone.address}"):
        FlyMQClient(gone.address, retrier=retrier).produce("t", b"x")


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.sampled_from([0, 1, 1000, LOT_BYTES_MAX // 2, LOT_BYTES_MAX]), max_size=20))
def test_every_record_is_in_one_lot_in_order_and_no_lot_is_too_large(sizes: list[int]) -> None:
    records = [Outgoing(bytes(size)) for size in sizes]
    found = list(lots(records))
    assert [record for lot in found for record in lot] == records
    assert all(len(lot) == 1 or sum(len(r.value) for r in lot) <= LOT_BYTES_MAX for lot in found)


def test_a_lot_has_so_many_records_and_no_more() -> None:
    some = [Outgoing(b"")] * (2 * LOT_COUNT_MAX + 1)
    assert [len(lot) for lot in lots(some)] == [LOT_COUNT_MAX, LOT_COUNT_MAX, 1]


def test_a_real_broker_is_spoken_to_in_every_request(broker: onelog.Broker) -> None:
    topic, group = "sp/ok\u00e9n", "spoken group"
    with FlyMQClient(broker.bootstrap, user="al", password="any", timeout_s=10) as client:
        client.create_topic(topic, partition_count=3)
        client.create_topic(topic, partition_count=5)
        assert client.produce(topic, b"a", key=b"user-123")[:2] == (2, 0)
        some = [Outgoing(b"%d" % at, partition=1) for at in range(500)]
        made = client.produce_all(topic, some, packed=True)
        assert [(each.partition, each.offset) for each in made] == [(1, at) for at in range(500)]
        assert [r.value for r in client.iterate(topic, 1, 498)] == [b"498", b"499"]
        assert [r.offset for r in client.iterate(topic, 1, 0, filter="^49.$")] == list(range(490, 500))
        assert client.consume(topic, 2, 0).key == b"user-123"
        assert [(p.oldest, p.newest) for p in client.partitions(topic)] == [(0, 0), (0, 500), (0, 1)]
        assert topic in client.topics()
        [state] = client.cluster(topic).topics
        assert {p.leader_address for p in state.partitions} == {broker.bootstrap}
        assert client.position(group, topic, 1) is None
        assert client.subscribe(group, topic, 1) == 0
        client.commit(group, topic, 1, 7)
        assert client.position(group, topic, 1) == 7
        assert client.lag(group, topic, 1) == Lag(current=7, committed=7, latest=500, lag=493)
        client.reset(group, topic, 1, "latest")
        assert client.subscribe(group, topic, 1, "commit") == 500
        client.reset(group, topic, 1, 9)
        assert client.seek(topic, 1, 0, group=group) == 0
        assert client.seek(topic, 1, 1 << 62) == 500
        summary = GroupSummary(
            topic=topic,
            group=group,
            member_count=1,
            positions=[PartitionPosition(partition=1, offset=0)],
        )
        assert summary in client.groups()
        described = client.describe_group(group, topic)
        assert (described.member_count, described.positions) == (1, summary.positions)
        client.delete_group(group, topic)
        assert client.position(group, topic, 1) is None
        assert not client.whoami().authenticated
        client.delete_topic(topic)
        with pytest.raises(FlyMQError, match="topic not found"):
            client.fetch(topic, 0, 0)


def test_an_error_keeps_the_connection_and_what_is_known_of_it(broker: onelog.Broker) -> None:
    with FlyMQClient(broker.bootstrap, timeout_s=10) as client:
        client.produce("stays", b"v")
        client.subscribe("staying group", "stays", 0, "latest")
        with pytest.raises(FlyMQError, match="EOF"):
            client.consume("stays", 0, 5)
        assert client.describe_group("staying group", "stays").member_count == 1

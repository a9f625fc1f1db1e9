import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import onelog
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Fetched
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.group_consumer import GroupConsumer
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.offsets import Spot
from onelog.client.kafka.positions import Positions
from onelog.client.kafka.producer import Producer
from onelog.client.kafka.subscription import Place, Subscription, assignment_bytes, subscription_bytes
from onelog.protocols.kafka.errors import Code
from onelog.records.record import Record
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import FakeKafka
from tests.support.hand_clock import HandClock

TIMES = MemberTimes(session_s=10.0, rebalance_s=5.0)
# The shortest session that a broker allows, so that nobody is waited for long.
QUICK = MemberTimes(session_s=6.0, rebalance_s=10.0)


def filled(cluster: Cluster, *, partitions: int = 2, count: int = 2) -> tuple[FakeKafka, KafkaClient]:
    """A topic with so many records in each partition."""
    fake, client = cluster()
    fake.add_topic("a", leaders=[0] * partitions)
    for partition in range(partitions):
        for number in range(count):
            Producer(client).send("a", [Record(None, b"%d-%d" % (partition, number), 7)], partition=partition)
    return fake, client


def reading(client: KafkaClient, **options: Any) -> GroupConsumer:
    return GroupConsumer(client, "g", ["a"], **{"times": TIMES, **options})


def values(found: list[Fetched]) -> list[bytes]:
    return sorted(record.value or b"" for fetched in found for _, record in fetched.records())


def later(client: KafkaClient) -> None:
    assert isinstance(client.clock, HandClock)
    client.clock.sleep(TIMES.heartbeat_s)


def join_another(fake: FakeKafka) -> None:
    """Somebody else comes, and gets what the leader gives: the second of two partitions."""
    fake.groups.group("g").strangers["zzz"] = subscription_bytes(Subscription(frozenset({"a"})))
    fake.fault("Heartbeat", Code.REBALANCE_IN_PROGRESS)


def test_a_group_begins_at_the_beginning_and_goes_on_where_it_committed(cluster: Cluster) -> None:
    fake, client = filled(cluster)
    with reading(client) as consumer:
        assert values(consumer.poll()) == [b"0-0", b"0-1", b"1-0", b"1-1"]
        assert consumer.poll() == []
        assert consumer.commit()
    assert fake.positions == {("g", "a", 0): (2, ""), ("g", "a", 1): (2, "")}
    Producer(client).send("a", [Record(None, b"new", 7)], partition=1)
    with reading(client) as consumer:
        assert values(consumer.poll()) == [b"new"]


def test_a_group_without_a_position_may_begin_at_the_end(cluster: Cluster) -> None:
    _, client = filled(cluster)
    with reading(client, start=Spot.LATEST) as consumer:
        assert consumer.poll() == []
        assert consumer.positions == {("a", 0): 2, ("a", 1): 2}


def test_what_was_not_committed_comes_again(cluster: Cluster) -> None:
    _, client = filled(cluster, partitions=1)
    with reading(client) as consumer:
        assert len(consumer.poll()) == 1
    with reading(client) as consumer:
        assert values(consumer.poll()) == [b"0-0", b"0-1"]


def test_a_commit_may_say_how_far_and_says_nothing_twice(cluster: Cluster) -> None:
    fake, client = filled(cluster)
    with reading(client) as consumer:
        consumer.poll()
        assert consumer.commit({("a", 0): 1})
        assert fake.positions == {("g", "a", 0): (1, "")}
        assert consumer.commit({("a", 0): 1, ("other", 3): 5})
        assert len(fake.requests("OffsetCommit")) == 1
        assert consumer.commit()
        assert fake.positions == {("g", "a", 0): (2, ""), ("g", "a", 1): (2, "")}


def test_a_member_may_go_on_from_anywhere_in_what_it_holds(cluster: Cluster) -> None:
    fake, client = filled(cluster, partitions=1)
    with reading(client) as consumer:
        consumer.poll()
        consumer.seek(("a", 0), 1)
        consumer.seek(("b", 0), 1)
        assert consumer.positions == {("a", 0): 1}
        assert consumer.commit()
        assert values(consumer.poll()) == [b"0-1"]
    assert fake.positions == {("g", "a", 0): (1, "")}


@pytest.mark.parametrize("assignor", [RANGE, COOPERATIVE_STICKY], ids=lambda each: each.name)
def test_what_was_read_is_committed_before_another_has_the_partition(
    cluster: Cluster, assignor: Assignor
) -> None:
    fake, client = filled(cluster)
    with reading(client, assignor=assignor) as consumer:
        consumer.poll()
        join_another(fake)
        later(client)
        assert consumer.poll() == []
        assert consumer.places == {("a", 0)}
        assert fake.positions["g", "a", 1] == (2, "")
        assert consumer.positions == {("a", 0): 2}


@pytest.mark.parametrize("assignor", [RANGE, COOPERATIVE_STICKY])
def test_what_goes_to_another_is_read_no_more_though_its_last_commit_was_refused(
    cluster: Cluster, assignor: Assignor
) -> None:
    fake, client = filled(cluster)
    with reading(client, assignor=assignor) as consumer:
        assert len(values(consumer.poll())) == 4
        join_another(fake)
        fake.fault("OffsetCommit", Code.OFFSET_METADATA_TOO_LARGE)
        later(client)
        with pytest.raises(KafkaError):
            consumer.poll()
        assert len(consumer.positions) < 2
        consumer.poll()
        assert set(consumer.positions) == consumer.places == {("a", 0)}


@pytest.mark.parametrize("assignor", [RANGE, COOPERATIVE_STICKY])
def test_what_a_member_was_given_is_read_though_its_position_could_not_be_asked_for_at_once(
    cluster: Cluster, assignor: Assignor
) -> None:
    fake, client = filled(cluster)
    with reading(client, assignor=assignor) as consumer:
        fake.fault("OffsetFetch", Code.GROUP_AUTHORIZATION_FAILED)
        with pytest.raises(KafkaError):
            consumer.poll()
        assert values(consumer.poll()) == [b"0-0", b"0-1", b"1-0", b"1-1"]


def test_what_was_lost_is_committed_by_nobody_and_read_from_the_last_commit(cluster: Cluster) -> None:
    fake, client = filled(cluster, partitions=1)
    with reading(client) as consumer:
        consumer.poll()
        fake.fault("Heartbeat", Code.UNKNOWN_MEMBER_ID)
        later(client)
        assert values(consumer.poll()) == [b"0-0", b"0-1"]
        assert fake.positions == {}


def test_a_commit_in_the_middle_of_a_rebalance_keeps_nothing(cluster: Cluster) -> None:
    fake, client = filled(cluster, partitions=1)
    with reading(client) as consumer:
        consumer.poll()
        fake.fault("OffsetCommit", Code.REBALANCE_IN_PROGRESS)
        assert not consumer.commit()
        consumer.poll()
        assert consumer.commit()


def test_who_holds_nothing_waits_and_stays(cluster: Cluster) -> None:
    fake, client = filled(cluster)
    fake.groups.group("g").given = assignment_bytes([])
    with reading(client) as consumer:
        for _ in range(5):
            assert consumer.poll(wait_ms=400) == []
        assert consumer.places == frozenset()
    assert isinstance(client.clock, HandClock)
    assert client.clock.slept == [0.4] * 5
    assert len(fake.requests("Heartbeat")) == 1


def test_waiting_for_records_leaves_time_for_heartbeats(cluster: Cluster) -> None:
    fake, client = filled(cluster, count=0)
    with reading(client) as consumer:
        consumer.poll(wait_ms=60_000)
    (_, _, request) = fake.requests("Fetch")[0]
    assert request.max_wait_ms == TIMES.heartbeat_s * 1000


@pytest.mark.parametrize(("start", "expected"), [(Spot.EARLIEST, 1), (Spot.LATEST, 2)])
def test_a_position_that_retention_has_taken_begins_anew(
    cluster: Cluster, start: Spot, expected: int
) -> None:
    fake, client = filled(cluster)
    Positions(client).commit("g", {("a", 0): 0, ("a", 1): 1})
    fake.topics["a"].logs[0].start = 1
    with reading(client, start=start) as consumer:
        assert consumer.poll() == []
        assert consumer.positions == {("a", 0): expected, ("a", 1): 1}
        assert b"1-1" in values(consumer.poll())


def test_other_errors_of_a_partition_are_errors(cluster: Cluster) -> None:
    fake, client = filled(cluster)
    with reading(client) as consumer:
        fake.fault("Fetch", Code.TOPIC_AUTHORIZATION_FAILED)
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
            consumer.poll()


def test_several_topics_are_read_and_none_is_waited_for_beside_another(cluster: Cluster) -> None:
    fake, client = filled(cluster, partitions=1)
    fake.add_topic("b", leaders=[0])
    with GroupConsumer(client, "g", ["a", "b"], times=TIMES) as consumer:
        assert len(values(consumer.poll(wait_ms=400))) == 2
        assert consumer.places == {("a", 0), ("b", 0)}
    assert [body.max_wait_ms for _, _, body in fake.requests("Fetch")] == [200, 0]


# Against a broker.


def write(client: KafkaClient, topic: str, *, partitions: int, count: int, name: str = "") -> set[bytes]:
    producer = Producer(client)
    written = set()
    for partition in range(partitions):
        said = [f"{name}{partition}-{number}".encode() for number in range(count)]
        now_ms = time.time_ns() // 1_000_000
        producer.send(topic, [Record(None, value, now_ms) for value in said], partition=partition)
        written.update(said)
    return written


class Reader:
    """A member in a thread of its own, which commits what it has read."""

    def __init__(self, broker: onelog.Broker, topic: str, assignor: Assignor) -> None:
        self.read: list[bytes] = []
        self.places: frozenset[Place] = frozenset()
        self.changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(broker, topic, assignor))
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()

    def wait_for(self, condition: Any) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), timeout=20), (self.places, self.read)

    def _run(self, broker: onelog.Broker, topic: str, assignor: Assignor) -> None:
        with (
            KafkaClient(broker.bootstrap, timeout_s=10) as client,
            GroupConsumer(client, topic, [topic], assignor=assignor, times=QUICK) as consumer,
        ):
            while not self._stop.is_set():
                found = consumer.poll(wait_ms=100)
                with self.changed:
                    self.read += values(found)
                    self.places = consumer.places
                    self.changed.notify_all()
                consumer.commit()


@contextmanager
def reader(broker: onelog.Broker, topic: str, assignor: Assignor) -> Iterator[Reader]:
    made = Reader(broker, topic, assignor)
    try:
        yield made
    finally:
        made.stop()


@pytest.mark.parametrize("assignor", [RANGE, COOPERATIVE_STICKY], ids=lambda each: each.name)
def test_members_share_a_topic_of_a_real_broker_and_read_every_record_once(
    broker: onelog.Broker, assignor: Assignor
) -> None:
    topic = f"shared-{assignor.name}"
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic(topic, partition_count=4)
        written = write(client, topic, partitions=4, count=5)
        with reader(broker, topic, assignor) as one:
            one.wait_for(lambda each: len(each.read) == 20)
            with reader(broker, topic, assignor) as two:
                two.wait_for(lambda each: len(each.places) == 2)
                one.wait_for(lambda each: len(each.places) == 2)
                assert not one.places & two.places
                written |= write(client, topic, partitions=4, count=5, name="new ")
                one.wait_for(lambda each: len(each.read) == 30)
                two.wait_for(lambda each: len(each.read) == 10)
            one.wait_for(lambda each: len(each.places) == 4)
        assert sorted([*one.read, *two.read]) == sorted(written)
        assert {at.offset for at in Positions(client).of(topic).values()} == {10}


def test_a_group_goes_on_in_a_new_life_of_the_broker(tmp_path: Any) -> None:
    settings: dict[str, Any] = {"broker.group_initial_rebalance_delay_ms": 0}
    for life, expected in enumerate(([b"0-0", b"0-1"], [b"new 0-0"])):
        with (
            onelog.Broker(tmp_path / "data", settings=settings) as broker,
            KafkaClient(broker.bootstrap, timeout_s=10) as client,
        ):
            if life == 0:
                Admin(client).create_topic("a", partition_count=1)
            write(client, "a", partitions=1, count=2 - life, name="new " * life)
            with reading(client, times=QUICK) as consumer:
                assert values(consumer.poll()) == expected
                assert consumer.commit()

"""Our member of a group beside those of other clients: one of them leads, and all agree."""

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer

from onelog.client.kafka.admin import Admin
from onelog.client.kafka.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.group_consumer import GroupConsumer
from onelog.client.kafka.groups import Groups
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.producer import Producer
from onelog.records.record import Record

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas the old way
    from kafka import KafkaConsumer

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore:read_text is deprecated")]
PATIENCE_S = 40.0
PARTITIONS = 6
TIMES = MemberTimes(session_s=6.0, rebalance_s=20.0)

Poll = Callable[[], list[bytes]]


@contextmanager
def ours(bootstrap: str, topic: str, assignor: Assignor) -> Iterator[Poll]:
    with (
        KafkaClient(bootstrap, timeout_s=20) as client,
        GroupConsumer(client, topic, [topic], assignor=assignor, times=TIMES) as consumer,
    ):

        def poll() -> list[bytes]:
            consumer.commit()
            found = consumer.poll(wait_ms=100)
            return [record.value or b"" for each in found for _, record in each.records()]

        yield poll


@contextmanager
def confluents(bootstrap: str, topic: str, assignor: Assignor) -> Iterator[Poll]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": assignor.name,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
        }
    )
    consumer.subscribe([topic])
    try:
        yield lambda: [message.value() for message in consumer.consume(100, timeout=0.1)]
    finally:
        consumer.close()


@contextmanager
def pythons(bootstrap: str, topic: str, assignor: Assignor) -> Iterator[Poll]:
    assert assignor is RANGE  # which is its default, in the first place
    consumer: Any = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
    )
    try:
        yield lambda: [record.value for some in consumer.poll(100).values() for record in some]
    finally:
        consumer.close()


class Member:
    """One client in a thread of its own, until it is stopped."""

    def __init__(self, made: Any) -> None:
        self.read: list[bytes] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(made,))
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def _run(self, made: Any) -> None:
        with made as poll:
            while not self._stop.is_set():
                self.read += poll()


def until(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, what()
        threading.Event().wait(0.1)


@pytest.mark.parametrize(
    ("assignor", "makes"),
    [
        (RANGE, (ours, confluents, pythons)),
        (RANGE, (confluents, ours)),
        (COOPERATIVE_STICKY, (ours, confluents)),
        (COOPERATIVE_STICKY, (confluents, ours)),
    ],
    ids=["ours first", "range, ours second", "sticky, ours first", "sticky, ours second"],
)
def test_members_of_different_make_share_a_topic(
    bootstrap: str, topic: str, assignor: Assignor, makes: tuple[Any, ...]
) -> None:
    topic = topic.translate(str.maketrans(" ,", "--"))
    with KafkaClient(bootstrap, timeout_s=20) as client, ExitStack() as stopping:
        Admin(client).create_topic(topic, partition_count=PARTITIONS)
        groups = Groups(client)
        members: list[Member] = []

        def held() -> list[int]:
            if topic not in {group.name for group in groups.list()}:
                return []
            group = groups.describe(topic)
            return sorted(len(member.places) for member in group.members) if group.state == "Stable" else []

        def is_shared() -> bool:
            return held() == [PARTITIONS // len(members)] * len(members)

        for make in makes:
            members.append(Member(make(bootstrap, topic, assignor)))
            stopping.callback(members[-1].stop)
            until(is_shared, held)
        written = [f"{partition}-{number}" for partition in range(PARTITIONS) for number in range(5)]
        for value in written:
            said = [Record(None, value.encode(), time.time_ns() // 1_000_000)]
            Producer(client).send(topic, said, partition=int(value[0]))
        until(lambda: sum(len(each.read) for each in members) >= len(written), held)
    assert sorted(value for each in members for value in each.read) == sorted(v.encode() for v in written)
    assert [len(each.read) for each in members] == [len(written) // len(members)] * len(members)

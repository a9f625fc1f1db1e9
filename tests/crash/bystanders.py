"""Clients that work while others attack: each writes, reads back, and compares.

One thread and one topic each. A wrong answer, a refusal or a closed connection is a finding;
so is an answer that takes longer than the clients' own patience of 20 s.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.crash.fluvio_unit import FluvioUnit
from tests.support.flymq_client import FlyMQClient
from tests.support.rustlog_client import BinaryClient, JsonClient
from tests.support.served import Served
from tests.support.tank_bundles import Message
from tests.support.tank_client import TankClient

PREFIX = "bystander-"
TARGET = "fuzzed"
"""The topic that the attackers' frames name. It stays, so that they get far."""
PATIENCE_S = 20.0
JANITOR_PAUSE_S = 2.0
# So many exchanges, then a new connection: what greets newcomers is worked, too.
EXCHANGES = 50

Round = Callable[[int], None]


class Bystander:
    """One client at work: how many exchanges went well, the slowest, and what went wrong."""

    def __init__(self, name: str, session: Callable[[], contextlib.AbstractContextManager[Round]]) -> None:
        self.name = name
        self.done = 0
        self.slowest_s = 0.0
        self.findings: list[str] = []
        self._session = session

    def run(self, stop: threading.Event) -> None:
        """Until told to stop, or until something is wrong three times."""
        while not stop.is_set() and len(self.findings) < 3:
            try:
                with self._session() as exchange:
                    for _ in range(EXCHANGES):
                        if stop.wait(0.002):
                            return
                        begin = time.monotonic()
                        exchange(self.done)
                        self.slowest_s = max(self.slowest_s, time.monotonic() - begin)
                        self.done += 1
            except Exception as error:  # whatever a client raises is what this is looking for
                self.findings.append(f"{self.name}, exchange {self.done}: {type(error).__name__}: {error}")


def bystanders(served: Served) -> list[Bystander]:
    """One of each dialect."""
    shared = served.bootstrap
    kafka = _Kafka(shared)
    made = [
        Bystander("kafka", kafka.session),
        Bystander("rustlog JSON", lambda: _rustlog_json(shared)),
        Bystander("rustlog binary", lambda: _rustlog_binary(shared)),
        Bystander("flymq", lambda: _flymq(shared)),
        Bystander("fluvio", lambda: _fluvio(f"127.0.0.1:{served.ports['fluvio-spu']}")),
        Bystander("tank", lambda: _tank(f"127.0.0.1:{served.ports['tank']}")),
    ]
    admin = AdminClient({"bootstrap.servers": shared, "log_level": 0})
    names = [PREFIX + name for name in ("kafka", "rustlog-json", "rustlog-binary", "flymq", "fluvio", "tank")]
    for topic in admin.create_topics([NewTopic(name, 1, 1) for name in [*names, TARGET]]).values():
        topic.result(PATIENCE_S)
    return made


class Janitor:
    """Deletes what the attackers' frames have made, so that the broker's state stays as it is."""

    def __init__(self, bootstrap: str) -> None:
        self.deleted = 0
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def run(self, stop: threading.Event) -> None:
        """Every few seconds, and once more at the end."""
        while not stop.wait(JANITOR_PAUSE_S):
            self.clean()
        self.clean()

    def clean(self) -> None:
        """Topics and groups that are not the bystanders'."""
        listed = self._admin.list_topics(timeout=PATIENCE_S).topics
        topics = [topic for topic in listed if not topic.startswith((PREFIX, TARGET))]
        groups = []
        with contextlib.suppress(KafkaException):
            found = self._admin.list_consumer_groups().result(PATIENCE_S)
            groups = [g.group_id for g in found.valid if g.group_id and not g.group_id.startswith(PREFIX)]
        answers = []
        if topics:
            answers += list(self._admin.delete_topics(topics).values())
        if groups:
            answers += list(self._admin.delete_consumer_groups(groups).values())
        for answer in answers:
            with contextlib.suppress(KafkaException):
                answer.result(PATIENCE_S)
                self.deleted += 1


class _Kafka:
    """librdkafka keeps its threads for good, so it is made once; its exchange is its session."""

    def __init__(self, bootstrap: str) -> None:
        options = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._producer = Producer({**options, "linger.ms": 0, "compression.type": "lz4"})
        self._consumer = Consumer({**options, "group.id": PREFIX + "kafka", "enable.auto.commit": False})

    @contextlib.contextmanager
    def session(self) -> Iterator[Round]:
        """Its exchange, with nothing to close behind it."""
        yield self._exchange

    def _exchange(self, number: int) -> None:
        topic, value = PREFIX + "kafka", b"kafka %d " % number * 10
        placed: list[int] = []
        self._producer.produce(
            topic, value, partition=0, on_delivery=lambda error, m: placed.append(-1 if error else m.offset())
        )
        assert self._producer.flush(PATIENCE_S) == 0, "not acknowledged"
        self._consumer.assign([TopicPartition(topic, 0, placed[0])])
        message = self._consumer.poll(PATIENCE_S)
        assert message is not None, "nothing came"
        assert message.error() is None, message.error()
        assert message.value() == value, message.value()
        if number % 10 == 0:
            at = TopicPartition(topic, 0, number)
            self._consumer.commit(offsets=[at], asynchronous=False)
            assert self._consumer.committed([at], timeout=PATIENCE_S)[0].offset == number


@contextlib.contextmanager
def _rustlog_json(address: str) -> Iterator[Round]:
    client = JsonClient.connect(address)

    def exchange(number: int) -> None:
        value = b"json %d " % number * 10
        base, count = client.produce(PREFIX + "rustlog-json", 0, [value, b""])
        assert count == 2, count
        found = client.fetch(PREFIX + "rustlog-json", 0, base)
        assert [record.payload for record in found.records] == [value, b""], found
        assert client.commit(PREFIX + "json", PREFIX + "rustlog-json", 0, base)
        assert client.committed(PREFIX + "json", PREFIX + "rustlog-json", 0) == base

    with contextlib.closing(client):
        yield exchange


@contextlib.contextmanager
def _rustlog_binary(address: str) -> Iterator[Round]:
    client = BinaryClient.connect(address)

    def exchange(number: int) -> None:
        value = b"binary %d " % number * 10
        base, count = client.produce(PREFIX + "rustlog-binary", 0, [value, b""])
        assert count == 2, count
        found = client.fetch(PREFIX + "rustlog-binary", 0, base)
        assert [record.payload for record in found.records] == [value, b""], found

    with contextlib.closing(client):
        yield exchange


@contextlib.contextmanager
def _flymq(address: str) -> Iterator[Round]:
    client = FlyMQClient.connect(address)
    topic, group = PREFIX + "flymq", PREFIX + "flymq"

    def exchange(number: int) -> None:
        value = b"flymq %d " % number * 10
        told = client.produce(topic, 0, b"k", value, compressed=number % 3 == 0)
        found = client.fetch(topic, 0, told.offset, max_messages=1)
        assert [(m.key, m.value) for m in found.messages] == [(b"k", value)], found
        client.commit(topic, group, 0, told.offset)
        assert client.committed(topic, group, 0) == told.offset

    with contextlib.closing(client):
        yield exchange


@contextlib.contextmanager
def _fluvio(address: str) -> Iterator[Round]:
    topic = PREFIX + "fluvio"

    def exchange(number: int) -> None:
        value = b"fluvio %d " % number * 10
        offset = client.produce(topic, 0, value)
        part = client.fetched(topic, 0, offset)
        assert part[0] == (offset, value), part
        with FluvioUnit(address) as reader:
            stream = reader.stream(topic, 0, offset, PREFIX + "fluvio")
            assert stream.taken()[0] == (offset, value)
            stream.keep(offset)
            assert reader.kept(topic, 0, PREFIX + "fluvio") == offset

    with FluvioUnit(address) as client:
        yield exchange


@contextlib.contextmanager
def _tank(address: str) -> Iterator[Round]:
    client = TankClient.connect(address)
    topic = PREFIX + "tank"

    def exchange(number: int) -> None:
        value = b"tank %d " % number * 10
        (_, last), *_ = client.partitions(topic)
        assert client.produce(topic, 0, [Message(value, key=b"k")], snappy=number % 3 == 0) == 0
        found = client.fetch(topic, 0, last + 1, wait_ms=1000)
        assert [(m.key, m.content) for m in found.messages] == [(b"k", value)], found

    with contextlib.closing(client):
        yield exchange

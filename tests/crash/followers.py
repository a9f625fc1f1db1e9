"""Readers that remember where they are, while the broker is killed again and again.

    Kafka     a static member of a group, which commits by hand after every few records
    FlyMQ     a connection that subscribes where its group has committed, fetches, commits
    Fluvio    a consumer with a name: a stream from the last record it has kept on, kept by hand

After each kill a reader has to be where its last acknowledged commit was, or where the last one
that was under way would have put it; and in between it sees every record, in order.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.crash.fluvio_unit import FluvioUnit
from tests.crash.writers import BROKEN, PARTITIONS, RETRY_PAUSE_S
from tests.support.flymq_client import FlyMQClient
from tests.support.served import Served

# One each: commits from outside are refused to a group that has members.
KAFKA, FLYMQ, FLUVIO = "kills-group", "kills-reader", "kills-consumer"
# Few enough that most kills come between a commit and the next.
RECORDS_A_COMMIT = 20
COMMITS_A_LIFE = 20


@dataclass
class Way:
    """Where one reader is in one partition: told by the broker, and what may be."""

    acknowledged: int = 0
    asked: int = 0
    next_offset: int = 0


@dataclass
class Log:
    """What a reader has seen, and what was wrong with where it found itself."""

    ways: dict[int, Way] = field(default_factory=lambda: {p: Way() for p in range(PARTITIONS)})
    seen: dict[tuple[int, int], bytes] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    resumed: int = 0

    @property
    def is_under_way(self) -> bool:
        """Whether it has committed something."""
        return any(way.acknowledged for way in self.ways.values())

    def found_at(self, partition: int, offset: int) -> None:
        """After a kill: the broker says that it is here."""
        way = self.ways[partition]
        self.resumed += way.acknowledged > 0
        if not way.acknowledged <= offset <= max(way.acknowledged, way.asked):
            self.findings.append(
                f"partition {partition}: it is at {offset}; acknowledged was {way.acknowledged}, asked for {way.asked}"
            )
        way.acknowledged = way.asked = way.next_offset = offset

    def saw(self, partition: int, offset: int, value: bytes) -> None:
        """A record, which has to be the next one, or one seen before with the same bytes."""
        way = self.ways[partition]
        if offset != way.next_offset:
            self.findings.append(f"partition {partition}: record {offset} where {way.next_offset} was due")
        before = self.seen.setdefault((partition, offset), value)
        if before != value:
            self.findings.append(f"partition {partition}: record {offset} was {before!r} and is {value!r}")
        way.next_offset = offset + 1

    def commits(self, partition: int) -> int:
        """What is asked for now."""
        way = self.ways[partition]
        way.asked = way.next_offset
        return way.asked

    def committed(self, partition: int) -> None:
        """It was acknowledged."""
        self.ways[partition].acknowledged = self.ways[partition].asked


class Follower(Protocol):
    """Runs in a thread of its own."""

    name: str
    topic: str
    log: Log

    def run(self, stop: threading.Event) -> None: ...


Step = Callable[[], None]


class Reconnecting:
    """Opens its session again whenever it breaks."""

    def __init__(self, name: str, topic: str, session: Callable[[Log], AbstractContextManager[Step]]) -> None:
        self.name = name
        self.topic = topic
        self.log = Log()
        self._session = session

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                with self._session(self.log) as step:
                    while not stop.is_set():
                        step()
            except BROKEN:
                stop.wait(RETRY_PAUSE_S)


def followers(served: Served) -> list[Follower]:
    """One of each dialect that keeps positions for its clients' own protocol."""
    shared, unit = served.bootstrap, f"127.0.0.1:{served.ports['fluvio-spu']}"
    return [
        KafkaGroup(shared),
        Reconnecting("FlyMQ reader", "kills-flymq", lambda log: _flymq(shared, log)),
        Reconnecting("Fluvio consumer", "kills-fluvio", lambda log: _fluvio(unit, log)),
    ]


@contextlib.contextmanager
def _flymq(address: str, log: Log) -> Iterator[Step]:
    topic = "kills-flymq"

    def step() -> None:
        for partition, way in log.ways.items():
            found = client.fetch(topic, partition, way.next_offset, max_messages=RECORDS_A_COMMIT)
            for message in found.messages:
                log.saw(partition, message.offset, message.value)
            if found.messages:
                client.commit(topic, FLYMQ, partition, log.commits(partition))
                log.committed(partition)

    with contextlib.closing(FlyMQClient.connect(address)) as client:
        for partition in log.ways:
            log.found_at(partition, client.subscribe(topic, FLYMQ, partition, "commit"))
        yield step


@contextlib.contextmanager
def _fluvio(address: str, log: Log) -> Iterator[Step]:
    topic = "kills-fluvio"

    def step() -> None:
        # One partition in turn, from where it is, until a frame came; then the next.
        for partition, way in log.ways.items():
            with FluvioUnit(address) as unit:
                kept = unit.kept(topic, partition, FLUVIO)
                log.found_at(partition, 0 if kept is None else kept + 1)
                stream = unit.stream(topic, partition, way.next_offset, FLUVIO)
                for offset, value in stream.taken():
                    log.saw(partition, offset, value)
                stream.keep(log.commits(partition) - 1)
                log.committed(partition)

    yield step


class KafkaGroup:
    """A static member that is started again and again, and lives through the kills that meet it."""

    name = "Kafka group"
    topic = "kills-confluent"

    def __init__(self, bootstrap: str) -> None:
        self.log = Log()
        self._bootstrap = bootstrap

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            consumer = self._joined()
            try:
                self._followed(consumer, stop)
            except KafkaException:
                stop.wait(RETRY_PAUSE_S)
            finally:
                consumer.close()

    def _joined(self) -> Consumer:
        """A new member, like a program that is started again. It is static: it takes its place at once."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": KAFKA,
                "group.instance.id": "follower",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 30000,
                "reconnect.backoff.max.ms": 200,
                "check.crcs": True,
                "log_level": 0,
            }
        )
        consumer.subscribe([self.topic], on_assign=self._assigned)
        return consumer

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for at in consumer.committed(partitions, timeout=30):
            self.log.found_at(at.partition, max(at.offset, 0))

    def _followed(self, consumer: Consumer, stop: threading.Event) -> None:
        """Take, compare, commit; until a commit fails, or its life is over. The next one begins anew."""
        for _ in range(COMMITS_A_LIFE):
            if stop.is_set():
                return
            messages = [m for m in consumer.consume(RECORDS_A_COMMIT, timeout=0.2) if m.error() is None]
            for message in messages:
                self.log.saw(message.partition(), message.offset(), message.value())
            partitions = {message.partition() for message in messages}
            wanted = [TopicPartition(self.topic, p, self.log.commits(p)) for p in sorted(partitions)]
            if wanted:
                consumer.commit(offsets=wanted, asynchronous=False)
                for partition in partitions:
                    self.log.committed(partition)

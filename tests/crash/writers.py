"""Writers that go on while the broker is killed again and again, and what each was told.

kcat, confluent-kafka     one process or producer for all kills, idempotent, retrying by itself
RustLog JSON and binary,  a connection each, one request at a time, without any retry
FlyMQ, TANK, Fluvio       (TANK with numbers of its own, and a hole before every message)
"""

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from confluent_kafka import Message, Producer

from tests.crash.fluvio_unit import FluvioUnit
from tests.interop.cache import kcat
from tests.support.blocking_wire import Ended
from tests.support.flymq_client import FlyMQClient
from tests.support.rustlog_client import BinaryClient, JsonClient
from tests.support.served import Served
from tests.support.tank_bundles import Message as TankMessage
from tests.support.tank_bundles import pack
from tests.support.tank_client import TankClient

PARTITIONS = 3
BROKEN = (OSError, Ended)
RETRY_PAUSE_S = 0.02
END_TIMEOUT_S = 100.0

Place = tuple[int, int]
Produce = Callable[[int, bytes], Place]
"""Number and value of a record; where it stands."""


@dataclass
class Tally:
    """What one writer sent and was told."""

    sent: list[str] = field(default_factory=list)
    acknowledged: dict[str, Place | None] = field(default_factory=dict)
    """Its place, where that was told."""


class Writer(Protocol):
    """Runs in a thread of its own until it is told to stop."""

    topic: str
    tally: Tally
    trouble: str

    def run(self, stop: threading.Event) -> None: ...


def writers(served: Served) -> list[Writer]:
    """One of each kind."""
    shared, tank = served.bootstrap, f"127.0.0.1:{served.ports['tank']}"
    unit = f"127.0.0.1:{served.ports['fluvio-spu']}"
    made: list[Writer] = [
        _Confluent(shared),
        OneByOne("kills-rustlog-json", lambda: _rustlog(JsonClient.connect(shared), "kills-rustlog-json")),
        OneByOne("kills-rustlog", lambda: _rustlog(BinaryClient.connect(shared), "kills-rustlog")),
        OneByOne("kills-flymq", lambda: _flymq(shared)),
        OneByOne("kills-tank", lambda: _tank(tank)),
        OneByOne("kills-fluvio", lambda: _fluvio(unit)),
    ]
    return [*made, _Kcat(shared)]


class OneByOne:
    """One request at a time; a broken connection is opened again, its request forgotten."""

    def __init__(self, topic: str, connect: Callable[[], AbstractContextManager[Produce]]) -> None:
        self.topic = topic
        self.tally = Tally()
        self.trouble = ""
        self._connect = connect

    def run(self, stop: threading.Event) -> None:
        number = 0
        while not stop.is_set():
            try:
                with self._connect() as produce:
                    while not stop.wait(0.0005):
                        value = f"{self.topic} {number}"
                        self.tally.sent.append(value)
                        number += 1
                        self.tally.acknowledged[value] = produce(number - 1, value.encode())
            except BROKEN:
                stop.wait(RETRY_PAUSE_S)


@contextlib.contextmanager
def _rustlog(client: JsonClient | BinaryClient, topic: str) -> Iterator[Produce]:
    def produce(number: int, value: bytes) -> Place:
        partition = number % PARTITIONS
        base, _ = client.produce(topic, partition, [value])
        return partition, base

    with contextlib.closing(client):
        yield produce


@contextlib.contextmanager
def _flymq(address: str) -> Iterator[Produce]:
    def produce(number: int, value: bytes) -> Place:
        told = client.produce("kills-flymq", -1, b"%d" % number, value)
        return told.partition, told.offset

    with contextlib.closing(FlyMQClient.connect(address)) as client:
        yield produce


@contextlib.contextmanager
def _tank(address: str) -> Iterator[Produce]:
    def produce(number: int, value: bytes) -> Place:
        partition, sequence = number % PARTITIONS, 2 * number + 1
        bundle = pack([TankMessage(value, number=sequence)], sparse=True)
        assert client.produce_bundle("kills-tank", partition, bundle, base=sequence) == 0
        return partition, sequence - 1

    with contextlib.closing(TankClient.connect(address)) as client:
        yield produce


@contextlib.contextmanager
def _fluvio(address: str) -> Iterator[Produce]:
    def produce(number: int, value: bytes) -> Place:
        partition = number % PARTITIONS
        return partition, client.produce("kills-fluvio", partition, value)

    with FluvioUnit(address) as client:
        yield produce


class _Confluent:
    topic = "kills-confluent"

    def __init__(self, bootstrap: str) -> None:
        self.tally = Tally()
        self.trouble = ""
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 600000,
                "linger.ms": 2,
                "reconnect.backoff.max.ms": 200,
                "compression.type": "lz4",
                "log_level": 0,
            }
        )

    def run(self, stop: threading.Event) -> None:
        """Records until told to stop; then wait for the last delivery report."""
        number = 0
        while not stop.wait(0.001):
            value = f"{self.topic} {number}"
            self.tally.sent.append(value)
            self._producer.produce(self.topic, value=value.encode(), on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1
        left = self._producer.flush(END_TIMEOUT_S)
        if left:
            self.trouble = f"{left} records were never reported"

    def _delivered(self, error: Any, message: Message) -> None:
        if error is None:
            place = (message.partition(), message.offset())
            self.tally.acknowledged[message.value().decode()] = place


_KCAT = {
    "enable.idempotence": "true",
    "message.timeout.ms": "600000",
    "linger.ms": "5",
    "reconnect.backoff.max.ms": "200",
}


class _Kcat:
    """It says only at its end that all of its lines were acknowledged, so all of them have to be there."""

    topic = "kills-kcat"

    def __init__(self, bootstrap: str) -> None:
        self.tally = Tally()
        self.trouble = ""
        options = [word for key, value in _KCAT.items() for word in ("-X", f"{key}={value}")]
        self._process = subprocess.Popen(
            [*kcat(), "-P", "-b", bootstrap, "-t", self.topic, "-q", "-E", *options],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, stop: threading.Event) -> None:
        """Lines until told to stop; then wait until kcat says that all are acknowledged."""
        assert self._process.stdin is not None
        number = 0
        try:
            while not stop.wait(0.002):
                line = f"{self.topic} {number}"
                self.tally.sent.append(line)
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()
                number += 1
            self._process.stdin.close()
        except BrokenPipeError:
            self.trouble = "it ended before it was told to"
        code = self._process.wait(timeout=END_TIMEOUT_S)
        if code == 0:
            self.tally.acknowledged = dict.fromkeys(self.tally.sent)
        else:
            self.trouble = f"exit code {code}"

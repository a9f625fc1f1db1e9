"""SIGKILL of the broker, many times, under load from four kinds of clients at once.

    kcat              one process for all kills, idempotent, retries by itself
    confluent-kafka   one producer for all kills, idempotent, retries by itself
    RustLog, FlyMQ    a plain socket each, without any retry
    TANK              the same, with numbers of its own, and a hole before every message

What was acknowledged has to be there exactly once; what was not, at most once. kcat says
only at its end that all of its lines were acknowledged, so all of them have to be there.
The log is read back by confluent-kafka, which shares no code with the broker.
"""

import argparse
import base64
import json
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support import flymq_wire, tank_wire
from tests.support.served import Served

PARTITIONS = 3
PORTS = ("shared", "tank", "console")
TOPICS = ("kills-kcat", "kills-confluent", "kills-rustlog", "kills-tank", "kills-flymq")


@dataclass
class Tally:
    """What one writer was told."""

    sent: list[str] = field(default_factory=list)
    acknowledged: dict[str, tuple[int, int]] = field(default_factory=dict)


def main(argv: list[str] | None = None) -> int:
    """Kill, verify, report; 0 when nothing acknowledged is missing or doubled."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.broker_kills")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="onelog-kills-") as folder:
        served = Served(Path(folder) / "data", ports=dict.fromkeys(PORTS, 0)).start()
        try:
            findings = _run(served, kills=args.kills, rng=rng)
        finally:
            if served.process is not None:
                served.kill()
    for line in findings:
        print(f"FINDING {line}")
    return 1 if findings else 0


def _run(served: Served, *, kills: int, rng: random.Random) -> list[str]:
    _create_topics(served.bootstrap)
    stop = threading.Event()
    tallies = {topic: Tally() for topic in TOPICS}
    with_kcat = shutil.which("kcat") is not None
    if not with_kcat:
        print("kcat is not installed (Debian: apt install kcat); going on without it", file=sys.stderr)
    kcat = _Kcat(served.bootstrap, tallies["kills-kcat"]) if with_kcat else None
    confluent = _Confluent(served.bootstrap, tallies["kills-confluent"])
    rustlog = _Rustlog(served.ports["shared"], tallies["kills-rustlog"])
    tank = _Tank(served.ports["tank"], tallies["kills-tank"])
    flymq = _FlyMQ(served.ports["shared"], tallies["kills-flymq"])
    writers = [w for w in (kcat, confluent, rustlog, tank, flymq) if w is not None]
    threads = [threading.Thread(target=w.run, args=(stop,)) for w in writers]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        threading.Event().wait(rng.uniform(0.2, 0.8))
        served.kill()
        served.start()
    threading.Event().wait(1.0)
    stop.set()
    for thread in threads:
        thread.join(timeout=120)
    findings = [f"{w.name}: {w.trouble}" for w in writers if w.trouble]
    for topic, tally in tallies.items():
        if tally.sent:
            findings += _judged(topic, tally, list(_read_back(served.bootstrap, topic)))
            print(
                f"{topic}: {len(tally.sent)} sent, {len(tally.acknowledged)} acknowledged over {kills} kills"
            )
    return findings


def _judged(topic: str, tally: Tally, found: list[tuple[int, int, str]]) -> list[str]:
    counts = Counter(value for _, _, value in found)
    places = {value: (partition, offset) for partition, offset, value in found}
    findings = [f"{topic}: {v!r} is there {n} times" for v, n in counts.items() if n > 1]
    findings += [f"{topic}: {v!r} was never sent" for v in counts.keys() - set(tally.sent)]
    for value, place in tally.acknowledged.items():
        if value not in counts:
            findings.append(f"{topic}: {value!r} was acknowledged at {place} and is missing")
        elif place != (-1, -1) and places[value] != place:
            findings.append(f"{topic}: {value!r} was acknowledged at {place} and stands at {places[value]}")
    return findings


def _create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(t, PARTITIONS, 1) for t in TOPICS]).values():
        made.result(timeout=30)


def _read_back(bootstrap: str, topic: str) -> Iterator[tuple[int, int, str]]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "kills",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    ended = 0
    while ended < PARTITIONS:
        message: Message | None = consumer.poll(30)
        assert message is not None, f"{topic}: nothing came for 30 s"
        error = message.error()
        if error is None:
            yield message.partition(), message.offset(), message.value().decode()
        elif error.code() == KafkaError._PARTITION_EOF:
            ended += 1
        else:
            raise AssertionError(f"{topic}: {error}")
    consumer.close()


_KCAT = {
    "enable.idempotence": "true",
    "message.timeout.ms": "600000",
    "linger.ms": "5",
    "reconnect.backoff.max.ms": "200",
}


def _options(settings: dict[str, str]) -> list[str]:
    return [word for key, value in settings.items() for word in ("-X", f"{key}={value}")]


class _Kcat:
    name = "kcat"

    def __init__(self, bootstrap: str, tally: Tally) -> None:
        self.tally = tally
        self.trouble = ""
        self.process = subprocess.Popen(
            ["kcat", "-P", "-b", bootstrap, "-t", "kills-kcat", "-q", "-E", *_options(_KCAT)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, stop: threading.Event) -> None:
        """Lines until told to stop; then wait until kcat says that all are acknowledged."""
        assert self.process.stdin is not None
        number = 0
        try:
            while not stop.wait(0.002):
                line = f"kcat-{number}"
                self.tally.sent.append(line)
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
                number += 1
            self.process.stdin.close()
        except BrokenPipeError:
            self.trouble = "it ended before it was told to"
        code = self.process.wait(timeout=100)
        if code == 0:
            self.tally.acknowledged = dict.fromkeys(self.tally.sent, (-1, -1))
        else:
            self.trouble = f"exit code {code}"


class _Confluent:
    name = "confluent-kafka"

    def __init__(self, bootstrap: str, tally: Tally) -> None:
        self.tally = tally
        self.trouble = ""
        self.producer = Producer(
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
            value = f"confluent-{number}"
            self.tally.sent.append(value)
            self.producer.produce("kills-confluent", value=value.encode(), on_delivery=self._delivered)
            self.producer.poll(0)
            number += 1
        left = self.producer.flush(100)
        if left:
            self.trouble = f"{left} records were never reported"

    def _delivered(self, error: Any, message: Message) -> None:
        if error is None:
            place = (message.partition(), message.offset())
            self.tally.acknowledged[message.value().decode()] = place


class _Socket:
    """One request at a time over a plain socket."""

    name = ""

    def __init__(self, port: int, tally: Tally) -> None:
        self.port = port
        self.tally = tally
        self.trouble = ""

    def run(self, stop: threading.Event) -> None:
        """One request at a time; a broken connection is opened again, its request forgotten."""
        number = 0
        while not stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=20) as door:
                    self._begin(door)
                    while not stop.is_set():
                        self._produce(door, number)
                        number += 1
            except OSError:
                number += 1
                stop.wait(0.02)

    def _begin(self, door: socket.socket) -> None:
        """What comes before the first request."""

    def _produce(self, door: socket.socket, number: int) -> None:
        raise NotImplementedError


class _Rustlog(_Socket):
    name = "RustLog"

    def _produce(self, door: socket.socket, number: int) -> None:
        value, partition = f"rustlog-{number}", number % PARTITIONS
        self.tally.sent.append(value)
        request = {
            "type": "Produce",
            "topic": "kills-rustlog",
            "partition": partition,
            "records": [base64.b64encode(value.encode()).decode()],
        }
        payload = json.dumps(request).encode()
        door.sendall(struct.pack(">I", len(payload)) + payload)
        answer = json.loads(_exactly(door, struct.unpack(">I", _exactly(door, 4))[0]))
        if answer["type"] == "ProduceResponse":
            self.tally.acknowledged[value] = (partition, answer["base_offset"])


class _Tank(_Socket):
    name = "TANK"

    def _begin(self, door: socket.socket) -> None:
        assert _exactly(door, len(tank_wire.PING)) == tank_wire.PING

    def _produce(self, door: socket.socket, number: int) -> None:
        value, partition, sequence = f"tank-{number}", number % PARTITIONS, 2 * number + 1
        self.tally.sent.append(value)
        bundle = tank_wire.sparse((sequence, value.encode()))
        door.sendall(tank_wire.produce(("kills-tank", [(partition, bundle, sequence)]), numbered=True))
        if _exactly(door, 10)[-1] == 0:
            self.tally.acknowledged[value] = (partition, sequence - 1)


class _FlyMQ(_Socket):
    name = "FlyMQ"

    def _produce(self, door: socket.socket, number: int) -> None:
        value = f"flymq-{number}"
        self.tally.sent.append(value)
        door.sendall(flymq_wire.produce("kills-flymq", value.encode(), key=b"%d" % number))
        head = _exactly(door, 8)
        payload = _exactly(door, int.from_bytes(head[4:], "big"))
        if head[2] == 0x01:
            partition, offset = struct.unpack_from(">iQ", payload, 2 + len("kills-flymq"))
            self.tally.acknowledged[value] = (partition, offset)


def _exactly(door: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = door.recv(count - len(data))
        if not piece:
            raise ConnectionError("closed")
        data += piece
    return data


if __name__ == "__main__":
    raise SystemExit(main())

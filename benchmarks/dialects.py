"""Single produces and fetches of each dialect beside our own Kafka dialect, in one run, interleaved.

One connection, one request in flight: a record of 100 bytes is written and synced, or read back
singly; and the same without waiting for answers (64 in flight), where the server's own work is
what is measured. Expected: a dialect costs what its bytes cost to take apart, so between half
and twice of Kafka's CPU; the sync is the same for all, so on one connection waiting hides most.

The frames are ready bytes: no client's work is in the figures.
"""

import base64
import json
import socket
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import cpu_s, median, now_s, table
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support import fluvio_unit_wire, fluvio_wire, flymq_wire, rustlog_client, tank_wire
from tests.support.fluvio_records import batch_of
from tests.support.kafka_talk import fetch_request, produce_request
from tests.support.kafka_wire import request
from tests.support.served import Served

ROUNDS = 5
SECONDS = 1.0
IN_FLIGHT = 64
VALUE = b"x" * 100
WRITTEN, READ = "written", "read"
PORTS = ("shared", "tank", "fluvio-sc", "fluvio-spu", "console")
BASE = "kafka"


@dataclass(frozen=True)
class Dialect:
    """How one dialect says both requests, and how long an answer is by its first bytes."""

    name: str
    listener: str
    produce: bytes
    fetch: bytes
    head_bytes: int
    body_bytes: Callable[[bytes], int]
    greeting: bytes = b""
    """What comes before the first answer."""
    opening: bytes = b""
    """What is asked before the first request; its answer is passed over."""


@dataclass
class Figures:
    """Of one dialect and one kind of load, by rounds."""

    rates: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)


def main() -> None:
    """Rounds go over all dialects and loads."""
    print("single records of 100 bytes: each dialect beside our Kafka dialect, in one run")
    with (
        tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder,
        Served(Path(folder) / "data", ports=dict.fromkeys(PORTS, 0)) as served,
    ):
        _prepared(served)
        found = {
            (dialect.name, what, in_flight): Figures()
            for dialect in DIALECTS
            for what in ("produce", "fetch")
            for in_flight in (1, IN_FLIGHT)
        }
        for _ in range(ROUNDS):
            for (name, what, in_flight), figures in found.items():
                dialect = next(d for d in DIALECTS if d.name == name)
                frame = dialect.produce if what == "produce" else dialect.fetch
                before = cpu_s(served.pid)
                done, seconds = _load(served, dialect, frame, in_flight)
                figures.rates.append(done / seconds)
                figures.cpu_us.append((cpu_s(served.pid) - before) / done * 1e6)
    for what in ("produce", "fetch"):
        _printed(what, found)


def _printed(what: str, found: dict[tuple[str, str, int], Figures]) -> None:
    rows = []
    for dialect in DIALECTS:
        row = [dialect.name]
        for in_flight in (1, IN_FLIGHT):
            mine, base = found[dialect.name, what, in_flight], found[BASE, what, in_flight]
            # Round by round, so that what the machine did meanwhile counts for both.
            ratios = [a / b for a, b in zip(mine.rates, base.rates, strict=True)]
            row += [f"{median(mine.rates):,.0f}", f"{median(ratios):.2f}", f"{median(mine.cpu_us):.0f}"]
        rows.append(row)
    head = [
        f"{what}s",
        "1 in flight: /s",
        "to kafka",
        "CPU s/M",
        f"{IN_FLIGHT} in flight: /s",
        "to kafka",
        "CPU s/M",
    ]
    table(head, rows)


def _prepared(served: Served) -> None:
    """A topic to write to, and one with records to read."""
    with KafkaClient(served.bootstrap) as client:
        for topic in (WRITTEN, READ):
            Admin(client).create_topic(topic, partition_count=1)
    for _ in range(10):
        dialect = DIALECTS[0]
        with _connected(served, dialect) as door:
            door.sendall(_kafka_produce(READ))
            _answer(door, dialect)


def _connected(served: Served, dialect: Dialect) -> socket.socket:
    door = socket.create_connection(("127.0.0.1", served.ports[dialect.listener]), timeout=30)
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _exactly(door, len(dialect.greeting))
    if dialect.opening:
        door.sendall(dialect.opening)
        _answer(door, dialect)
    return door


def _load(served: Served, dialect: Dialect, frame: bytes, in_flight: int) -> tuple[int, float]:
    """So many requests on their way all the time, over one connection."""
    with _connected(served, dialect) as door:
        door.sendall(frame)
        first = _answer(door, dialect)
        size = len(first)
        assert frame != dialect.fetch or any(form in first for form in (VALUE, _RECORD.encode())), first[:200]
        done, begin = 0, now_s()
        while now_s() - begin < SECONDS:
            door.sendall(frame * in_flight)
            _exactly(door, size * in_flight)
            done += in_flight
        return done, now_s() - begin


def _answer(door: socket.socket, dialect: Dialect) -> bytes:
    """One whole answer. All answers to one frame are equally long here."""
    head = _exactly(door, dialect.head_bytes)
    return head + _exactly(door, dialect.body_bytes(head))


def _exactly(door: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = door.recv(min(1 << 20, count - len(data)))
        assert part, "the broker closed the connection"
        data += part
    return bytes(data)


def _kafka_produce(topic: str) -> bytes:
    batch = Batch.build([Record(key=None, value=VALUE, timestamp_ms=1_700_000_000_000)])
    return request(0, 9, produce_request(bytes(batch.data), topic=topic))


def _rustlog_json(message: dict[str, object]) -> bytes:
    return rustlog_client.frame(json.dumps(message).encode())


def _sized(head: bytes) -> int:
    return int(struct.unpack(">I", head)[0])


_RECORD = base64.b64encode(VALUE).decode()
_PLACE = rustlog_client.place
DIALECTS = (
    Dialect(
        "kafka",
        "shared",
        _kafka_produce(WRITTEN),
        request(1, 12, fetch_request(5, topic=READ, partition_max_bytes=1)),
        4,
        _sized,
    ),
    Dialect(
        "rustlog JSON",
        "shared",
        _rustlog_json({"type": "Produce", "topic": WRITTEN, "partition": 0, "records": [_RECORD]}),
        _rustlog_json(
            {"type": "Fetch", "topic": READ, "partition": 0, "offset": 5, "max_bytes": 1, "group_id": "g"}
        ),
        4,
        _sized,
    ),
    Dialect(
        "rustlog binary",
        "shared",
        rustlog_client.frame(b"\x01" + _PLACE(WRITTEN, 0) + rustlog_client.blobs([VALUE])),
        rustlog_client.frame(b"\x02\x00\x00" + _PLACE(READ, 0) + struct.pack(">QI", 5, 1)),
        4,
        _sized,
    ),
    Dialect(
        "flymq",
        "shared",
        flymq_wire.produce(WRITTEN, VALUE),
        flymq_wire.fetch(READ, 5, count=1),
        8,
        lambda head: int.from_bytes(head[4:], "big"),
    ),
    Dialect(
        "tank",
        "tank",
        tank_wire.produce((WRITTEN, [(0, tank_wire.bundle(VALUE))])),
        tank_wire.fetch((READ, [(0, 6, 1)])),
        5,
        lambda head: int(struct.unpack("<I", head[1:])[0]),
        greeting=b"\x03\x00\x00\x00\x00",
    ),
    Dialect(
        "fluvio",
        "fluvio-spu",
        fluvio_unit_wire.produce(WRITTEN, (0, batch_of(VALUE))),
        fluvio_unit_wire.fetch(READ, (0, 5, 1)),
        4,
        _sized,
        opening=fluvio_wire.api_versions(),
    ),
)


if __name__ == "__main__":
    main()

"""Every dialect beside Kafka's, on one broker and in one run: single records, and many at once.

Single: 8 connections with one request each in flight, one record of 100 bytes; every produce is
answered behind its sync. Many: the same records in bundles of TANK and in batches of Fluvio and
Kafka, 4 requests in flight. Rounds go through all of them in turn; the broker's CPU is told
beside the rate, since a sync costs the same in every dialect.

Expected: requests at the rate of Kafka's (JSON, with its Base64, 0.7), TANK 3 million messages/s
in and 8 million out, Fluvio's batches of 16 and 256 KB at 0.9 of Kafka's bytes.
"""

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import frames
from benchmarks.load import Framing, Peer, run
from benchmarks.measure import cpu_s, median, spread, table
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.records.record import Record
from tests.support import fluvio_records, fluvio_unit_wire, flymq_wire, rustlog_wire, tank_wire
from tests.support.served import Served

ROUNDS = 5
SECONDS = 1.0
CONNECTIONS = 8
IN_FLIGHT = 4
VALUE = b"x" * 100
MESSAGES = 100
PORTS = ("shared", "tank", "fluvio-sc", "fluvio-spu", "console")
# One record, for what reads; and where the others write.
SMALL, TOPIC = "small", "written"
BIG_ENDIAN = Framing()
FLYMQ = Framing(head=8, at=4)
TANK = Framing(head=5, at=1, endian="little", greeting=len(tank_wire.PING))


@dataclass(frozen=True)
class Spoken:
    """One request of one dialect: the door it goes to, and how many records it brings or gets."""

    listener: str
    frame: bytes
    framing: Framing = BIG_ENDIAN
    records: int = 1
    in_flight: int = 1


def main() -> None:
    """A table for each kind of request; the first line of each is Kafka's."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onelog-bench-")))
        served = stack.enter_context(Served(folder / "data", ports=dict.fromkeys(PORTS, 0)))
        with KafkaClient(served.bootstrap) as client:
            for name in (SMALL, TOPIC):
                Admin(client).create_topic(name, partition_count=1)
            now_ms = time.time_ns() // 1_000_000
            Producer(client).send(SMALL, [Record(None, VALUE, now_ms)], partition=0)
        for title, dialects in _contests(now_ms).items():
            _compared(served, title, dialects)


def _compared(served: Served, title: str, dialects: Mapping[str, Spoken]) -> None:
    rates: dict[str, list[float]] = defaultdict(list)
    costs: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for name, each in dialects.items():
            before = cpu_s(served.pid)
            found = run(
                served.ports[each.listener],
                [Peer([each.frame])] * CONNECTIONS,
                seconds=SECONDS,
                in_flight=each.in_flight,
                framing=each.framing,
            )
            done = found.requests * each.records
            rates[name].append(done / found.seconds)
            costs[name].append((cpu_s(served.pid) - before) / done * 1e6)
    kafka = next(iter(dialects))
    rows = [
        [
            name,
            spread(rates[name]),
            f"{median(rates[name]) / median(rates[kafka]):.2f}",
            f"{median(costs[name]):.3g}",
            f"{median(costs[name]) / median(costs[kafka]):.2f}",
        ]
        for name in dialects
    ]
    table([title, "records/s: median (p10-p90)", "of Kafka's", "CPU s/million", "of Kafka's"], rows)


def _contests(now_ms: int) -> dict[str, dict[str, Spoken]]:
    contests = {"single produces": _single_produces(now_ms), "single fetches": _single_fetches()}
    contests["100 at once"] = _many("TANK", MESSAGES, now_ms)
    for size in (16 << 10, 256 << 10):
        contests[f"batches of {size >> 10} KB"] = _many("Fluvio", size // (len(VALUE) + 8), now_ms)
    return contests


def _single_produces(now_ms: int) -> dict[str, Spoken]:
    # 100 bytes in Base64, whichever they are.
    said = {"type": "Produce", "topic": TOPIC, "partition": 0, "records": ["eHh4" * 33 + "eA=="]}
    batch = frames.batch(records=1, value_bytes=len(VALUE), now_ms=now_ms)
    return {
        "Kafka": Spoken("shared", frames.produce(TOPIC, [0], batch)),
        "RustLog, JSON": Spoken("shared", rustlog_wire.encode_frame(json.dumps(said).encode())),
        "RustLog, binary": Spoken("shared", rustlog_wire.binary_produce(TOPIC, 0, VALUE)),
        "TANK": Spoken("tank", tank_wire.produce((TOPIC, [(0, tank_wire.bundle(VALUE))])), TANK),
        "FlyMQ": Spoken("shared", flymq_wire.produce(TOPIC, VALUE, partition=0), FLYMQ),
        "Fluvio": Spoken("fluvio-spu", _fluvio_produce([VALUE])),
    }


def _single_fetches() -> dict[str, Spoken]:
    said = {"type": "Fetch", "group_id": "", "topic": SMALL, "partition": 0, "offset": 0, "max_bytes": 1}
    return {
        "Kafka": Spoken("shared", frames.fetch(SMALL, 0, offset=0, bytes_max=1000)),
        "RustLog, JSON": Spoken("shared", rustlog_wire.encode_message(said)),
        "RustLog, binary": Spoken("shared", rustlog_wire.binary_fetch(SMALL, 0, 0, 1)),
        "TANK": Spoken("tank", tank_wire.fetch((SMALL, [(0, 1, 1)])), TANK),
        "FlyMQ": Spoken("shared", flymq_wire.fetch(SMALL, 0, count=1), FLYMQ),
        "Fluvio": Spoken("fluvio-spu", fluvio_unit_wire.fetch(SMALL, (0, 0, 1000))),
    }


def _many(dialect: str, count: int, now_ms: int) -> dict[str, Spoken]:
    """The same records, once as Kafka's batch and once as the dialect has them."""
    batch = frames.batch(records=count, value_bytes=len(VALUE), now_ms=now_ms)
    kafka = Spoken("shared", frames.produce(TOPIC, [0], batch), BIG_ENDIAN, count, IN_FLIGHT)
    values = [VALUE] * count
    if dialect == "TANK":
        frame = tank_wire.produce((TOPIC, [(0, tank_wire.bundle(*values))]))
        return {"Kafka": kafka, "TANK": Spoken("tank", frame, TANK, count, IN_FLIGHT)}
    frame = _fluvio_produce(values)
    return {"Kafka": kafka, "Fluvio": Spoken("fluvio-spu", frame, BIG_ENDIAN, count, IN_FLIGHT)}


def _fluvio_produce(values: Sequence[bytes]) -> bytes:
    return fluvio_unit_wire.produce(TOPIC, (0, fluvio_records.batch_of(*values)))


if __name__ == "__main__":
    main()

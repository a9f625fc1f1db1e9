"""Single produces and fetches of every dialect beside Kafka's, in one run on one broker.

8 connections with one request each in flight, one record of 100 bytes; every produce is answered
behind its sync. Rounds go through all dialects in turn. What counts is the broker's CPU per request,
since the sync is the same for all. Expected: between 0.6 and 1.2 of Kafka's; JSON, with its Base64, dearest.
"""

import json
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import cpu_s, median, spread, table
from benchmarks.requests import TOPIC, load, produce_frame
from onelog.binary.message import codec
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.protocols.kafka.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from onelog.protocols.kafka.messages.header import RequestHeader
from onelog.records.record import Record
from tests.support import flymq_wire, rustlog_wire, tank_wire
from tests.support.served import Served

ROUNDS = 5
SECONDS = 1.0
CONNECTIONS = 8
VALUE = b"x" * 100
# One record, for what reads.
SMALL = "small"
FETCH_VERSION = 11


@dataclass
class Spoken:
    """One dialect: where it is, what it says first, and its two requests."""

    listener: str
    requests: Mapping[str, bytes]
    greeting: bytes = b""


def main() -> None:
    """A table for produces, and one for fetches."""
    with (
        tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder,
        Served(Path(folder) / "data", ports={"shared": 0, "tank": 0, "console": 0}) as served,
    ):
        with KafkaClient(served.bootstrap) as client:
            for name in (TOPIC, SMALL):
                Admin(client).create_topic(name, partition_count=1)
            Producer(client).send(SMALL, [Record(None, VALUE, 1)], partition=0)
        for kind in ("produce", "fetch"):
            print(f"{kind}: {CONNECTIONS} connections, one record of {len(VALUE)} bytes a request")
            _compared(served, kind, _spoken())


def _compared(served: Served, kind: str, dialects: Mapping[str, Spoken]) -> None:
    rates: dict[str, list[float]] = {name: [] for name in dialects}
    costs: dict[str, list[float]] = {name: [] for name in dialects}
    for _ in range(ROUNDS):
        for name, each in dialects.items():
            before = cpu_s(served.pid)
            done, seconds = load(
                served.ports[each.listener],
                each.requests[kind],
                CONNECTIONS,
                greeting=each.greeting,
                seconds_max=SECONDS,
            )
            rates[name].append(done / seconds)
            costs[name].append((cpu_s(served.pid) - before) / done * 1e6)
    table(
        ["", "requests/s: median (p10-p90)", "broker CPU s per million", "ratio to Kafka"],
        _rows(rates, costs),
    )


def _rows(rates: Mapping[str, list[float]], costs: Mapping[str, list[float]]) -> Sequence[Sequence[str]]:
    kafka = median(costs["Kafka"])
    return [
        [name, spread(rates[name]), f"{median(cost):.0f}", f"{median(cost) / kafka:.2f}"]
        for name, cost in costs.items()
    ]


def _spoken() -> Mapping[str, Spoken]:
    json_fetch = {
        "type": "Fetch",
        "group_id": "",
        "topic": SMALL,
        "partition": 0,
        "offset": 0,
        "max_bytes": 1,
    }
    return {
        "Kafka": Spoken("shared", {"produce": produce_frame(), "fetch": _kafka_fetch()}),
        "RustLog, JSON": Spoken(
            "shared", {"produce": _json_produce(), "fetch": rustlog_wire.encode_message(json_fetch)}
        ),
        "RustLog, binary": Spoken(
            "shared",
            {
                "produce": rustlog_wire.binary_produce(TOPIC, 0, VALUE),
                "fetch": rustlog_wire.binary_fetch(SMALL, 0, 0, 1),
            },
        ),
        "TANK": Spoken(
            "tank",
            {
                "produce": tank_wire.produce((TOPIC, [(0, tank_wire.bundle(VALUE))])),
                "fetch": tank_wire.fetch((SMALL, [(0, 1, 1)])),
            },
            greeting=tank_wire.PING,
        ),
        "FlyMQ": Spoken(
            "shared",
            {
                "produce": flymq_wire.produce(TOPIC, VALUE, partition=0),
                "fetch": flymq_wire.fetch(SMALL, 0, count=1),
            },
        ),
    }


def _json_produce() -> bytes:
    # 100 bytes in Base64, whichever they are.
    return rustlog_wire.encode_frame(
        json.dumps(
            {"type": "Produce", "topic": TOPIC, "partition": 0, "records": ["eHh4" * 33 + "eA=="]}
        ).encode()
    )


def _kafka_fetch() -> bytes:
    request = FetchRequest(
        max_wait_ms=0,
        topics=[
            FetchTopic(
                topic=SMALL,
                partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)],
            )
        ],
    )
    header = RequestHeader(
        request_api_key=1, request_api_version=FETCH_VERSION, correlation_id=7, client_id="bench"
    )
    body = codec(RequestHeader, 1).encode_bytes(header) + codec(FetchRequest, FETCH_VERSION).encode_bytes(
        request
    )
    return struct.pack(">i", len(body)) + body


if __name__ == "__main__":
    main()

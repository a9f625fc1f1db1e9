"""What the fuzzer begins with: captured requests, random ones of Kafka's, and what kills others.

`killers` are the frames that end or bloat the reference brokers, from the dossiers.
"""

import base64
import gzip
import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path

from onelog.binary.crc import crc32c
from onelog.protocols.kafka.messages.fetch import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from onelog.protocols.kafka.versions import APIS
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support import fluvio_unit_wire, fluvio_wire, flymq_wire, rustlog_client, tank_wire
from tests.support.fluvio_records import batch_of
from tests.support.kafka_talk import fetch_request, produce_request
from tests.support.kafka_wire import request
from tests.support.random_values import Values
from tests.support.tank_bundles import Message, pack

GOLDEN = Path(__file__).parents[1] / "golden"
TOPIC = "fuzzed"
_BOMB = gzip.compress(bytes(256 << 20))


def seeds(dialect: str) -> list[bytes]:
    """Requests that are in order, most of them."""
    if dialect == "kafka":
        return list(_kafka(random.Random("kafka")))
    found = list(_LIVE[dialect]()) * 3
    folder = GOLDEN / dialect.partition("-")[0]
    found += [bytes.fromhex(path.read_text()) for path in sorted(folder.glob("*.req.hex"))]
    for path in sorted(folder.glob("*.hex")):
        lines = path.read_text().splitlines()
        found += [bytes.fromhex(line[2:]) for line in lines if line.startswith("> ")]
    return [frame for frame in found if 0 < len(frame) < 100_000]


def killers(dialect: str) -> list[bytes]:
    """What ends or bloats the broker that the dialect comes from."""
    return list(_KILLERS[dialect.partition("-")[0]]())


def _kafka(rng: random.Random) -> Iterator[bytes]:
    for api in APIS.values():
        for version in range(api.version_min, api.version_max + 1):
            for turn in range(3):
                values = Values(
                    f"{api.key} {version} {turn}",
                    version=version,
                    is_flexible=api.is_flexible(version),
                    error_codes=[0],
                )
                body = values.message(api.request)
                try:
                    made = request(api.key, version, body, correlation_id=rng.randrange(1 << 31))
                except (ValueError, TypeError, OverflowError, AssertionError):
                    continue  # a value that this version has no place for
                if len(made) < 100_000:
                    yield made
    records = bytes(Batch.build([Record(b"k", b"v" * 50, 1_800_000_000_000)] * 3).data)
    for version in range(3, 10):
        yield request(0, version, produce_request(records, topic=TOPIC))
        yield request(1, version + 1, fetch_request(0, topic=TOPIC))


def _rustlog_live() -> Iterator[bytes]:
    """Requests for the topic that is there, so that what is wrong with them is found late."""
    record = base64.b64encode(b"v" * 50).decode()
    place = {"topic": TOPIC, "partition": 0}
    for message in (
        {"type": "Produce", **place, "records": [record, record]},
        {"type": "Fetch", **place, "offset": 0, "max_bytes": 1000, "group_id": "g"},
        {"type": "OffsetCommit", "group": "g", **place, "offset": 1},
        {"type": "OffsetFetch", "group": "g", **place},
        {"type": "DescribePartition", **place},
    ):
        yield _big(json.dumps(message).encode())
    where = rustlog_client.place(TOPIC, 0)
    yield _big(b"\x01" + where + rustlog_client.blobs([b"v" * 50, b""]))
    yield _big(b"\x02" + rustlog_client.text16("g") + where + struct.pack(">QI", 0, 1000))
    yield _big(b"\x03" + rustlog_client.text16("g") + where + struct.pack(">Q", 1))
    yield _big(b"\x04" + rustlog_client.text16("g") + where)
    yield _big(b"\x08" + where)


def _flymq_live() -> Iterator[bytes]:
    place = flymq_wire.text(TOPIC) + flymq_wire.text("g") + struct.pack(">i", 0)
    yield flymq_wire.produce(TOPIC, b"v" * 50, key=b"k")
    yield flymq_wire.frame(1, gzip.compress(flymq_wire.produce(TOPIC, b"v" * 50)[8:]), flags=3)
    for opcode in (0x07, 0x0B):
        for filter_text in ("", "v+", "$.a.b"):
            asked = flymq_wire.text(TOPIC) + struct.pack(">iQi", 0, 0, 10) + flymq_wire.text(filter_text)
            yield flymq_wire.frame(opcode, asked)
    yield flymq_wire.frame(0x02, flymq_wire.text(TOPIC) + struct.pack(">iQ", 0, 0))
    yield flymq_wire.frame(0x05, place + flymq_wire.text8("earliest"))
    yield flymq_wire.frame(0x06, place + struct.pack(">Q", 1))
    for opcode in (0x60, 0x64):
        yield flymq_wire.frame(opcode, place)
    yield flymq_wire.frame(0x61, place + flymq_wire.text8("offset") + struct.pack(">Q", 1))
    yield flymq_wire.frame(0x66, flymq_wire.text(TOPIC) + struct.pack(">iq", 0, 1_700_000_000_000))


def _tank_live() -> Iterator[bytes]:
    yield tank_wire.produce((TOPIC, [(0, tank_wire.bundle(b"v" * 50, b"w"))]))
    yield tank_wire.produce((TOPIC, [(0, pack([Message(b"v" * 50, b"k")] * 20, snappy=True))]))
    for number in (1, 1 << 40):
        yield tank_wire.produce((TOPIC, [(0, tank_wire.sparse((number, b"v")), number)]), numbered=True)
    for number in (0, 1, 2, (1 << 64) - 1):
        yield tank_wire.fetch((TOPIC, [(0, number), (1, number)]))
    yield tank_wire.frame(6, struct.pack("<I", 1) + tank_wire.text(TOPIC))


def _unit_live() -> Iterator[bytes]:
    for version in (7, 24, 25):
        yield fluvio_unit_wire.produce(TOPIC, (0, batch_of(b"v" * 50, b"w", key=b"k")), version=version)
    yield fluvio_unit_wire.fetch_offsets(TOPIC, 0, 1)
    yield fluvio_unit_wire.fetch(TOPIC, (0, 0, 1000))
    for offset in (0, 1, -1):
        yield fluvio_unit_wire.stream(TOPIC, 0, offset, consumer="g")
    yield (
        fluvio_unit_wire.stream(TOPIC, 0) + fluvio_unit_wire.acknowledge((1, 1)) + fluvio_unit_wire.keep(1, 0)
    )
    yield fluvio_unit_wire.consumer_offsets(topic=TOPIC, consumer="g")
    yield fluvio_unit_wire.forget(TOPIC, 0, "g")


def _controller_live() -> Iterator[bytes]:
    yield fluvio_wire.api_versions()
    yield fluvio_wire.create("fuzzed-too")
    for label in ("Topic", "Partition", "Spu", "SpuGroup", "SmartModule"):
        yield fluvio_wire.watch(label)
        yield fluvio_wire.list_objects(label, TOPIC)


_LIVE = {
    "rustlog": _rustlog_live,
    "flymq": _flymq_live,
    "tank": _tank_live,
    "fluvio-sc": _controller_live,
    "fluvio-spu": _unit_live,
}


def _kafka_killers() -> Iterator[bytes]:
    yield _big(struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", (1 << 31) - 1))
    yield _big(struct.pack(">hhih", 3, 9, 1, -1) + b"\x00\xff\xff\xff\xff\x0f")
    yield struct.pack(">i", 0)
    yield struct.pack(">i", -1)
    yield struct.pack(">i", 200 << 20) + bytes(1000)
    yield struct.pack(">i", (100 << 20) - 1) + struct.pack(">hhih", 0, 7, 1, -1)
    yield b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    # A batch of one record whose gzip is 256 MiB once it is open.
    head = bytearray(bytes(Batch.build([Record(None, b"x", 0)]).data)[:61])
    head[22] |= 1

    yield request(0, 7, produce_request(_with_body(bytes(head), _BOMB), topic=TOPIC))
    # Whoever looks for a time in there opens it.
    for at in (-3, 0):
        part = ListOffsetsPartition(partition_index=0, timestamp=at)
        asked = ListOffsetsTopic(name=TOPIC, partitions=[part])
        yield request(2, 7, ListOffsetsRequest(replica_id=-1, topics=[asked]))


def _with_body(head: bytes, body: bytes) -> bytes:
    """A v2 batch of this header around other bytes, length and checksum right."""

    made = bytearray(head + body)
    struct.pack_into(">i", made, 8, len(made) - 12)
    struct.pack_into(">I", made, 17, crc32c(memoryview(made)[21:]))
    return bytes(made)


def _rustlog_killers() -> Iterator[bytes]:
    place = struct.pack(">H", len(TOPIC)) + TOPIC.encode() + struct.pack(">I", 0)
    for count in (0xFFFFFFFF, 0x7FFFFFFF, 1 << 20):
        yield _big(b"\x01" + place + struct.pack(">I", count))
        yield _big(b"\x01" + place + struct.pack(">II", count, 0xFFFFFFFF))
    yield _big(b"\x05" + place[:-4] + struct.pack(">I", 0xFFFFFFFF))
    yield struct.pack(">I", 0xFFFFFFFF) + b"{" * 1000
    yield struct.pack(">I", 0)
    yield _big(b"[" * 200_000)
    yield _big(b'{"type":"Ping","x":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}")
    yield _big(b'{"type":"Produce","topic":"fuzzed","partition":1e400,"records":["' + b"A" * 100_000 + b'"]}')
    yield _big(b"{\xff\xfe")


def _flymq_killers() -> Iterator[bytes]:
    text, frame = flymq_wire.text, flymq_wire.frame
    topic, group = text(TOPIC), text("g")
    minus = struct.pack(">i", -1)
    yield frame(0x07, topic + minus + struct.pack(">Qi", 0, 10) + text(""))
    yield frame(0x05, topic + group + minus + text("earliest"))
    yield frame(0x64, topic + group + minus)
    yield frame(0x61, topic + group + minus + text("earliest"))
    yield frame(0x03, topic + minus)
    for opcode in (0x70, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x7B, 0x7C, 0x7D, 0x80, 0x81):
        yield frame(opcode, text("u") + text("p"))
        yield frame(opcode, text("u") + struct.pack(">I", 0xFFFFFFFF))
    yield frame(0x01, _BOMB, flags=3)
    yield struct.pack(">BBBBI", 0xAF, 1, 1, 1, 33_554_433) + bytes(100)
    yield struct.pack(">BBBBI", 0xAF, 1, 1, 1, 0xFFFFFFFF) + bytes(100)


def _tank_killers() -> Iterator[bytes]:
    for bundle in (
        b"",
        b"\x00\x00",
        b"\x3c",
        b"\x40\x00",
        b"\x80" + bytes(14),
        b"\x03\x01",
        b"\x02\x05aaaaa",
    ):
        yield tank_wire.produce((TOPIC, [(0, bundle)]))
    yield tank_wire.frame(4, struct.pack("<H", 7))
    yield struct.pack("<BI", 2, (256 << 20) + 1)
    yield struct.pack("<BI", 1, 256 << 20) + bytes(1000)
    yield tank_wire.frame(2, struct.pack("<HIBQIB", 2, 1, 0, 0, 0, 0))
    yield tank_wire.frame(0x63, bytes(10))
    # A bundle whose count is the most that there can be.
    yield tank_wire.produce((TOPIC, [(0, b"\x00\xff\xff\xff\xff\x0f\x00" + bytes(20))]))


def _fluvio_killers() -> Iterator[bytes]:
    yield struct.pack(">i", 0)
    yield struct.pack(">i", -5)
    yield struct.pack(">i", (1 << 31) - 1) + bytes(100)
    for frame in seeds("fluvio-spu"):
        # Every produced batch, with the bit of a schema.
        at = frame.find(b"\xff\xff\xff\xff\x02")
        if at > 0 and frame[4:6] == b"\x00\x00":
            made = bytearray(frame)
            made[at + 10] |= 0x10
            yield bytes(made)


def _big(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


_KILLERS = {
    "kafka": _kafka_killers,
    "rustlog": _rustlog_killers,
    "flymq": _flymq_killers,
    "tank": _tank_killers,
    "fluvio": _fluvio_killers,
}

"""RustLog's client side for tests, in both forms, written from its document, the dossier and captures alone.

    frame     u32 length | payload                    big-endian, at most 10 485 760 bytes
    JSON      payload is one object with a `type`
    binary    payload is a type byte and its fields   strings have a u16 length, records a u32 one

It imports nothing of onelog, so that one mistake cannot hide on both sides.
"""

import base64
import binascii
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from tests.support.blocking_wire import Wire

FRAME_BYTES_MAX = 10_485_760
MAX_BYTES = 1 << 20
ERROR = 0xFE
PING = 0xFF


class Refused(Exception):
    """An Error frame."""

    def __init__(self, code: int, message: str, details: Any = None) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.message = message
        self.details = details


@dataclass(frozen=True)
class Record:
    """One record of a fetch. The binary form tells neither offset nor time."""

    payload: bytes
    offset: int | None = None
    timestamp_us: int | None = None


@dataclass(frozen=True)
class Fetched:
    """What a fetch answered."""

    records: tuple[Record, ...]
    next_offset: int


@dataclass(frozen=True)
class PartitionFacts:
    """What is told of a partition; the binary form knows the first two alone."""

    partition: int
    high_watermark: int
    log_start_offset: int | None = None
    segment_count: int | None = None


class _Framed:
    """Frames over one connection."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    @classmethod
    def connect(cls, address: str) -> Self:
        return cls(Wire.connect(address))

    def close(self) -> None:
        self.wire.close()

    def send(self, *payloads: bytes) -> None:
        """All frames in one write."""
        self.wire.send(b"".join(frame(p) for p in payloads))

    def receive(self) -> bytes:
        """The payload of one frame."""
        (length,) = struct.unpack(">I", self.wire.read(4))
        assert 0 < length <= FRAME_BYTES_MAX, f"a frame of {length} bytes"
        return self.wire.read(length)


def frame(payload: bytes) -> bytes:
    """A payload behind its length."""
    return struct.pack(">I", len(payload)) + payload


class JsonClient(_Framed):
    """The document's form."""

    def ask(self, request: dict[str, Any], expected: str) -> dict[str, Any]:
        """One request, its answer of this type, or Refused."""
        self.send(written(request))
        return self.answer(expected)

    def answer(self, expected: str) -> dict[str, Any]:
        """The next answer, which is of this type, or Refused."""
        found: dict[str, Any] = json.loads(self.receive().decode("utf-8"))
        if found["type"] == "Error":
            raise Refused(found["code"], found["message"], found.get("details"))
        assert found["type"] == expected, f"{found['type']} where {expected} was due"
        return found

    def ping(self) -> None:
        self.ask({"type": "Ping"}, "Pong")

    def create_topic(self, topic: str, partition_count: int) -> None:
        answer = self.ask(
            {"type": "CreateTopic", "topic": topic, "partition_count": partition_count}, "CreateTopicResponse"
        )
        assert answer["success"] is True
        assert answer["partitions_created"] == partition_count

    def topics(self) -> dict[str, int]:
        """How many partitions each topic has."""
        answer = self.ask({"type": "ListTopics"}, "ListTopicsResponse")
        return {t["name"]: t["partition_count"] for t in answer["topics"]}

    def describe_topic(self, topic: str) -> list[PartitionFacts]:
        answer = self.ask({"type": "DescribeTopic", "topic": topic}, "DescribeTopicResponse")
        assert answer["topic"] == topic
        return [PartitionFacts(**facts) for facts in answer["partitions"]]

    def describe_partition(self, topic: str, partition: int) -> PartitionFacts:
        request = {"type": "DescribePartition", "topic": topic, "partition": partition}
        answer = self.ask(request, "DescribePartitionResponse")
        assert answer["topic"] == topic
        facts = {k: answer[k] for k in ("partition", "high_watermark", "log_start_offset", "segment_count")}
        return PartitionFacts(**facts)

    def metrics(self) -> str:
        """The Prometheus text."""
        text = self.ask({"type": "MetricsFetch"}, "MetricsFetchResponse")["metrics"]["prometheus"]
        assert isinstance(text, str)
        return text

    def produce(self, topic: str, partition: int, records: Sequence[bytes]) -> tuple[int, int]:
        """The first record's offset, and how many were appended."""
        return self.produce_pipelined(topic, partition, [records])[0]

    def produce_pipelined(
        self, topic: str, partition: int, batches: Sequence[Sequence[bytes]]
    ) -> list[tuple[int, int]]:
        """Every request in one write, then every answer."""
        requests = [
            {
                "type": "Produce",
                "topic": topic,
                "partition": partition,
                "records": [base64.b64encode(record).decode() for record in records],
            }
            for records in batches
        ]
        self.send(*(written(r) for r in requests))
        answers = [self.answer("ProduceResponse") for _ in batches]
        return [(a["base_offset"], a["record_count"]) for a in answers]

    def fetch(
        self, topic: str, partition: int, offset: int, *, max_bytes: int = MAX_BYTES, group: str = ""
    ) -> Fetched:
        request = {
            "type": "Fetch",
            "group_id": group,
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "max_bytes": max_bytes,
        }
        answer = self.ask(request, "FetchResponse")
        records = [Record(_from_base64(r["payload"]), r["offset"], r["timestamp"]) for r in answer["records"]]
        return Fetched(tuple(records), answer["next_offset"])

    def commit(self, group: str, topic: str, partition: int, offset: int) -> bool:
        request = {
            "type": "OffsetCommit",
            "group": group,
            "topic": topic,
            "partition": partition,
            "offset": offset,
        }
        return self.ask(request, "OffsetCommitResponse")["success"] is True

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        request = {"type": "OffsetFetch", "group": group, "topic": topic, "partition": partition}
        offset = self.ask(request, "OffsetFetchResponse")["offset"]
        assert offset is None or type(offset) is int
        return offset


def written(request: dict[str, Any]) -> bytes:
    """A request as the document writes it, without white space."""
    return json.dumps(request, separators=(",", ":")).encode()


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as broken:
        raise AssertionError(f"no Base64: {text!r:.80}") from broken


class Fields:
    """Reads the fields of a binary payload in turn."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, width: int) -> int:
        return int.from_bytes(self.taken(width), "big")

    def taken(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        assert len(found) == count, f"{count} bytes expected at {self._at} of {self._data.hex()}"
        self._at += count
        return found

    def text(self) -> str:
        return self.taken(self.number(2)).decode("utf-8")

    def ended(self) -> None:
        left = self._data[self._at :]
        assert not left, f"bytes behind the last field: {left.hex()}"


class BinaryClient(_Framed):
    """The published programs' form."""

    def ask(self, kind: int, fields: bytes = b"") -> Fields:
        """One request, the fields of its answer, or Refused."""
        self.send(bytes([kind]) + fields)
        return self.answer(kind)

    def answer(self, kind: int) -> Fields:
        """The fields of the next answer, which is of this type, or Refused."""
        fields = Fields(self.receive())
        found = fields.number(1)
        if found == ERROR:
            error = Refused(fields.number(2), fields.text())
            fields.ended()
            raise error
        assert found == kind, f"type {found:02x} where {kind:02x} was due"
        return fields

    def ping(self) -> None:
        self.ask(PING).ended()

    def create_topic(self, topic: str, partition_count: int) -> None:
        self._succeeded(self.ask(0x05, text16(topic) + struct.pack(">I", partition_count)))

    def topics(self) -> dict[str, int]:
        """How many partitions each topic has."""
        fields = self.ask(0x06)
        found = [(fields.text(), fields.number(4)) for _ in range(fields.number(4))]
        fields.ended()
        return dict(found)

    def describe_topic(self, topic: str) -> list[PartitionFacts]:
        fields = self.ask(0x07, text16(topic))
        assert fields.text() == topic
        partition_count, listed = fields.number(4), fields.number(4)
        assert partition_count == listed
        found = [PartitionFacts(fields.number(4), fields.number(8)) for _ in range(listed)]
        fields.ended()
        return found

    def describe_partition(self, topic: str, partition: int) -> PartitionFacts:
        fields = self.ask(0x08, place(topic, partition))
        assert fields.text() == topic
        found = PartitionFacts(fields.number(4), fields.number(8))
        fields.ended()
        return found

    def metrics(self) -> str:
        """The Prometheus text."""
        fields = self.ask(0x09)
        text = fields.taken(fields.number(4)).decode("utf-8")
        fields.ended()
        return text

    def produce(self, topic: str, partition: int, records: Sequence[bytes]) -> tuple[int, int]:
        """The first record's offset, and how many were appended."""
        return self.produce_pipelined(topic, partition, [records])[0]

    def produce_pipelined(
        self, topic: str, partition: int, batches: Sequence[Sequence[bytes]]
    ) -> list[tuple[int, int]]:
        """Every request in one write, then every answer."""
        self.send(*(b"\x01" + place(topic, partition) + blobs(records) for records in batches))
        return [self._produced() for _ in batches]

    def _produced(self) -> tuple[int, int]:
        fields = self.answer(0x01)
        found = fields.number(8), fields.number(4)
        fields.ended()
        return found

    def fetch(
        self, topic: str, partition: int, offset: int, *, max_bytes: int = MAX_BYTES, group: str = ""
    ) -> Fetched:
        """With a group: from its position on, whatever the offset."""
        request = text16(group) + place(topic, partition) + struct.pack(">QI", offset, max_bytes)
        fields = self.ask(0x02, request)
        records = [Record(fields.taken(fields.number(4))) for _ in range(fields.number(4))]
        found = Fetched(tuple(records), fields.number(8))
        fields.ended()
        return found

    def commit(self, group: str, topic: str, partition: int, offset: int) -> bool:
        fields = self.ask(0x03, text16(group) + place(topic, partition) + struct.pack(">Q", offset))
        success = fields.number(1) == 1
        fields.ended()
        return success

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        fields = self.ask(0x04, text16(group) + place(topic, partition))
        offset = fields.number(8) if fields.number(1) else None
        fields.ended()
        return offset

    def _succeeded(self, fields: Fields) -> None:
        assert fields.number(1) == 1
        fields.ended()


def text16(text: str) -> bytes:
    """A string behind its u16 length."""
    data = text.encode("utf-8")
    return struct.pack(">H", len(data)) + data


def place(topic: str, partition: int) -> bytes:
    """A topic and one of its partitions."""
    return text16(topic) + struct.pack(">I", partition)


def blobs(records: Sequence[bytes]) -> bytes:
    """A count, and each record behind its u32 length."""
    return struct.pack(">I", len(records)) + b"".join(struct.pack(">I", len(r)) + r for r in records)

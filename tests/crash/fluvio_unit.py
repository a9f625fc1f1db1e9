"""A Fluvio client for one unit, as little of one as load and positions need: a blocking socket.

The wheel's own `next()` holds the interpreter, so many of them cannot work beside others in one
process. It imports nothing of onelog.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import lz4.frame

from tests.support import fluvio_unit_wire as unit
from tests.support import fluvio_wire
from tests.support.blocking_wire import Wire
from tests.support.fluvio_records import batch_of

FETCH_BYTES = 1 << 20
STREAM, ACKNOWLEDGE, KEEP = 100, 101, 102
BATCH_HEAD = 57


@dataclass
class Stream:
    """One open stream of a consumer with a name."""

    unit: "FluvioUnit"
    partition: int
    start: int
    number: int = 0

    def taken(self) -> list[tuple[int, bytes]]:
        """The records of the next frame, whose arrival is acknowledged."""
        said = unit.streamed(self.unit.awaited(STREAM))
        assert said.code == 0, f"the stream ended with {said.code}"
        self.number = said.stream_id
        found = [one for one in values(said.records) if one[0] >= self.start]
        self.start = found[-1][0] + 1 if found else self.start
        self.unit.send(unit.acknowledge((self.number, self.start), correlation_id=ACKNOWLEDGE))
        assert unit.acknowledged(self.unit.awaited(ACKNOWLEDGE)) == [(self.number, 0)]
        return found

    def keep(self, offset: int) -> None:
        """Remember the last record that was processed."""
        self.unit.send(unit.keep(self.number, offset, correlation_id=KEEP))
        kept, code, _ = unit.kept(self.unit.awaited(KEEP))
        assert (kept, code) == (offset, 0)


class FluvioUnit:
    """One connection, past its first exchange. Answers that come early are kept for who asks."""

    def __init__(self, address: str) -> None:
        self._wire = Wire.connect(address)
        self._early: list[tuple[int, bytes]] = []
        self.ask(fluvio_wire.api_versions())

    def close(self) -> None:
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, request: bytes) -> None:
        self._wire.send(request)

    def awaited(self, correlation_id: int) -> bytes:
        """The next answer of this number."""
        for at, (number, body) in enumerate(self._early):
            if number == correlation_id:
                del self._early[at]
                return body
        while True:
            (size,) = struct.unpack(">i", self._wire.read(4))
            frame = self._wire.read(size)
            (number,) = struct.unpack_from(">i", frame)
            if number == correlation_id:
                return frame[4:]
            self._early.append((number, frame[4:]))

    def ask(self, request: bytes, correlation_id: int = 1) -> bytes:
        """One request and its answer."""
        self.send(request)
        return self.awaited(correlation_id)

    def produce(self, topic: str, partition: int, value: bytes) -> int:
        """Where it stands."""
        (told,) = unit.produced(self.ask(unit.produce(topic, (partition, batch_of(value)))))
        assert told.code == 0, f"refused with {told.code}"
        return told.base_offset

    def read(self, topic: str, partition: int) -> Iterator[tuple[int, bytes]]:
        """All that is there, from the first offset on."""
        ((code, _, at, end),) = unit.offsets(self.ask(unit.fetch_offsets(topic, partition)))
        assert code == 0, f"{topic}/{partition}: {code}"
        while at < end:
            found = self.fetched(topic, partition, at)
            assert found, f"{topic}/{partition}: nothing at {at} of {end}"
            yield from found
            at = found[-1][0] + 1

    def fetched(self, topic: str, partition: int, offset: int) -> list[tuple[int, bytes]]:
        """What one fetch brings."""
        (part,) = unit.fetched(self.ask(unit.fetch(topic, (partition, offset, FETCH_BYTES))))
        assert part.code == 0, f"{topic}/{partition}: {part.code}"
        return [one for one in values(part.records) if one[0] >= offset]

    def kept(self, topic: str, partition: int, consumer: str) -> int | None:
        """The last record that this consumer has processed."""
        asked = unit.consumer_offsets(topic=topic, partition=partition, consumer=consumer)
        found = unit.kept_offsets(self.ask(asked))
        return found[0].offset if found else None

    def stream(self, topic: str, partition: int, start: int, consumer: str) -> Stream:
        """Open a stream."""
        self.send(unit.stream(topic, partition, start, consumer=consumer, correlation_id=STREAM))
        return Stream(self, partition, start)


def values(records: bytes) -> list[tuple[int, bytes]]:
    """(offset, value) of whole batches, plain or lz4, with holes or without."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(records):
        base, size = struct.unpack_from(">qi", records, at)
        (attributes,) = struct.unpack_from(">h", records, at + 21)
        assert attributes & 7 in (0, 3), f"codec {attributes & 7}"
        payload = records[at + BATCH_HEAD : at + 12 + size]
        plain = lz4.frame.decompress(payload) if attributes & 7 else payload
        found += [(base + offset, value) for offset, value in _records(plain)]
        at += 12 + size
    assert at == len(records), "a batch was cut"
    return found


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    (count,) = struct.unpack_from(">i", data)
    at = 4
    for _ in range(count):
        length, at = _varint(data, at)
        end = at + length
        _, at = _varint(data, at + 1)
        offset, at = _varint(data, at)
        tag, at = data[at], at + 1
        if tag:
            size, at = _varint(data, at)
            at += size
        size, at = _varint(data, at)
        yield offset, data[at : at + size]
        at = end
    assert at == len(data), "bytes behind the last record"


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return (value >> 1) ^ -(value & 1), at

"""Fluvio's records and batches by hand, from its document and dossier alone; nothing of onelog's."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st


class FluvioRecord(NamedTuple):
    """Timestamps are counted from that of the batch."""

    key: bytes | None
    value: bytes
    timestamp: int = 0


def varint(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 127:
        out.append(left & 127 | 128)
        left >>= 7
    out.append(left)
    return bytes(out)


def record(said: FluvioRecord, offset: int) -> bytes:
    key = b"\0" if said.key is None else b"\1" + varint(len(said.key)) + said.key
    times = varint(said.timestamp) + varint(offset)
    body = b"\0" + times + key + varint(len(said.value)) + said.value + b"\0"
    return varint(len(body)) + body


def records(said: Sequence[FluvioRecord]) -> bytes:
    """Back to back, without their count."""
    return b"".join(record(each, place) for place, each in enumerate(said))


def read_records(data: bytes, count: int) -> list[FluvioRecord]:
    """Of bytes that are known to be good; offsets are held against places."""
    found = []
    pos = 0

    def number() -> int:
        nonlocal pos
        value = shift = 0
        while data[pos] > 127:
            value |= (data[pos] & 127) << shift
            shift += 7
            pos += 1
        value |= data[pos] << shift
        pos += 1
        return (value >> 1) ^ -(value & 1)

    for place in range(count):
        length = number()
        end = pos + length
        pos += 1
        timestamp, offset = number(), number()
        assert offset == place
        tag = data[pos]
        pos += 1
        key = None
        if tag:
            size = number()
            key, pos = data[pos : pos + size], pos + size
        size = number()
        value, pos = data[pos : pos + size], pos + size
        assert number() == 0
        assert pos == end
        found.append(FluvioRecord(key, value, timestamp))
    assert pos == len(data)
    return found


def crc32c(data: bytes) -> int:
    """Bit by bit, by its definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def batch(
    payload: bytes,
    count: int,
    *,
    base_offset: int = 0,
    attributes: int = 0,
    first_ms: int = 1_700_000_000_000,
    max_ms: int = 1_700_000_000_000,
    schema: int | None = None,
    magic: int = 2,
    producer: tuple[int, int, int] = (-1, -1, -1),
    crc: int | None = None,
) -> bytes:
    """One batch around a payload, which is compressed already if the attributes say so."""
    covered = struct.pack(">hiqqqhi", attributes, count - 1, first_ms, max_ms, *producer)
    covered += b"" if schema is None else struct.pack(">I", schema)
    covered += payload
    front = struct.pack(">ib", -1, magic) + struct.pack(">I", crc32c(covered) if crc is None else crc)
    return struct.pack(">qi", base_offset, len(front) + len(covered)) + front + covered


def counted(said: Sequence[FluvioRecord]) -> bytes:
    """The payload of a batch that is not compressed."""
    return struct.pack(">i", len(said)) + records(said)


def batch_of(*values: bytes, key: bytes | None = None, base_offset: int = 0) -> bytes:
    """A batch as a client sends it."""
    said = [FluvioRecord(key, value) for value in values]
    return batch(counted(said), len(said), base_offset=base_offset)


@st.composite
def broken_records(draw: st.DrawFn, some: st.SearchStrategy[list[FluvioRecord]]) -> tuple[bytes, int]:
    """(bytes, count) that are nearly, or not at all, so many records."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=60)), draw(st.integers(0, 9))
    said = draw(some)
    data = bytearray(records(said))
    count = max(0, len(said) + draw(st.sampled_from([0, 0, 0, 1, -1])))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["set", "cut", "insert", "drop"])):
            case "set" if at < len(data):
                data[at] = draw(st.integers(0, 255))
            case "cut":
                del data[at:]
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=3))
            case _:
                del data[at : at + 1]
    return bytes(data), count

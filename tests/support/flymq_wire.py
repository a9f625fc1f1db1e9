"""FlyMQ's frames, written from the protocol's document alone, for tests. It imports nothing of ours."""

import struct
from typing import NamedTuple

MAGIC = 0xAF
MAX_MESSAGE_SIZE = 33_554_432


class Frame(NamedTuple):
    opcode: int
    flags: int
    payload: bytes


def frame(opcode: int, payload: bytes = b"", *, flags: int = 1) -> bytes:
    return struct.pack(">BBBBI", MAGIC, 1, opcode, flags, len(payload)) + payload


def frames(data: bytes) -> list[Frame]:
    """All frames of the data, which is nothing else."""
    found = []
    while data:
        magic, version, opcode, flags, size = struct.unpack_from(">BBBBI", data)
        assert (magic, version) == (MAGIC, 1)
        assert len(data) >= 8 + size
        found.append(Frame(opcode, flags, data[8 : 8 + size]))
        data = data[8 + size :]
    return found


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def text8(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">B", len(encoded)) + encoded


def data(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def i32(value: int) -> bytes:
    return struct.pack(">i", value)


def u64(value: int) -> bytes:
    return struct.pack(">Q", value)


def produce(topic: str, value: bytes, *, key: bytes = b"", partition: int = -1) -> bytes:
    return frame(0x01, text(topic) + data(key) + data(value) + i32(partition))


def consume(topic: str, offset: int, *, partition: int = 0) -> bytes:
    return frame(0x02, text(topic) + i32(partition) + u64(offset))


def create(topic: str, partitions: int) -> bytes:
    return frame(0x03, text(topic) + i32(partitions))


def fetch(topic: str, offset: int, *, partition: int = 0, count: int = 100, filter: str | None = "") -> bytes:
    """filter None: the document's form, which has none."""
    tail = b"" if filter is None else text(filter)
    return frame(0x07, text(topic) + i32(partition) + u64(offset) + i32(count) + tail)


def subscribe(topic: str, group: str, mode: str, *, partition: int = 0, by_document: bool = False) -> bytes:
    said = text(mode) if by_document else text8(mode)
    return frame(0x05, text(topic) + text(group) + i32(partition) + said)


def commit(topic: str, group: str, offset: int, *, partition: int = 0) -> bytes:
    return frame(0x06, text(topic) + text(group) + i32(partition) + u64(offset))


class Fetched(NamedTuple):
    records: list[tuple[int, bytes, bytes]]
    next_offset: int


def fetched(payload: bytes, *, by_document: bool = False) -> Fetched:
    """An answer to FETCH in one of its layouts; all of it."""
    (count,) = struct.unpack_from(">I", payload)
    at = 4
    next_offset = 0

    def number() -> int:
        nonlocal at
        (value,) = struct.unpack_from(">Q", payload, at)
        at += 8
        return int(value)

    def piece() -> bytes:
        nonlocal at
        (size,) = struct.unpack_from(">I", payload, at)
        at += 4 + size
        assert at <= len(payload)
        return payload[at - size : at]

    if not by_document:
        next_offset = number()
    records = []
    for _ in range(count):
        if by_document:
            key, value = piece(), piece()
            records.append((number(), key, value))
        else:
            offset = number()
            records.append((offset, piece(), piece()))
    if by_document:
        next_offset = number()
    assert at == len(payload)
    return Fetched(records, next_offset)


def error_of_programs(payload: bytes) -> str:
    """An ERROR as the Python, Java and Go programs read it: a code, and a text behind it."""
    (size,) = struct.unpack_from(">H", payload, 4)
    assert len(payload) == 6 + size
    return payload[6:].decode()


def error_of_document(payload: bytes) -> str:
    """An ERROR as the document has it: false, and a text that fills the payload."""
    success, size = struct.unpack_from(">BH", payload)
    assert (success, size) == (0, len(payload) - 3)
    return payload[3:].decode()

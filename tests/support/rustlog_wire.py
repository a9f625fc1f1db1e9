"""RustLog's frames, written from the protocol's document alone, for tests. It imports nothing of ours."""

import json
import struct
from typing import Any

MAX_FRAME_SIZE = 10_485_760

Message = dict[str, Any]


def encode_frame(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def encode_message(message: Message) -> bytes:
    return encode_frame(json.dumps(message).encode())


def text(value: str | bytes) -> bytes:
    """The binary form's text: its length in 16 bits before it."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack(">H", len(data)) + data


def binary_produce(topic: str, partition: int, *records: bytes) -> bytes:
    body = b"".join(struct.pack(">I", len(record)) + record for record in records)
    return encode_frame(b"\x01" + text(topic) + struct.pack(">II", partition, len(records)) + body)


def binary_fetch(
    topic: str, partition: int, offset: int, max_bytes: int = 1 << 20, *, group: str = ""
) -> bytes:
    return encode_frame(
        b"\x02" + text(group) + text(topic) + struct.pack(">IQI", partition, offset, max_bytes)
    )


def binary_commit(group: str, topic: str, partition: int, offset: int) -> bytes:
    return encode_frame(b"\x03" + text(group) + text(topic) + struct.pack(">IQ", partition, offset))


def binary_position(group: str, topic: str, partition: int) -> bytes:
    return encode_frame(b"\x04" + text(group) + text(topic) + struct.pack(">I", partition))


def binary_create(topic: str | bytes, partition_count: int) -> bytes:
    return encode_frame(b"\x05" + text(topic) + struct.pack(">I", partition_count))


def binary_describe_topic(topic: str) -> bytes:
    return encode_frame(b"\x07" + text(topic))


def binary_describe_partition(topic: str, partition: int) -> bytes:
    return encode_frame(b"\x08" + text(topic) + struct.pack(">I", partition))


BINARY_LIST = encode_frame(b"\x06")
BINARY_METRICS = encode_frame(b"\x09")
BINARY_PING = encode_frame(b"\xff")


def binary_error(frame: bytes) -> tuple[int, str]:
    """Code and text of an Error, which has to fill its frame."""
    size, kind, code, length = struct.unpack_from(">IBHH", frame)
    assert (kind, size, len(frame)) == (0xFE, 5 + length, 9 + length)
    return code, frame[9:].decode()


def binary_fetched(frame: bytes) -> tuple[list[bytes], int]:
    """The records of an answer to Fetch, and its next offset."""
    size, kind, count = struct.unpack_from(">IBI", frame)
    assert (kind, size) == (0x02, len(frame) - 4), binary_error(frame)
    records, at = [], 9
    for _ in range(count):
        (length,) = struct.unpack_from(">I", frame, at)
        records.append(frame[at + 4 : at + 4 + length])
        at += 4 + length
    (next_offset,) = struct.unpack(">Q", frame[at:])
    return records, next_offset

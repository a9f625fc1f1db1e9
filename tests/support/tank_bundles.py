"""TANK's bundles, packed and unpacked for tests, from the dossier and captures alone.

    bundle   flags:u8 [count:varint] [first:u64 if sparse] [last-first-1:varint if sparse and count > 1] messages
    flags    bits 0-1 codec (0 none, 1 a raw Snappy block over the messages)   bits 2-5 count, 0: it follows
             bit 6 sparse
    message  mflags:u8 [number - previous - 1:varint] [timestamp:u64] [key:str8] content: varint length, bytes
    mflags   bit 0 has a key   bit 1 the timestamp of the one before   bit 2 number is previous + 1 (sparse)

It imports nothing of onelog.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cramjam

SPARSE = 0x40
SNAPPY = 1
HAS_KEY, SAME_TIMESTAMP, NEXT_NUMBER = 1, 2, 4
COUNT_IN_FLAGS_MAX = 15


@dataclass(frozen=True)
class Message:
    """One message. Its number is told when it is read, and says where it shall stand in a sparse bundle."""

    content: bytes
    key: bytes | None = None
    timestamp_ms: int = 0
    number: int = 0


class Bytes:
    """Reads little-endian fields in turn."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, width: int) -> int:
        return int.from_bytes(self.taken(width), "little")

    def taken(self, count: int) -> bytes:
        found = self.data[self.at : self.at + count]
        assert len(found) == count, f"{count} bytes expected at {self.at} of {self.data[:64].hex()}"
        self.at += count
        return found

    def varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise AssertionError(f"no varint of 32 bits at {self.at}")

    def text8(self) -> str:
        return self.taken(self.number(1)).decode()

    @property
    def left(self) -> int:
        return len(self.data) - self.at


def varint(value: int) -> bytes:
    """7 bits a byte, the lowest first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def text8(text: str) -> bytes:
    """A string behind its u8 length."""
    data = text.encode()
    return bytes([len(data)]) + data


def pack(messages: Sequence[Message], *, snappy: bool = False, sparse: bool = False) -> bytes:
    """One bundle as tank-cli writes it. A sparse one keeps the messages' own numbers."""
    count = len(messages)
    flags = (SNAPPY if snappy else 0) | (SPARSE if sparse else 0)
    head = bytearray([flags | count << 2] if 0 < count <= COUNT_IN_FLAGS_MAX else [flags])
    if not 0 < count <= COUNT_IN_FLAGS_MAX:
        head += varint(count)
    if sparse:
        first, last = messages[0].number, messages[-1].number
        head += first.to_bytes(8, "little") + (varint(last - first - 1) if count > 1 else b"")
    body = _packed_messages(messages, sparse=sparse)
    return bytes(head) + (bytes(cramjam.snappy.compress_raw(body)) if snappy else body)


def _packed_messages(messages: Sequence[Message], *, sparse: bool) -> bytes:
    out = bytearray()
    timestamp: int | None = None
    for i, message in enumerate(messages):
        gap = message.number - messages[i - 1].number - 1 if sparse and 0 < i < len(messages) - 1 else None
        same = message.timestamp_ms == timestamp
        out.append(
            (HAS_KEY if message.key is not None else 0)
            | (SAME_TIMESTAMP if same else 0)
            | (NEXT_NUMBER if gap == 0 else 0)
        )
        out += varint(gap) if gap else b""
        out += b"" if same else message.timestamp_ms.to_bytes(8, "little")
        out += bytes([len(message.key)]) + message.key if message.key is not None else b""
        out += varint(len(message.content)) + message.content
        timestamp = message.timestamp_ms
    return bytes(out)


def unpack(bundle: bytes, base: int) -> list[Message]:
    """The messages of a bundle whose first one, if it isn't sparse, has this number."""
    head = Bytes(bundle)
    flags = head.number(1)
    assert not flags & 0x80, "bit 7 of a bundle's flags"
    count = flags >> 2 & 15 or head.varint()
    first = last = base
    sparse = bool(flags & SPARSE)
    if sparse:
        first = last = head.number(8)
        last = first + 1 + head.varint() if count > 1 else first
    body = bundle[head.at :]
    assert flags & 3 in (0, SNAPPY), f"codec {flags & 3}"
    messages = Bytes(bytes(cramjam.snappy.decompress_raw(body)) if flags & SNAPPY else body)
    found = _unpacked_messages(messages, count, first, last if sparse else None)
    assert not messages.left, f"{messages.left} bytes behind the last message"
    return found


def _unpacked_messages(body: Bytes, count: int, first: int, last: int | None) -> list[Message]:
    found: list[Message] = []
    number, timestamp = first - 1, 0
    for i in range(count):
        flags = body.number(1)
        if last is None or flags & NEXT_NUMBER:
            number += 1
        elif i == 0:
            number = first
        elif i == count - 1:
            number = last
        else:
            number += body.varint() + 1
        timestamp = timestamp if flags & SAME_TIMESTAMP else body.number(8)
        key = body.taken(body.number(1)) if flags & HAS_KEY else None
        found.append(Message(body.taken(body.varint()), key, timestamp, number))
    return found


def unpack_chunk(chunk: bytes, base: int) -> list[Message]:
    """The messages of whole bundles, each behind its length; the first one's number is the base."""
    found: list[Message] = []
    data = Bytes(chunk)
    while data.left:
        found += unpack(data.taken(data.varint()), found[-1].number + 1 if found else base)
    return found

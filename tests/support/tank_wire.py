"""TANK's bytes, written from its document and the captures alone, for tests. It imports nothing of ours."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

END = (1 << 64) - 1
PING = b"\x03\x00\x00\x00\x00"
UNKNOWN_TOPIC = 0xFFFF


def frame(kind: int, payload: bytes) -> bytes:
    return struct.pack("<BI", kind, len(payload)) + payload


def text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def message(content: bytes, *, at: int | None = 1_700_000_000_000, key: bytes | None = None) -> bytes:
    """One of a bundle. at None: the timestamp of the one before."""
    flags = (key is not None) | (at is None) << 1
    stamp = b"" if at is None else struct.pack("<Q", at)
    return (
        bytes([flags])
        + stamp
        + (b"" if key is None else bytes([len(key)]) + key)
        + varint(len(content))
        + content
    )


def bundle(*contents: bytes, at: int = 1_700_000_000_000) -> bytes:
    """Messages of one time, uncompressed."""
    count = len(contents)
    head = bytes([count << 2]) if count < 16 else b"\x00" + varint(count)
    first, *others = contents
    return head + message(first, at=at) + b"".join(message(each, at=None) for each in others)


def sparse(*numbered: tuple[int, bytes], at: int = 1_700_000_000_000) -> bytes:
    """Messages with their numbers, as tank-cli writes them."""
    count, (first, content), last = len(numbered), numbered[0], numbered[-1][0]
    out = bytes([0x40 | count << 2]) if count < 16 else b"\x40" + varint(count)
    out += struct.pack("<Q", first) + (varint(last - first - 1) if count > 1 else b"")
    out += message(content, at=at)
    before = first
    for number, content in numbered[1:]:
        if number == last:
            out += b"\x02"
        else:
            out += b"\x06" if number == before + 1 else b"\x02" + varint(number - before - 1)
        out += varint(len(content)) + content
        before = number
    return out


Entry = tuple[int, bytes] | tuple[int, bytes, int]


def produce(
    *topics: tuple[str, Sequence[Entry]], request: int = 1, version: int = 2, numbered: bool = False
) -> bytes:
    """Entries are (partition, bundle), or with the base as well."""
    out = struct.pack("<HI", version, request) + text("c++") + struct.pack("<BIB", 0, 0, len(topics))
    for name, entries in topics:
        out += text(name) + bytes([len(entries)])
        for partition, data, *base in entries:
            out += struct.pack("<H", partition) + varint(len(data))
            out += struct.pack("<Q", base[0] if base else 0) if numbered else b""
            out += data
    return frame(5 if numbered else 1, out)


Place = tuple[int, int] | tuple[int, int, int]


def fetch(
    *topics: tuple[str, Sequence[Place]], request: int = 1, version: int = 2, wait: int = 0, least: int = 0
) -> bytes:
    """Places are (partition, sequence), or with the size as well."""
    out = struct.pack("<HI", version, request) + text("") + struct.pack("<QI", wait, least)
    out += (b"\x00" if version >= 3 else b"") + bytes([len(topics)])
    for name, places in topics:
        out += text(name) + bytes([len(places)])
        for partition, sequence, *size in places:
            out += struct.pack("<HQI", partition, sequence, size[0] if size else 1 << 20)
    return frame(2, out)


def create(name: str, partitions: int = 1, config: str = "", *, request: int = 1) -> bytes:
    return frame(
        7,
        struct.pack("<I", request)
        + text(name)
        + struct.pack("<H", partitions)
        + varint(len(config))
        + config.encode(),
    )


@dataclass
class Part:
    """One entry of a fetched answer."""

    partition: int
    code: int
    base: int | None = None
    last: int = 0
    first: int | None = None
    chunk: bytes = b""


@dataclass
class Fetched:
    """An answer to a fetch, taken apart: topics by name in their order; None for an unknown one."""

    request: int
    topics: list[tuple[str, int, list[Part] | None]] = field(default_factory=list)

    @property
    def only(self) -> Part:
        [(_, _, parts)] = self.topics
        assert parts is not None
        [part] = parts
        return part


def fetched(data: bytes) -> Fetched:
    """Of a whole frame; every length has to be exact."""
    kind, size = struct.unpack_from("<BI", data)
    assert (kind, size) == (2, len(data) - 5)
    (header,) = struct.unpack_from("<I", data, 5)
    answer = Fetched(struct.unpack_from("<I", data, 9)[0])
    at, chunk_at = 14, 9 + header
    for _ in range(data[13]):
        name = data[at + 1 : at + 1 + data[at]].decode("latin-1")
        at += 1 + data[at]
        count = data[at]
        at += 1
        parts: list[Part] | None = []
        for _ in range(count):
            (partition,) = struct.unpack_from("<H", data, at)
            at += 2
            if partition == UNKNOWN_TOPIC:
                parts = None
                break
            part = Part(partition, data[at])
            at += 1
            assert parts is not None
            parts.append(part)
            if part.code in (0x00, 0x01):
                (part.base,) = struct.unpack_from("<Q", data, at)
                at += 8
            if part.code in (0x00, 0x01, 0xFE):
                part.last, length = struct.unpack_from("<QI", data, at)
                at += 12
                part.chunk = data[chunk_at : chunk_at + length]
                chunk_at += length
            if part.code == 0x01:
                (part.first,) = struct.unpack_from("<Q", data, at)
                at += 8
        answer.topics.append((name, count, parts))
    assert at == 9 + header
    assert chunk_at == len(data)
    return answer


def bundles(chunk: bytes) -> list[bytes]:
    """The bundles of a chunk, which are all whole."""
    found = []
    at = 0
    while at < len(chunk):
        length = shift = 0
        while True:
            byte = chunk[at]
            length |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                break
        found.append(chunk[at : at + length])
        assert len(found[-1]) == length
        at += length
    return found


def codes(data: bytes) -> bytes:
    """Of an answer to a produce, whatever its request's number."""
    kind, size = struct.unpack_from("<BI", data)
    assert (kind, size) == (1, len(data) - 5)
    return data[9:]

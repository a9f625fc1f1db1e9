"""What clients send to a unit, by hand, and readers of what it answers; nothing of onelog's."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from tests.support.fluvio_records import read_records
from tests.support.fluvio_wire import frame, text

VERSION = 24


def option(value: str | None) -> bytes:
    return b"\0" if value is None else b"\1" + text(value)


def produce(
    topic: str,
    *entries: tuple[int, bytes],
    version: int = VERSION,
    isolation: int = 1,
    timeout_ms: int = 1500,
    transactional_id: str | None = None,
    smartmodules: bytes | None = b"\0\0\0\0",
    is_sized: bool = True,
    correlation_id: int = 1,
) -> bytes:
    """Entries of one topic. smartmodules None: no list; is_sized False: the document's records."""
    body = option(transactional_id) + struct.pack(">hii", isolation, timeout_ms, 1) + text(topic)
    body += struct.pack(">i", len(entries))
    for partition, records in entries:
        body += struct.pack(">I", partition)
        body += (struct.pack(">i", len(records)) if is_sized else b"") + records
    return frame(0, version, body + (smartmodules or b""), correlation_id=correlation_id)


class Produced(NamedTuple):
    """What became of an entry. extra: what the error carries."""

    partition: int
    code: int
    base_offset: int
    extra: bytes = b""


def produced(answer: bytes, *, version: int = VERSION) -> list[Produced]:
    """The entries of the only topic of an answer."""
    assert struct.unpack_from(">i", answer) == (1,)
    size = struct.unpack_from(">H", answer, 4)[0]
    at = 6 + size
    (count,) = struct.unpack_from(">i", answer, at)
    at += 4
    found = []
    for _ in range(count):
        partition, code = struct.unpack_from(">Ih", answer, at)
        at += 6
        extra, at = carried(answer, at, code) if version >= 8 else (b"", at)
        (base,) = struct.unpack_from(">q", answer, at)
        at += 8 + (8 if version >= 2 else 0) + (8 if version >= 5 else 0)
        found.append(Produced(partition, code, base, extra))
    assert at + (4 if version >= 1 else 0) == len(answer)
    return found


def carried(answer: bytes, at: int, code: int) -> tuple[bytes, int]:
    """What an error carries, and where it ends."""
    if code in (2, 6001, 8001):
        size = struct.unpack_from(">H", answer, at)[0]
        return answer[at + 2 : at + 2 + size], at + 2 + size
    if code == 6002:
        start = at
        at += 2 + struct.unpack_from(">H", answer, at)[0]
        at += 1 + (2 + struct.unpack_from(">H", answer, at + 1)[0] if answer[at] else 0)
        return answer[start:at], at
    size = {7: 9, 71: 16}.get(code, 0)
    return answer[at : at + size], at + size


def predefined(name: str) -> bytes:
    """One invocation of a SmartModule that has a name, as version 24 has it."""
    return struct.pack(">i", 1) + b"\0" + text(name) + b"\0" + b"\0\0" + b"\0"


def ad_hoc(program: bytes) -> bytes:
    """One that comes along, of the generic kind."""
    return struct.pack(">iBi", 1, 1, len(program)) + program + b"\7\0" + b"\0\0" + b"\0"


def fetch_offsets(topic: str, *partitions: int, version: int = VERSION, consumer: str | None = None) -> bytes:
    body = (
        struct.pack(">i", 1)
        + text(topic)
        + struct.pack(f">i{len(partitions)}I", len(partitions), *partitions)
    )
    return frame(1002, version, body + (option(consumer) if version == 23 else b""))


def offsets(answer: bytes) -> list[tuple[int, int, int, int]]:
    """(code, partition, start, end) of the only topic."""
    at = 6 + struct.unpack_from(">H", answer, 4)[0]
    (count,) = struct.unpack_from(">i", answer, at)
    assert len(answer) == at + 4 + 22 * count
    return [struct.unpack_from(">hIqq", answer, at + 4 + 22 * index) for index in range(count)]


def stream(
    topic: str,
    partition: int = 0,
    offset: int = 0,
    *,
    bytes_max: int = 1048890,
    isolation: int = 0,
    smartmodules: bytes = b"\0\0\0\0",
    consumer: str | None = None,
    version: int = VERSION,
    correlation_id: int = 1,
) -> bytes:
    body = text(topic) + struct.pack(">IqiB", partition, offset, bytes_max, isolation) + smartmodules
    return frame(
        1003, version, body + (option(consumer) if version >= 23 else b""), correlation_id=correlation_id
    )


class Part(NamedTuple):
    """A partition in an answer. extra: what the error carries."""

    partition: int
    code: int
    high_watermark: int
    next_filter_offset: int
    log_start: int
    records: bytes
    extra: bytes


class Streamed(NamedTuple):
    """One frame of a stream, whose number it names."""

    topic: str
    stream_id: int
    part: Part

    @property
    def code(self) -> int:
        return self.part.code

    @property
    def records(self) -> bytes:
        return self.part.records


def streamed(body: bytes, *, version: int = VERSION) -> Streamed:
    """Of a frame without length and number."""
    size = struct.unpack_from(">H", body)[0]
    topic = body[2 : 2 + size].decode()
    (stream_id,) = struct.unpack_from(">I", body, 2 + size)
    part, at = fetched_part(body, 6 + size, version=version)
    assert at == len(body)
    return Streamed(topic, stream_id, part)


def fetched_part(body: bytes, at: int, *, version: int = VERSION) -> tuple[Part, int]:
    partition, code = struct.unpack_from(">Ih", body, at)
    extra, at = carried(body, at + 6, code)
    (high_watermark,) = struct.unpack_from(">q", body, at)
    at += 8
    following = 0
    if version >= 11:
        (following,) = struct.unpack_from(">q", body, at)
        at += 8
    log_start, aborted, length = struct.unpack_from(">qBi", body, at)
    assert aborted == 0
    at += 13
    part = Part(partition, code, high_watermark, following, log_start, body[at : at + length], extra)
    return part, at + length


def fetch(
    topic: str,
    *wanted: tuple[int, int, int],
    wait_ms: int = 0,
    bytes_min: int = 0,
    bytes_max: int = 1 << 20,
    version: int = VERSION,
) -> bytes:
    """(partition, offset, bytes) of one topic."""
    body = struct.pack(">ii", wait_ms, bytes_min)
    body += struct.pack(">i", bytes_max) if version >= 3 else b""
    body += b"\0" if version >= 4 else b""
    body += struct.pack(">i", 1) + text(topic) + struct.pack(">i", len(wanted))
    for partition, offset, size in wanted:
        body += struct.pack(">I", partition)
        body += struct.pack(">i", -1) if version >= 9 else b""
        body += struct.pack(">q", offset)
        body += struct.pack(">q", 0) if version >= 5 else b""
        body += struct.pack(">i", size)
    return frame(1, version, body + (struct.pack(">i", 0) if version >= 7 else b""))


def fetched(body: bytes, *, version: int = VERSION) -> list[Part]:
    """The parts of the only topic."""
    assert struct.unpack_from(">ihii", body) == (0, 0, 0, 1)
    at = 16 + struct.unpack_from(">H", body, 14)[0]
    (count,) = struct.unpack_from(">i", body, at)
    at += 4
    parts = []
    for _ in range(count):
        part, at = fetched_part(body, at, version=version)
        parts.append(part)
    assert at == len(body)
    return parts


def acknowledge(*said: tuple[int, int], correlation_id: int = 2) -> bytes:
    """(stream, offset) of each."""
    body = struct.pack(">i", len(said)) + b"".join(struct.pack(">qI", offset, of) for of, offset in said)
    return frame(1005, 0, body, correlation_id=correlation_id)


def acknowledged(answer: bytes) -> list[tuple[int, int]]:
    """(stream, code) of each."""
    (count,) = struct.unpack_from(">i", answer)
    assert len(answer) == 4 + 6 * count
    return [struct.unpack_from(">Ih", answer, 4 + 6 * index) for index in range(count)]


def keep(stream_id: int, offset: int, *, correlation_id: int = 3) -> bytes:
    """The offset of a stream's consumer."""
    return frame(1006, VERSION, struct.pack(">qI", offset, stream_id), correlation_id=correlation_id)


def kept(answer: bytes) -> tuple[int, int, bytes]:
    """(offset, code, what the error carries)"""
    offset, code = struct.unpack_from(">qh", answer)
    extra, at = carried(answer, 10, code)
    assert at == len(answer)
    return offset, code, extra


def forget(topic: str, partition: int, consumer: str) -> bytes:
    return frame(1007, VERSION, text(topic) + struct.pack(">I", partition) + text(consumer))


def consumer_offsets(
    *, topic: str | None = None, partition: int = 0, consumer: str | None = None, version: int = VERSION
) -> bytes:
    if version < 24:
        return frame(1008, version, b"")
    if topic is None and consumer is None:
        return frame(1008, version, b"\0")
    replica = b"\0" if topic is None else b"\1" + text(topic) + struct.pack(">I", partition)
    return frame(1008, version, b"\1" + replica + option(consumer))


class Kept(NamedTuple):
    """An offset that a consumer left."""

    consumer: str
    topic: str
    partition: int
    offset: int
    modified_s: int


def kept_offsets(answer: bytes) -> Sequence[Kept]:
    code, count = struct.unpack_from(">hi", answer)
    assert code == 0
    at = 6
    found = []
    for _ in range(count):
        texts = []
        for _ in range(2):
            size = struct.unpack_from(">H", answer, at)[0]
            texts.append(answer[at + 2 : at + 2 + size].decode())
            at += 2 + size
        found.append(Kept(texts[0], texts[1], *struct.unpack_from(">IqQ", answer, at)))
        at += 20
    assert at == len(answer)
    return found


def values(records: bytes) -> list[tuple[int, bytes | None, bytes]]:
    """(offset, key, value) of batches that are not compressed and whole."""
    found = []
    at = 0
    while at < len(records):
        base, size = struct.unpack_from(">qi", records, at)
        (count,) = struct.unpack_from(">i", records, at + 57)
        said = read_records(records[at + 61 : at + 12 + size], count)
        found += [(base + place, each.key, each.value) for place, each in enumerate(said)]
        at += 12 + size
    assert at == len(records)
    return found

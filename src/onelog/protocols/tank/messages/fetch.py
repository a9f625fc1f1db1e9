"""Fetching: from which sequences on, and chunks of whole bundles.

A request is declared. A response depends on its own codes:

response   header_length u32 | header | chunks, in the order of their entries
header     request_id u32 | topics u8 | { name str8 | entries u8 | unknown | entry* }*
unknown    0xffff u16                     the topic does not exist; no entry follows
entry      partition u16 | code u8 | by code:
           00   base u64 | last u64 | chunk_length u32
           fe   last u64 | chunk_length u32                     the first bundle says its base itself
           01   base u64 | last u64 | chunk_length u32 | first_available u64
           fc   address u32, as in memory | port u16            somebody else leads
           ff fb fd   nothing
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Final

from onelog.binary.cursor import Reader, Writer
from onelog.binary.errors import BinaryError
from onelog.binary.fields import Order, array8, bytes8, u8, u16, u32, u64
from onelog.binary.message import LITTLE, codec, message

Buffer = bytes | bytearray | memoryview

SEQUENCE_FIRST: Final = 0
"""In a request: from the first message that there is."""
SEQUENCE_END: Final = (1 << 64) - 1
"""In a request: behind the last one that is there when it arrives."""
FLAGS_SINCE: Final = 3
_UNKNOWN_TOPIC: Final = 0xFFFF
_VERSION = struct.Struct("<H")


class Outcome(IntEnum):
    """What became of one entry of a fetch."""

    FETCHED = 0x00
    OUT_OF_RANGE = 0x01
    SYSTEM_ERROR = 0xFB
    OTHER_LEADER = 0xFC
    NO_LEADER = 0xFD
    FETCHED_SPARSE = 0xFE
    UNKNOWN_PARTITION = 0xFF


@message(byte_order=LITTLE)
class FetchPartition:
    """From which message on, and how many bytes of bundles about."""

    partition: int = u16()
    sequence: int = u64()
    bytes_max: int = u32()


@message(byte_order=LITTLE)
class FetchTopic:
    """Partitions of one topic."""

    name: bytes = bytes8()
    partitions: list[FetchPartition] = array8(FetchPartition)


@message(byte_order=LITTLE)
class FetchRequest:
    """Read bundles; wait for some if there is none. flags: 1, a replica near the client would do."""

    version: int = u16()
    request_id: int = u32()
    client_id: bytes = bytes8()
    wait_ms: int = u64()
    bytes_min: int = u32()
    flags: int = u8(since=FLAGS_SINCE)
    topics: list[FetchTopic] = array8(FetchTopic)


@dataclass(slots=True)
class FetchedPartition:
    """One entry of the answer. last is the newest sequence of the partition."""

    partition: int
    outcome: Outcome = Outcome.FETCHED
    base: int = 0
    last: int = 0
    first_available: int = 0
    chunk: Buffer = b""
    leader: tuple[str, int] | None = None


@dataclass(slots=True)
class FetchedTopic:
    """Entries of one topic, or none where it is unknown; as many as were asked for."""

    name: bytes
    partition_count: int
    partitions: list[FetchedPartition] | None = None


@dataclass(slots=True)
class FetchResponse:
    """Topics and entries in the order of the request."""

    request_id: int
    topics: list[FetchedTopic] = field(default_factory=list)


def decode_fetch(view: memoryview) -> FetchRequest:
    """A request of any version. Some clients say one that they do not mean: what parses exactly is right."""
    if len(view) < _VERSION.size:
        raise BinaryError("version", 0, f"{len(view)} bytes", f"{_VERSION.size} bytes")
    if _VERSION.unpack_from(view)[0] < FLAGS_SINCE:
        return _PLAIN.decode(view)[0]
    try:
        request, end = _FLAGGED.decode(view)
    except BinaryError:
        return _PLAIN.decode(view)[0]
    if end == len(view):
        return request
    try:
        plain, plain_end = _PLAIN.decode(view)
    except BinaryError:
        return request
    return plain if plain_end == len(view) else request


def encode_fetch(request: FetchRequest) -> list[Buffer]:
    """The request, with its flags where its version has them."""
    return (_FLAGGED if request.version >= FLAGS_SINCE else _PLAIN).encode(request)


def encode_fetched(response: FetchResponse) -> list[Buffer]:
    """Header and chunks; chunks are not copied."""
    writer = Writer(order=Order.LITTLE)
    writer.u32(response.request_id)
    writer.u8(len(response.topics))
    chunks: list[Buffer] = []
    for topic in response.topics:
        writer.u8(len(topic.name))
        writer.put(topic.name)
        writer.u8(topic.partition_count)
        if topic.partitions is None:
            writer.u16(_UNKNOWN_TOPIC)
            continue
        for entry in topic.partitions:
            _write_entry(writer, entry)
            if entry.chunk:
                chunks.append(entry.chunk)
    length = writer.size.to_bytes(4, "little")
    return [length, *writer.buffers(), *chunks]


def _write_entry(writer: Writer, entry: FetchedPartition) -> None:
    writer.u16(entry.partition)
    writer.u8(entry.outcome)
    if entry.outcome in _WITH_CHUNK:
        if entry.outcome is not Outcome.FETCHED_SPARSE:
            writer.u64(entry.base)
        writer.u64(entry.last)
        writer.u32(len(entry.chunk))
    if entry.outcome is Outcome.OUT_OF_RANGE:
        writer.u64(entry.first_available)
    if entry.outcome is Outcome.OTHER_LEADER:
        assert entry.leader is not None
        writer.put(IPv4Address(entry.leader[0]).packed)
        writer.u16(entry.leader[1])


def decode_fetched(view: memoryview) -> FetchResponse:
    """The answer; chunks are views."""
    whole = Reader(view, order=Order.LITTLE)
    reader = whole.part(whole.u32("header length"), "header")
    response = FetchResponse(reader.u32("request id"))
    pending: list[Callable[[], None]] = []
    for _ in range(reader.u8("topics")):
        name = bytes(reader.take(reader.u8("name length"), "name"))
        topic = FetchedTopic(name, reader.u8("entries"))
        response.topics.append(topic)
        for index in range(topic.partition_count):
            partition = reader.u16("partition")
            if index == 0 and partition == _UNKNOWN_TOPIC:
                break
            topic.partitions = topic.partitions or []
            topic.partitions.append(_read_entry(reader, partition, whole, pending))
        else:
            topic.partitions = topic.partitions or []
    for take in pending:
        take()
    return response


def _read_entry(
    reader: Reader, partition: int, whole: Reader, pending: list[Callable[[], None]]
) -> FetchedPartition:
    code = reader.u8("code")
    if code not in _OUTCOMES:
        raise BinaryError("code", reader.pos - 1, f"{code:02x}", "one that says what follows")
    entry = FetchedPartition(partition, Outcome(code))
    if entry.outcome in _WITH_CHUNK:
        if entry.outcome is not Outcome.FETCHED_SPARSE:
            entry.base = reader.u64("base")
        entry.last = reader.u64("last")
        length = reader.u32("chunk length")
        pending.append(lambda: setattr(entry, "chunk", whole.take(length, "chunk")))
    if entry.outcome is Outcome.OUT_OF_RANGE:
        entry.first_available = reader.u64("first available")
    if entry.outcome is Outcome.OTHER_LEADER:
        host = str(IPv4Address(bytes(reader.take(4, "address"))))
        entry.leader = (host, reader.u16("port"))
    return entry


_OUTCOMES = frozenset(Outcome)
_WITH_CHUNK = frozenset((Outcome.FETCHED, Outcome.FETCHED_SPARSE, Outcome.OUT_OF_RANGE))
_PLAIN = codec(FetchRequest, FLAGS_SINCE - 1)
_FLAGGED = codec(FetchRequest, FLAGS_SINCE)

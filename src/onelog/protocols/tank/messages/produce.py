"""Producing: bundles for partitions of topics, and a code for each.

request    version u16 | request_id u32 | client_id str8 | acks u8 | timeout_ms u32 | topics u8
           { name str8 | entries u8 | { partition u16 | length v | base u64 * | bundle }* }*
response   request_id u32 | codes u8*

* in ProduceNumbered only, and not counted in the length. v is an unsigned varint of 32 bits.

A code stands for an entry, in the order of the request; a few codes stand once for all entries
of their topic, so that only who knows the request can tell the codes apart. The base stands
between a length and what it measures, hence this is written by hand.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from onelog.binary.cursor import Reader
from onelog.binary.errors import BinaryError
from onelog.binary.fields import Order
from onelog.binary.varint import write_uvarint

Buffer = bytes | bytearray | memoryview

_HEAD = struct.Struct("<HI")
_TERMS = struct.Struct("<BIB")
_ENTRY_BYTES_MIN = 3
_TOPIC_BYTES_MIN = 2
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


@dataclass(slots=True)
class ProduceEntry:
    """One bundle for one partition. base_sequence 0: it comes next."""

    partition: int
    bundle: Buffer
    base_sequence: int = 0


@dataclass(slots=True)
class ProduceTopic:
    """Entries of one topic; the same partition may stand there many times."""

    name: bytes
    entries: list[ProduceEntry] = field(default_factory=list)


@dataclass(slots=True)
class ProduceRequest:
    """Append bundles. acks and timeout_ms matter to clusters only."""

    request_id: int
    topics: list[ProduceTopic] = field(default_factory=list)
    version: int = 2
    client_id: bytes = b""
    acks: int = 0
    timeout_ms: int = 0


@dataclass(slots=True)
class ProduceNumberedRequest(ProduceRequest):
    """Append bundles under numbers that the client gives."""


@dataclass(slots=True)
class ProduceResponse:
    """A code for each entry, or for each topic where one stands for all of it."""

    request_id: int
    codes: bytes = b""


def decode_produce(view: memoryview) -> ProduceRequest:
    """Of Produce. What stands behind the last topic is ignored."""
    request = ProduceRequest(0)
    _decode_into(request, view, numbered=False)
    return request


def decode_produce_numbered(view: memoryview) -> ProduceNumberedRequest:
    """Of ProduceNumbered."""
    request = ProduceNumberedRequest(0)
    _decode_into(request, view, numbered=True)
    return request


def _decode_into(request: ProduceRequest, view: memoryview, *, numbered: bool) -> None:
    reader = Reader(view, order=Order.LITTLE)
    request.version = reader.u16("version")
    request.request_id = reader.u32("request id")
    request.client_id = bytes(reader.take(reader.u8("client id length"), "client id"))
    request.acks = reader.u8("acks")
    request.timeout_ms = reader.u32("timeout")
    for _ in range(reader.count(reader.u8("topics"), "topics", least_bytes=_TOPIC_BYTES_MIN)):
        topic = ProduceTopic(bytes(reader.take(reader.u8("name length"), "name")))
        request.topics.append(topic)
        for _ in range(reader.count(reader.u8("entries"), "entries", least_bytes=_ENTRY_BYTES_MIN)):
            partition = reader.u16("partition")
            length = reader.uvarint("bundle length")
            base = reader.u64("base sequence") if numbered else 0
            topic.entries.append(ProduceEntry(partition, reader.take(length, "bundle"), base))


def encode_produce(request: ProduceRequest) -> list[Buffer]:
    """Of both kinds; bundles are not copied."""
    numbered = isinstance(request, ProduceNumberedRequest)
    buffers: list[Buffer] = []
    out = bytearray(_HEAD.pack(request.version, request.request_id))
    _put_text(out, request.client_id)
    out += _TERMS.pack(request.acks, request.timeout_ms, _count(request.topics))
    for topic in request.topics:
        _put_text(out, topic.name)
        out.append(_count(topic.entries))
        for entry in topic.entries:
            out += _U16.pack(entry.partition)
            write_uvarint(out, len(entry.bundle))
            if numbered:
                out += _U64.pack(entry.base_sequence)
            buffers += (out, entry.bundle)
            out = bytearray()
    return [*buffers, out] if out else buffers


def decode_produced(view: memoryview) -> ProduceResponse:
    """Of the answer."""
    reader = Reader(view, order=Order.LITTLE)
    return ProduceResponse(reader.u32("request id"), bytes(reader.take(reader.left, "codes")))


def encode_produced(response: ProduceResponse) -> list[Buffer]:
    """The answer."""
    return [_U32.pack(response.request_id) + response.codes]


def _put_text(out: bytearray, text: bytes) -> None:
    if len(text) > 0xFF:
        raise BinaryError("text", len(out), f"{len(text)} bytes", "at most 255")
    out.append(len(text))
    out += text


def _count(items: Sequence[object]) -> int:
    if len(items) > 0xFF:
        raise BinaryError("count", 0, str(len(items)), "at most 255")
    return len(items)

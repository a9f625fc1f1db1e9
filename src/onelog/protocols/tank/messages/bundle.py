"""A bundle: so many messages under one head, and the chunks that answers carry them in.

    bundle    flags u8 | [count v] | [first u64] | [last - first - 1 v] | messages, or one raw snappy block
              bits 0-1: 0 plain, 1 snappy      bits 2-5: count, 0 = it follows
              bit 6: sparse, the numbers follow; last only where count > 1
    message   mflags u8 | [gap v] | [timestamp u64] | [key str8] | length v | content
              bit 0: has a key   bit 1: the timestamp of the one before   bit 2: the next number
              gap: number - the one before - 1, in sparse bundles; not of the first and the last
    chunk     { length v | bundle }*

Little endian; v is an unsigned varint of 32 bits. Numbers are offsets + 1. A bundle that is
not sparse takes the numbers that come next. One counts for what it says only if its bytes say
the same: one that lies is refused whole.

Here messages become records that are objects, and back: what clients want. The broker's way,
from a bundle's bytes to a batch's and back, is kernels.py, which says the same of every bundle.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from onelog.binary.compression import Codec, decompress, snappy_block
from onelog.binary.errors import BinaryError
from onelog.binary.varint import read_uvarint, write_uvarint
from onelog.errors import InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.protocols.tank.kernels import MESSAGE_BYTES_MIN
from onelog.records.record import Record

Buffer = bytes | bytearray | memoryview

SNAPPY: Final = 1
CODEC_MASK: Final = 0x03
COUNT_SHIFT: Final = 2
COUNT_MAX_IN_FLAGS: Final = 15
SPARSE: Final = 0x40
RESERVED: Final = 0x80

HAS_KEY: Final = 0x01
SAME_TIMESTAMP: Final = 0x02
NEXT_NUMBER: Final = 0x04
KNOWN: Final = HAS_KEY | SAME_TIMESTAMP | NEXT_NUMBER

# What one request can cost: a message takes two bytes on the wire, and many here while it is read.
MESSAGES_MAX: Final = 1 << 19
UNPACKED_BYTES_MAX: Final = 64 << 20
KEY_BYTES_MAX: Final = 255


@dataclass(slots=True)
class Head:
    """What a bundle says of itself before its messages. first and last: of sparse ones."""

    count: int
    is_snappy: bool
    is_sparse: bool
    body_at: int
    first: int = 0
    last: int = 0


@dataclass(slots=True)
class Bundle:
    """A bundle taken apart. sequences: of each record, where the bundle says them itself."""

    head: Head
    records: list[Record]
    sequences: list[int] | None = None


def decode_bundle(bundle: Buffer, *, where: str, messages_max: int = MESSAGES_MAX) -> Bundle:
    """A whole bundle; BinaryError or InvalidRecord where it is not what it says."""
    head, body = open_bundle(bundle, where=where, messages_max=messages_max)
    # One copy: slices of bytes are bytes, slices of a view would be copied one by one.
    body = bytes(body)
    return _read_sparse(body, head, where) if head.is_sparse else _read_messages(body, head)


def open_bundle(bundle: Buffer, *, where: str, messages_max: int = MESSAGES_MAX) -> tuple[Head, Buffer]:
    """The head of a bundle, and the bytes of its messages, not looked at yet."""
    view = memoryview(bundle)
    head = _read_head(view, where, messages_max)
    body: Buffer = view[head.body_at :]
    if head.is_snappy:
        body = decompress(Codec.SNAPPY, body, bytes_max=UNPACKED_BYTES_MAX)
    fits = head.count * MESSAGE_BYTES_MIN <= len(body)
    require(fits, where, f"{head.count} messages", f"those that {len(body)} bytes can hold")
    return head, body


def encode_bundle(
    numbered: Sequence[tuple[int, Record]],
    *,
    is_sparse: bool = False,
    is_snappy: bool = False,
    losses: Counter[str] | None = None,
) -> bytes:
    """Records with their offsets as one bundle, in TANK's own spelling."""
    out = bundle_head(
        len(numbered),
        first=numbered[0][0] + 1,
        last=numbered[-1][0] + 1,
        is_sparse=is_sparse,
        is_snappy=is_snappy,
    )
    losses = Counter() if losses is None else losses
    if not is_snappy:
        _write_messages(out, numbered, losses, is_sparse=is_sparse)
        return bytes(out)
    body = bytearray()
    _write_messages(body, numbered, losses, is_sparse=is_sparse)
    return bytes(out) + snappy_block(body)


def bundle_head(count: int, *, first: int, last: int, is_sparse: bool, is_snappy: bool) -> bytearray:
    """What stands before the messages. first and last: the numbers of a sparse bundle's."""
    flags = (SNAPPY if is_snappy else 0) | (SPARSE if is_sparse else 0)
    out = bytearray()
    if count <= COUNT_MAX_IN_FLAGS:
        out.append(flags | count << COUNT_SHIFT)
    else:
        out.append(flags)
        write_uvarint(out, count)
    if is_sparse:
        out += first.to_bytes(8, "little")
        if count > 1:
            write_uvarint(out, last - first - 1)
    return out


def bundles(chunk: Buffer) -> Iterable[memoryview]:
    """The bundles of a chunk; one that was cut off at its end is left out, as the document allows."""
    view = memoryview(chunk)
    at = 0
    while at < len(view):
        try:
            length, start = read_uvarint(view, at)
        except BinaryError:
            return
        if length > len(view) - start:
            return
        yield view[start : start + length]
        at = start + length


def unpacked(chunk: Buffer, *, base: int, where: str) -> list[tuple[int, Record]]:
    """The records of a chunk with their sequences. base: of the first, unless its bundle says it."""
    found: list[tuple[int, Record]] = []
    following = base
    for bundle in bundles(chunk):
        parts = decode_bundle(bundle, where=where)
        sequences = parts.sequences or range(following, following + len(parts.records))
        found.extend(zip(sequences, parts.records, strict=True))
        following = sequences[-1] + 1
    return found


def _read_head(view: memoryview, where: str, messages_max: int) -> Head:
    require(len(view) > 0, where, "an empty bundle", "at least one message")
    flags = view[0]
    codec = flags & CODEC_MASK
    require(
        codec <= SNAPPY and not flags & RESERVED, where, f"flags {flags:02x}", "codec 0 or 1, bit 7 clear"
    )
    count, at = flags >> COUNT_SHIFT & COUNT_MAX_IN_FLAGS, 1
    if not count:
        count, at = read_uvarint(view, at)
    require(0 < count <= messages_max, where, f"{count} messages", f"1 to {messages_max}")
    head = Head(count, codec == SNAPPY, bool(flags & SPARSE), at)
    if head.is_sparse:
        if len(view) - at < 8:
            raise BinaryError("first number", at, f"{len(view) - at} bytes", "8 bytes")
        head.first = head.last = int.from_bytes(view[at : at + 8], "little")
        head.body_at = at + 8
        if count > 1:
            between, head.body_at = read_uvarint(view, at + 8)
            head.last += between + 1
        fits = 0 < head.first <= OFFSET_MAX and head.last - head.first >= count - 1
        require(fits, where, f"{count} numbers from {head.first} to {head.last}", "numbers that rise")
    return head


def _read_messages(body: bytes, head: Head) -> Bundle:
    records: list[Record] = []
    at, timestamp_ms = 0, 0
    for _ in range(head.count):
        flags, at = _message_flags(body, at)
        at, record = _read_message(body, at, flags, timestamp_ms)
        timestamp_ms = record.timestamp_ms
        records.append(record)
    _end(body, at)
    return Bundle(head, records)


def _read_sparse(body: bytes, head: Head, where: str) -> Bundle:
    records: list[Record] = []
    sequences: list[int] = []
    at, timestamp_ms, sequence = 0, 0, head.first - 1
    for index in range(head.count):
        flags, at = _message_flags(body, at)
        if flags & NEXT_NUMBER or index == 0:
            sequence += 1
        elif index == head.count - 1:
            sequence = max(head.last, sequence + 1)
        else:
            gap, at = read_uvarint(body, at)
            sequence += gap + 1
        at, record = _read_message(body, at, flags, timestamp_ms)
        timestamp_ms = record.timestamp_ms
        records.append(record)
        sequences.append(sequence)
    _end(body, at)
    require(sequence == head.last, where, f"numbers up to {sequence}", str(head.last))
    return Bundle(head, records, sequences)


def _message_flags(body: bytes, at: int) -> tuple[int, int]:
    if at >= len(body):
        raise BinaryError("message flags", at, "no byte", "one of each message")
    flags = body[at]
    if flags & ~KNOWN:
        raise BinaryError("message flags", at, f"{flags:02x}", "bits 0 to 2 at most")
    return flags, at + 1


def _read_message(body: bytes, at: int, flags: int, timestamp_ms: int) -> tuple[int, Record]:
    """What follows a message's number, and the position behind it."""
    end = len(body)
    if not flags & SAME_TIMESTAMP:
        if end - at < 8:
            raise BinaryError("timestamp", at, f"{end - at} bytes", "8 bytes")
        timestamp_ms = int.from_bytes(body[at : at + 8], "little", signed=True)
        at += 8
    key = None
    if flags & HAS_KEY:
        if at >= end or body[at] >= end - at:
            raise BinaryError("key", at, f"{end - at} bytes", "its length, and as many")
        key = body[at + 1 : at + 1 + body[at]]
        at += 1 + len(key)
    if at < end and body[at] < 0x80:
        length, at = body[at], at + 1
    else:
        length, at = read_uvarint(body, at)
    if length > end - at:
        raise BinaryError("content", at, f"{end - at} bytes", f"{length} bytes")
    return at + length, Record(key, body[at : at + length], timestamp_ms)


def _end(body: bytes, at: int) -> None:
    if at != len(body):
        raise BinaryError("bundle", at, f"{len(body) - at} bytes behind its last message", "none")


def _write_messages(
    out: bytearray, numbered: Sequence[tuple[int, Record]], losses: Counter[str], *, is_sparse: bool
) -> None:
    timestamp: int | None = None
    before, last_index = numbered[0][0], len(numbered) - 1
    for index, (offset, record) in enumerate(numbered):
        key = record.key
        if key is not None and len(key) > KEY_BYTES_MAX:
            losses["long_key"] += 1
            key = None
        flags = 0 if key is None else HAS_KEY
        if record.timestamp_ms == timestamp:
            flags |= SAME_TIMESTAMP
        says_gap = is_sparse and 0 < index < last_index
        if says_gap and offset == before + 1:
            flags |= NEXT_NUMBER
        out.append(flags)
        if says_gap and not flags & NEXT_NUMBER:
            write_uvarint(out, offset - before - 1)
        if not flags & SAME_TIMESTAMP:
            timestamp = record.timestamp_ms
            out += timestamp.to_bytes(8, "little", signed=True)
        if key is not None:
            out.append(len(key))
            out += key
        value = record.value
        if value is None:
            losses["null_value"] += 1
            value = b""
        losses["headers"] += bool(record.headers)
        write_uvarint(out, len(value))
        out += value
        before = offset


def require(holds: bool, where: str, found: str, expected: str) -> None:
    if not holds:
        raise InvalidRecord(where, f"{found}; expected {expected}")

"""TANK's bundles, to and from the log's batches: one bundle is one batch.

    bundle    flags u8 | [count v] | [first u64] | [last - first - 1 v] | messages, or one raw snappy block
              bits 0-1: 0 plain, 1 snappy      bits 2-5: count, 0 = it follows
              bit 6: sparse, the numbers follow; last only where count > 1
    message   mflags u8 | [gap v] | [timestamp u64] | [key str8] | length v | content
              bit 0: has a key   bit 1: the timestamp of the one before   bit 2: the next number
              gap: number - the one before - 1, in sparse bundles; not of the first and the last
    chunk     { length v | bundle }*

Little endian; v is an unsigned varint of 32 bits. Numbers are offsets + 1. A bundle that is
not sparse takes the numbers that come next. What a batch skips before its first record is a hole
in the log, kept inside the batch, so that batches follow each other without gaps.

A bundle counts for what it says only if its bytes say the same: one that lies is refused whole.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onelog.binary.compression import Codec, decompress, snappy_block
from onelog.binary.errors import BinaryError
from onelog.binary.varint import read_uvarint, write_uvarint
from onelog.errors import InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.records.batch import Batch
from onelog.records.codec import encode_records
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

# A bit of a batch's attributes that Kafka gives no meaning to, and keeps: this batch came as a
# sparse bundle, and leaves as one, also where its numbers would go without saying.
SPARSE_BIT: Final = 0x0100

# What one request can cost: a message takes two bytes on the wire, and many here while it is read.
MESSAGES_MAX: Final = 1 << 19
UNPACKED_BYTES_MAX: Final = 64 << 20
KEY_BYTES_MAX: Final = 255
_DELTA_MAX: Final = (1 << 31) - 1
_MESSAGE_BYTES_MIN: Final = 2


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


@dataclass(slots=True)
class Chunk:
    """Whole bundles for one answer, and what was lost on the way to them."""

    data: bytearray = field(default_factory=bytearray)
    base: int = 0
    last: int = 0
    is_sparse: bool = False
    losses: Counter[str] = field(default_factory=Counter)
    _has_gaps: bool = False

    def add(self, batch: Batch, *, offset_start: int) -> bool:
        """The batch's records from offset_start on, as one bundle; False where a new chunk has to begin.

        Readers count numbers on from bundle to bundle. Where that would be wrong the chunk ends:
        the next one says its base.
        """
        numbered = list(batch.numbered(offset_start=max(offset_start, batch.base_offset)))
        if not numbered:
            return True
        first, last = numbered[0][0] + 1, numbered[-1][0] + 1
        has_gaps = last - first + 1 != len(numbered)
        is_sparse = has_gaps or bool(batch.attributes & SPARSE_BIT)
        # One client loses count behind a bundle with gaps.
        if self.data and not is_sparse and (first != self.last + 1 or self._has_gaps):
            return False
        if not self.data:
            self.base, self.is_sparse = first, is_sparse
        bundle = encode_bundle(
            numbered, is_sparse=is_sparse, is_snappy=batch.codec is not Codec.NONE, losses=self.losses
        )
        write_uvarint(self.data, len(bundle))
        self.data += bundle
        self.last, self._has_gaps = last, has_gaps
        return True


def batch_of(
    bundle: Buffer, *, base_sequence: int, offset_next: int, where: str, messages_max: int = MESSAGES_MAX
) -> Batch:
    """The batch of a bundle, to stand at offset_next. base_sequence: of its first message; 0 for the next.

    InvalidRecord where the bundle lies, or its numbers cannot follow.
    """
    try:
        parts = decode_bundle(bundle, where=where, messages_max=messages_max)
    except BinaryError as error:
        raise InvalidRecord(where, str(error)) from error
    records = parts.records
    deltas = _deltas(parts, base_sequence, offset_next, where)
    last_delta = len(records) - 1 if deltas is None else deltas[-1]
    fits = last_delta <= _DELTA_MAX and offset_next + last_delta < OFFSET_MAX
    _require(fits, where, f"{last_delta + 1} numbers at once", f"at most {_DELTA_MAX + 1}, below 2^63")
    is_snappy, is_sparse = parts.head.is_snappy, parts.head.is_sparse
    return Batch.seal(
        encode_records(records, base_timestamp_ms=records[0].timestamp_ms, offset_deltas=deltas),
        record_count=len(records),
        attributes=(Codec.SNAPPY.value if is_snappy else 0) | (SPARSE_BIT if is_sparse else 0),
        last_offset_delta=last_delta,
        base_timestamp_ms=records[0].timestamp_ms,
        max_timestamp_ms=max(record.timestamp_ms for record in records),
    )


def _deltas(parts: Bundle, base_sequence: int, offset_next: int, where: str) -> list[int] | None:
    """Where the records stand, counted from offset_next; None where they simply come next."""
    first = parts.head.first if parts.head.is_sparse else base_sequence
    if not first:
        return None
    _require(first > offset_next, where, f"number {first}", f"at least {offset_next + 1}")
    if parts.sequences is not None:
        return [sequence - 1 - offset_next for sequence in parts.sequences]
    skipped = first - 1 - offset_next
    return list(range(skipped, skipped + len(parts.records))) if skipped else None


def decode_bundle(bundle: Buffer, *, where: str, messages_max: int = MESSAGES_MAX) -> Bundle:
    """A whole bundle; BinaryError or InvalidRecord where it is not what it says."""
    view = memoryview(bundle)
    head = _read_head(view, where, messages_max)
    body: Buffer = view[head.body_at :]
    if head.is_snappy:
        body = decompress(Codec.SNAPPY, body, bytes_max=UNPACKED_BYTES_MAX)
    fits = head.count * _MESSAGE_BYTES_MIN <= len(body)
    _require(fits, where, f"{head.count} messages", f"those that {len(body)} bytes can hold")
    return _read_sparse(body, head, where) if head.is_sparse else _read_messages(body, head)


def encode_bundle(
    numbered: Sequence[tuple[int, Record]],
    *,
    is_sparse: bool = False,
    is_snappy: bool = False,
    losses: Counter[str] | None = None,
) -> bytes:
    """Records with their offsets as one bundle, in TANK's own spelling."""
    count = len(numbered)
    flags = (SNAPPY if is_snappy else 0) | (SPARSE if is_sparse else 0)
    out = bytearray()
    if count <= COUNT_MAX_IN_FLAGS:
        out.append(flags | count << COUNT_SHIFT)
    else:
        out.append(flags)
        write_uvarint(out, count)
    if is_sparse:
        first, last = numbered[0][0] + 1, numbered[-1][0] + 1
        out += first.to_bytes(8, "little")
        if count > 1:
            write_uvarint(out, last - first - 1)
    losses = Counter() if losses is None else losses
    if not is_snappy:
        _write_messages(out, numbered, losses, is_sparse=is_sparse)
        return bytes(out)
    body = bytearray()
    _write_messages(body, numbered, losses, is_sparse=is_sparse)
    return bytes(out) + snappy_block(body)


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
    _require(len(view) > 0, where, "an empty bundle", "at least one message")
    flags = view[0]
    codec = flags & CODEC_MASK
    _require(
        codec <= SNAPPY and not flags & RESERVED, where, f"flags {flags:02x}", "codec 0 or 1, bit 7 clear"
    )
    count, at = flags >> COUNT_SHIFT & COUNT_MAX_IN_FLAGS, 1
    if not count:
        count, at = read_uvarint(view, at)
    _require(0 < count <= messages_max, where, f"{count} messages", f"1 to {messages_max}")
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
        _require(fits, where, f"{count} numbers from {head.first} to {head.last}", "numbers that rise")
    return head


def _read_messages(body: Buffer, head: Head) -> Bundle:
    records: list[Record] = []
    at, timestamp_ms = 0, 0
    for _ in range(head.count):
        flags, at = _message_flags(body, at)
        at, record = _read_message(body, at, flags, timestamp_ms)
        timestamp_ms = record.timestamp_ms
        records.append(record)
    _end(body, at)
    return Bundle(head, records)


def _read_sparse(body: Buffer, head: Head, where: str) -> Bundle:
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
    _require(sequence == head.last, where, f"numbers up to {sequence}", str(head.last))
    return Bundle(head, records, sequences)


def _message_flags(body: Buffer, at: int) -> tuple[int, int]:
    if at >= len(body):
        raise BinaryError("message flags", at, "no byte", "one of each message")
    flags = body[at]
    if flags & ~KNOWN:
        raise BinaryError("message flags", at, f"{flags:02x}", "bits 0 to 2 at most")
    return flags, at + 1


def _read_message(body: Buffer, at: int, flags: int, timestamp_ms: int) -> tuple[int, Record]:
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
        key = bytes(body[at + 1 : at + 1 + body[at]])
        at += 1 + len(key)
    length, at = read_uvarint(body, at)
    if length > end - at:
        raise BinaryError("content", at, f"{end - at} bytes", f"{length} bytes")
    return at + length, Record(key, bytes(body[at : at + length]), timestamp_ms)


def _end(body: Buffer, at: int) -> None:
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


def _require(holds: bool, where: str, found: str, expected: str) -> None:
    if not holds:
        raise InvalidRecord(where, f"{found}; expected {expected}")

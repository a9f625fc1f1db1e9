"""Records as FlyMQ has them, a key and a value each, to and from the log's batches.

An answer to FETCH has its next offset in front or behind, and each record's offset likewise:

    programs   u32 count | u64 next | { u64 offset | u32 key bytes | key | u32 value bytes | value }*
    document   u32 count | { u32 key bytes | key | u32 value bytes | value | u64 offset }* | u64 next

An empty key is no key, there is no null value, and headers and timestamps have no place. What
another dialect wrote loses them on the way out, and what was lost is counted.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from onelog.binary.cursor import Reader
from onelog.protocols.flymq.framing import PAYLOAD_BYTES_MAX
from onelog.protocols.flymq.messages.versions import DOCUMENT
from onelog.records.batch import Batch
from onelog.records.record import Record

Buffer = bytes | bytearray | memoryview

RECORD_BYTES: Final = 16  # of an offset and two lengths
FETCH_BYTES: Final = 12  # of an answer without records
# The largest record that a FETCH can give back: larger ones are not taken.
RECORD_BYTES_MAX: Final = PAYLOAD_BYTES_MAX - FETCH_BYTES - RECORD_BYTES

_U32: Final = Struct(">I")
_U64: Final = Struct(">Q")
_COUNT_AND_NEXT: Final = Struct(">IQ")
_OFFSET_AND_SIZE: Final = Struct(">QI")

Wanted = Callable[[bytes, bytes], bool]


class Fetched(NamedTuple):
    """One record of an answer."""

    offset: int
    key: bytes
    value: bytes


@dataclass
class FetchAnswer:
    """Records in their order, and where to go on."""

    records: list[Fetched]
    next_offset: int


@dataclass
class Taken:
    """What is gathered for one answer, what was looked at for it, and where to go on."""

    next_offset: int
    records: list[Fetched] = field(default_factory=list)
    size: int = 0
    looked_at: int = 0
    looked_at_bytes: int = 0
    losses: Counter[str] = field(default_factory=Counter)
    is_full: bool = False
    oversized: tuple[int, int] | None = None
    """Offset and size of a first record that no frame holds."""


def batch_of(key: bytes | None, value: bytes, *, timestamp_ms: int) -> Batch:
    """One record, one batch."""
    return Batch.build([Record(key=key, value=value, timestamp_ms=timestamp_ms)])


class Bounds(NamedTuple):
    """Where one answer ends: bytes bound all but a first record, which only the frame does."""

    count_max: int
    bytes_max: int
    looks_max: int
    looks_bytes_max: int


def take(taken: Taken, batches: Iterable[Batch], *, bounds: Bounds, wanted: Wanted | None = None) -> None:
    """Gather records from taken.next_offset on. is_full: there is nothing more to look for."""
    for batch in batches:
        if batch.offset_end <= taken.next_offset:
            continue
        for offset, record in batch.numbered(offset_start=taken.next_offset):
            if not _look(taken, offset, record, bounds, wanted):
                taken.is_full = True
                return


def _look(taken: Taken, offset: int, record: Record, bounds: Bounds, wanted: Wanted | None) -> bool:
    """Take the record if it is wanted; whether there was room for it."""
    found = Fetched(offset, record.key or b"", record.value or b"")
    size = RECORD_BYTES + len(found.key) + len(found.value)
    if taken.looked_at == bounds.looks_max or len(taken.records) == bounds.count_max:
        return False
    if taken.looked_at and taken.looked_at_bytes + size > bounds.looks_bytes_max:
        return False
    if wanted is None or wanted(found.key, found.value):
        if taken.records and taken.size + size > bounds.bytes_max:
            return False
        if size > RECORD_BYTES + RECORD_BYTES_MAX:
            taken.oversized = None if taken.records else (offset, size - RECORD_BYTES)
            return False
        taken.records.append(found)
        taken.size += size
        if record.value is None or record.headers or record.key == b"":
            _count_losses(taken.losses, record)
    taken.looked_at += 1
    taken.looked_at_bytes += size
    taken.next_offset = offset + 1
    return True


def encode_fetched(answer: FetchAnswer, form: int) -> list[Buffer]:
    """The payload in one of the two forms."""
    records = answer.records
    if form == DOCUMENT:
        out: list[Buffer] = [_U32.pack(len(records))]
        for offset, key, value in records:
            out += (_U32.pack(len(key)), key, _U32.pack(len(value)), value, _U64.pack(offset))
        out.append(_U64.pack(answer.next_offset))
        return out
    out = [_COUNT_AND_NEXT.pack(len(records), answer.next_offset)]
    for offset, key, value in records:
        out += (_OFFSET_AND_SIZE.pack(offset, len(key)), key, _U32.pack(len(value)), value)
    return out


def decode_fetched(payload: Buffer, form: int) -> FetchAnswer:
    """The answer, for clients; BinaryError where it is none."""
    reader = Reader(payload)
    count = reader.count(reader.u32("count"), "count", least_bytes=RECORD_BYTES)
    if form == DOCUMENT:
        records = [_document_record(reader) for _ in range(count)]
        return FetchAnswer(records, reader.u64("next offset"))
    next_offset = reader.u64("next offset")
    return FetchAnswer([_programs_record(reader) for _ in range(count)], next_offset)


def _document_record(reader: Reader) -> Fetched:
    key, value = _sized(reader, "key"), _sized(reader, "value")
    return Fetched(reader.u64("offset"), key, value)


def _programs_record(reader: Reader) -> Fetched:
    offset = reader.u64("offset")
    return Fetched(offset, _sized(reader, "key"), _sized(reader, "value"))


def _sized(reader: Reader, name: str) -> bytes:
    return bytes(reader.take(reader.u32(f"{name} length"), name))


def _count_losses(losses: Counter[str], record: Record) -> None:
    losses["headers"] += bool(record.headers)
    losses["null_value"] += record.value is None
    losses["empty_key"] += record.key == b""

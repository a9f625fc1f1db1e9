"""Fluvio's batches, which look like the log's and are not: recoded on the way in, and back.

    0            8                12              16         17
    base_offset  batch_len i32    leader_epoch    magic = 2  crc u32
    21              23                 27               35
    attributes i16  last_offset_delta  first_timestamp  max_timestamp
    43           51                  53                  57
    producer_id  producer_epoch i16  first_sequence i32  schema_id u32?  payload

    payload  count i32 | records, all of it compressed as attributes & 7 says

A record set is batches back to back. A key is tagged where the log has a length, 0x10 of the
attributes announces a schema where the log has a transaction, and a codec takes the count with
it. Records are kernels.py's. A schema id is a header of each record to everyone else. The
document leaves the count out: a payload that begins with 0 has one, for no record does.

Readers number the records of a batch from its base offset on, so a batch of the log with holes
leaves as several. What Fluvio cannot say (headers, a value that is null) is left out, and counted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from onelog.binary.compression import Codec, compress, decompress
from onelog.binary.crc import crc32c
from onelog.binary.errors import BinaryError
from onelog.binary.snappy_frames import compress_frames, decompress_frames
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.protocols.fluvio import kernels
from onelog.records.batch import Batch
from onelog.records.record import Record, TimestampType

Buffer = bytes | bytearray | memoryview

# What a schema id of Fluvio is called where records have headers; its value is a u32, big endian.
SCHEMA_HEADER: Final = "fluvio.schema-id"
# What the batches of one request may unpack to. No record of Fluvio's own clients comes near it.
UNPACKED_BYTES_MAX: Final = 64 << 20

HEADER_BYTES: Final = 57
SIZE_BYTES: Final = 12
MAGIC: Final = 2
_COUNT: Final = Struct(">i")
_SCHEMA: Final = Struct(">I")
_HEADER: Final = Struct(">qiibIhiqqqhi")
_PLACE: Final = Struct(">qiibIhi")  # the header up to the last offset delta
_CRC: Final = Struct(">I")
_CRC_AT: Final = 17
_CRC_FROM: Final = 21
_SCHEMA_BIT: Final = 0x10
_CODEC_MASK: Final = 0x07
_NO_LEADER_EPOCH: Final = -1
_NOBODY: Final = (-1, -1, -1)  # no producer id, epoch and sequence

_SCHEMA_NAME: Final = SCHEMA_HEADER.encode()
_NO_HEADERS: Final = b"\x00"
# One header, its name behind its length, and the length of its value: zig-zag doubles all three.
_SCHEMA_FRONT: Final = bytes((2, 2 * len(_SCHEMA_NAME))) + _SCHEMA_NAME + bytes((2 * _SCHEMA.size,))


@dataclass
class Intake:
    """The way in for the batches of one request, which share a bound on what they unpack to."""

    bytes_max: int = UNPACKED_BYTES_MAX

    def batches(self, records: Buffer, *, where: str) -> list[Batch]:
        """A record set as batches for the log; CorruptBatch or InvalidRecord where it is none."""
        rest = memoryview(records)
        found: list[Batch] = []
        while len(rest):
            size = batch_bytes(rest)
            if size > len(rest):
                raise CorruptBatch(where, f"{len(rest)} bytes of a batch", f"{size}")
            producer_id = _HEADER.unpack_from(rest)[9] if size >= HEADER_BYTES else -1
            if producer_id >= 0:
                raise InvalidRecord(
                    where, f"producer {producer_id}; expected none, Fluvio knows no sequences"
                )
            found.append(self.batch(rest[:size], where=f"{where}, batch {len(found)}"))
            rest = rest[size:]
        return found

    def batch(self, view: memoryview, *, where: str, base_offset: int = 0) -> Batch:
        """One whole batch, verified to its last byte."""
        if len(view) < HEADER_BYTES:
            raise CorruptBatch(where, f"{len(view)} bytes", f"at least {HEADER_BYTES} of a batch")
        _, _, _, magic, crc, attributes, last_delta, first_ms, *_ = _HEADER.unpack_from(view)
        if magic != MAGIC:
            raise InvalidRecord(where, f"a batch of magic {magic}; expected {MAGIC}")
        found = crc32c(view[_CRC_FROM:])
        if found != crc:
            raise CorruptBatch(where, f"checksum {found:08x}", f"{crc:08x}")
        codec = _codec(attributes, where)
        headers, at = _headers(view, attributes, where)
        count, payload = _counted(self._unpacked(codec, view[at:], where), last_delta, where)
        self._take_in(count * (len(headers) - len(_NO_HEADERS)), where)
        body, latest = _to_log(payload, count, headers, where)
        return Batch.seal(
            body,
            record_count=count,
            base_offset=base_offset,
            attributes=codec.value,
            last_offset_delta=last_delta,
            base_timestamp_ms=first_ms,
            max_timestamp_ms=_as_64_bits(first_ms + latest),
        )

    def _unpacked(self, codec: Codec, packed: memoryview, where: str) -> Buffer:
        if codec is Codec.NONE:
            return packed
        try:
            if codec is Codec.SNAPPY:
                data = decompress_frames(packed, bytes_max=self.bytes_max)
            else:
                data = decompress(codec, packed, bytes_max=self.bytes_max)
        except BinaryError as error:
            raise CorruptBatch(where, str(error), "compressed records") from error
        self.bytes_max -= len(data)
        return data

    def _take_in(self, header_bytes: int, where: str) -> None:
        """A schema id is said once and kept with each record: many small ones would unpack to what no reader takes."""
        if header_bytes > self.bytes_max:
            raise InvalidRecord(
                where,
                f"the schema id takes {header_bytes} bytes with its records; expected at most {self.bytes_max}",
            )
        self.bytes_max -= header_bytes


@dataclass(slots=True)
class RecordSet:
    """Batches of the log on their way out, and what was lost of them. end: behind the last record."""

    bytes_max: int = 1 << 62
    buffers: list[bytes] = field(default_factory=list)
    size: int = 0
    end: int = 0
    losses: Counter[str] = field(default_factory=Counter)

    def add(self, batch: Batch) -> bool:
        """The batch as Fluvio's: one, but for holes and schemas that change within. False: there is no room.

        There always is for the first one.
        """
        runs = list(_runs(batch))
        size = sum(len(run.sealed) for run in runs)
        if self.size and self.size + size > self.bytes_max:
            return False
        self.size += size
        for run in runs:
            self.buffers.append(run.sealed)
            self.end = run.end
            self.losses["headers"] += run.headers_lost
            self.losses["null_value"] += run.nulls_lost
        return True


class _Run(NamedTuple):
    """Records that stand one behind the other, as one batch of Fluvio's."""

    sealed: bytes
    end: int
    headers_lost: int
    nulls_lost: int


def _runs(batch: Batch) -> Iterator[_Run]:
    data = batch.payload()
    appended = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    first_ms = batch.max_timestamp_ms if appended else batch.base_timestamp_ms
    view = memoryview(bytearray(len(data) + kernels.MORE_BYTES_BACK_MAX * batch.record_count))
    pos = index = 0
    while index < batch.record_count:
        first = index
        try:
            pos, index, used, delta, schema, headers, nulls = kernels.to_fluvio(
                data, pos, index, batch.record_count, _SCHEMA_NAME, appended, view
            )
        except kernels.MalformedRecord as error:
            where = f"batch at offset {batch.base_offset}"
            raise InvalidRecord(where, str(error), index=error.index) from error
        offset = batch.base_offset + delta
        times = (first_ms, batch.max_timestamp_ms)
        sealed = _sealed(view[:used], index - first, offset, times, batch.codec, schema)
        yield _Run(sealed, offset + index - first, headers, nulls)


def batch_bytes(view: Buffer) -> int:
    """What the batch at the beginning of view takes; its own header if its length is nonsense or not there."""
    if len(view) < SIZE_BYTES:
        return SIZE_BYTES
    return SIZE_BYTES + max(int.from_bytes(view[8:12], "big", signed=True), 0)


def encode_batch(records: list[Record], *, codec: Codec = Codec.NONE) -> tuple[bytes, Counter[str]]:
    """A batch as a producer sends it, and what of the records Fluvio cannot say: for clients."""
    made = RecordSet()
    made.add(Batch.build(records, codec=codec))
    return b"".join(made.buffers), made.losses


def decode_records(records: Buffer, *, where: str) -> Iterator[tuple[int, Record]]:
    """The records of a record set, each with its offset, for clients. A torn batch at its end is dropped."""
    for view in _whole(records):
        base_offset = int.from_bytes(view[:8], "big", signed=True)
        yield from Intake().batch(view, where=where, base_offset=base_offset).numbered()


def records_end(records: Buffer) -> int:
    """The offset behind the last whole batch of a record set; 0 without one."""
    end = 0
    for view in _whole(records):
        base_offset, *_, last_delta = _PLACE.unpack_from(view)
        end = base_offset + last_delta + 1
    return end


def _whole(records: Buffer) -> Iterator[memoryview]:
    rest = memoryview(records)
    while len(rest) >= HEADER_BYTES and (size := batch_bytes(rest)) <= len(rest):
        yield rest[:size]
        rest = rest[size:]


def _codec(attributes: int, where: str) -> Codec:
    unknown = attributes & ~(_SCHEMA_BIT | _CODEC_MASK)
    if unknown or attributes & _CODEC_MASK > Codec.ZSTD.value:
        raise InvalidRecord(where, f"attributes {attributes:#06x}; expected a codec of 0 to 4, and 0x10")
    return Codec(attributes & _CODEC_MASK)


def _headers(view: memoryview, attributes: int, where: str) -> tuple[bytes, int]:
    """What each record gets for the schema of its batch, and where the payload begins."""
    if not attributes & _SCHEMA_BIT:
        return _NO_HEADERS, HEADER_BYTES
    end = HEADER_BYTES + _SCHEMA.size
    if len(view) < end:
        raise CorruptBatch(where, f"{len(view)} bytes", "a schema id")
    return _SCHEMA_FRONT + view[HEADER_BYTES:end], end


def _counted(data: Buffer, last_delta: int, where: str) -> tuple[int, memoryview]:
    """The count, which the document leaves out, and the records behind it."""
    view = memoryview(data)
    count = last_delta + 1
    if len(view) >= _COUNT.size and view[0] == 0:
        [count] = _COUNT.unpack_from(view)
        view = view[_COUNT.size :]
    if count < 1 or count != last_delta + 1:
        raise InvalidRecord(where, f"{count} records in {last_delta + 1} offsets; expected one for each")
    if count > len(view) // kernels.RECORD_BYTES_MIN:
        raise InvalidRecord(where, f"{count} records cannot be in {len(view)} bytes")
    return count, view


def _to_log(payload: memoryview, count: int, headers: bytes, where: str) -> tuple[memoryview, int]:
    """The records as the log has them, and the latest of their timestamps, counted from the first."""
    out = bytearray(len(payload) + count * (kernels.MORE_BYTES_MAX + len(headers)))
    view = memoryview(out)
    try:
        used, latest = kernels.to_log(payload, count, headers, view)
    except kernels.MalformedRecord as error:
        raise InvalidRecord(where, str(error), index=error.index) from error
    return view[:used], latest


def _sealed(
    body: memoryview, count: int, base_offset: int, times: tuple[int, int], codec: Codec, schema: int
) -> bytes:
    """Records under a header of Fluvio's, with their count, compressed, and their checksum."""
    payload: Buffer = _COUNT.pack(count) + body
    if codec is Codec.SNAPPY:
        payload = compress_frames(payload)
    elif codec is not Codec.NONE:
        payload = compress(codec, payload)
    has_schema = schema != kernels.NO_SCHEMA
    attributes = codec.value | (_SCHEMA_BIT if has_schema else 0)
    data = bytearray(HEADER_BYTES)
    if has_schema:
        data += _SCHEMA.pack(schema)
    data += payload
    front = (base_offset, len(data) - SIZE_BYTES, _NO_LEADER_EPOCH, MAGIC, 0, attributes)
    _HEADER.pack_into(data, 0, *front, count - 1, *times, *_NOBODY)
    _CRC.pack_into(data, _CRC_AT, crc32c(memoryview(data)[_CRC_FROM:]))
    return bytes(data)


def _as_64_bits(value: int) -> int:
    """As C would hold it: a producer may send any timestamps."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)

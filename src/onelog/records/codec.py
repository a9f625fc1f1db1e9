"""The bytes of a batch, version 2, and the checks of them that need no policy.

    batch   base_offset i64 | size i32 | leader_epoch i32 | magic i8 = 2 | crc u32
            0                 8          12                 16             17
            attributes i16 | last_offset_delta i32 | base_timestamp i64 | max_timestamp i64
            21               23                      27                   35
            producer_id i64 | producer_epoch i16 | base_sequence i32 | record_count i32 | records
            43                51                   53                  57                 61
    record  length v | attributes i8 = 0 | timestamp_delta v | offset_delta v
            key length v | key | value length v | value | header count v | headers
    header  name length v | name, UTF-8 | value length v | value

Big endian; v is a zig-zag varint; a length of -1 is null (not for names). `size` counts what
comes after it. The CRC is CRC-32C from the attributes to the end, so that a log may write its
own base offset and leader epoch into a batch without touching it. What a codec compresses is
`records` as a whole. Attributes: bits 0-2 codec, 3 log append time, 4 transactional, 5 control,
6 delete horizon.
"""

import struct
from collections.abc import Iterable, Sequence

from onelog.binary.compression import Codec
from onelog.binary.crc import crc32c
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.records import kernels, packing
from onelog.records.record import Buffer, Header, Record

HEADER = struct.Struct(">qiibIhiqqqhii")
PLACE = struct.Struct(">qii")
CRC = struct.Struct(">I")
ATTRIBUTES = struct.Struct(">h")
TIMESTAMP = struct.Struct(">q")

HEADER_BYTES = 61
# What `size` does not count: the base offset and itself.
SIZE_BYTES = 12
CRC_AT = 17
CRC_FROM = 21
MAX_TIMESTAMP_AT = 35
MAGIC = 2

CODEC_MASK = 0x07
APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
HORIZON_BIT = 0x40

Fields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]


def read_header(view: Buffer, *, where: str) -> Fields:
    """The thirteen fields of the header of the batch at the beginning of view; CRC not checked.

    CorruptBatch when the batch is not whole or its numbers contradict each other.
    """
    if len(view) < HEADER_BYTES:
        raise CorruptBatch(where, f"{len(view)} bytes", f"at least {HEADER_BYTES} of a batch")
    fields: Fields = HEADER.unpack_from(view)
    base_offset, size, magic, last_delta, count = fields[0], fields[1], fields[3], fields[6], fields[12]
    if magic != MAGIC:
        raise InvalidRecord(where, f"batches of magic {magic} are not taken, only of magic {MAGIC}")
    if size < HEADER_BYTES - SIZE_BYTES or size > len(view) - SIZE_BYTES:
        raise CorruptBatch(where, f"size {size}", f"{HEADER_BYTES - SIZE_BYTES} to {len(view) - SIZE_BYTES}")
    if base_offset < 0 or last_delta < 0 or base_offset > OFFSET_MAX - 1 - last_delta:
        raise CorruptBatch(where, f"offsets {base_offset} + {last_delta}", f"0 to {OFFSET_MAX}")
    if count < 0 or count > last_delta + 1:
        raise InvalidRecord(where, f"{count} records in {last_delta + 1} offsets")
    if fields[5] & CODEC_MASK > Codec.ZSTD.value:
        raise InvalidRecord(where, f"codec {fields[5] & CODEC_MASK} is none of 0 to {Codec.ZSTD.value}")
    return fields


def validate(view: Buffer, *, where: str) -> None:
    """One whole batch, as it has to be wherever it is: sizes, magic, offsets, counts, CRC."""
    fields = read_header(view, where=where)
    size = fields[1] + SIZE_BYTES
    if size != len(view):
        raise CorruptBatch(where, f"size {fields[1]}", f"{len(view) - SIZE_BYTES}, and nothing behind it")
    found = crc32c(memoryview(view)[CRC_FROM:size])
    if found != fields[4]:
        raise CorruptBatch(where, f"checksum {found:08x}", f"{fields[4]:08x}")


def encode_records(
    records: Iterable[Record], *, base_timestamp_ms: int, offset_deltas: Sequence[int] | None = None
) -> bytearray:
    """Records back to back, as they stand in a batch that is not compressed."""
    return packing.pack(records, base_timestamp_ms, offset_deltas)


def decode_record(
    data: Buffer, pos: int, *, index: int, base_timestamp_ms: int, append_ms: int | None = None
) -> tuple[int, int, Record]:
    """The record at pos: (position behind it, its offset delta, itself). Raises MalformedRecord.

    append_ms: the time of all records of the batch, where the log has set one.
    """
    following, delta, timestamp_delta, key, value, headers = kernels.read(data, pos, index)
    timestamp_ms = kernels.shifted(base_timestamp_ms, timestamp_delta) if append_ms is None else append_ms
    names = tuple(map(Header._make, headers)) if headers else ()
    return following, delta, Record(key, value, timestamp_ms, names)

"""The types of Kafka's document, byte by byte, as its messages are declared with them."""

import struct
from typing import Any
from uuid import UUID

import pytest

from onelog.binary.crc import crc32c
from onelog.binary.errors import BinaryError
from onelog.binary.fields import (
    array32,
    boolean,
    bytes32,
    f64,
    i8,
    i16,
    i32,
    i64,
    records32,
    text16,
    u16,
    u32,
    uuid,
    uvarint,
    varint,
    varlong,
)
from onelog.binary.message import SIGNED, codec, message
from onelog.records.batch import Batch
from onelog.records.record import Header, Record

CLASSIC, FLEXIBLE = 0, 1


@message(flexible=FLEXIBLE, lengths=SIGNED)
class Numbers:
    truth: bool = boolean()
    small: int = i8()
    short: int = i16()
    plain: int = i32()
    long: int = i64()
    unsigned_short: int = u16()
    unsigned: int = u32()
    real: float = f64()
    id: UUID = uuid()


@message(flexible=FLEXIBLE, lengths=SIGNED)
class Varints:
    count: int = uvarint()
    signed: int = varint()
    long: int = varlong()


@message(flexible=FLEXIBLE, lengths=SIGNED)
class Sized:
    text: str = text16()
    maybe_text: str | None = text16(nullable=True)
    data: bytes = bytes32()
    maybe_data: bytes | None = bytes32(nullable=True)
    records: Any = records32()
    items: list[int] = array32(i16())
    maybe_items: list[int] | None = array32(i16(), nullable=True)


@message()
class Inner:
    number: int = i8()


@message(flexible=FLEXIBLE, lengths=SIGNED)
class Tagged:
    inner: list[Inner] = array32(Inner)
    extra: int = i16(tag=3, default=-1)


def same(value: Any, version: int, data: bytes) -> None:
    """The value has these bytes, and the bytes have this value."""
    subject = codec(type(value), version)
    assert subject.encode_bytes(value) == data
    assert subject.decode(memoryview(data), 0) == (value, len(data))


def test_numbers_of_fixed_size_are_big_endian() -> None:
    value = Numbers(
        truth=True,
        small=-2,
        short=-3,
        plain=-4,
        long=-5,
        unsigned_short=65535,
        unsigned=4294967295,
        real=1.5,
        id=UUID(int=0x0102030405060708090A0B0C0D0E0F10),
    )
    data = b"\x01" + struct.pack(">bhiqHId", -2, -3, -4, -5, 65535, 4294967295, 1.5) + bytes(range(1, 17))
    same(value, CLASSIC, data)


def test_a_truth_is_any_byte_but_0() -> None:
    value, _ = codec(Numbers, CLASSIC).decode(memoryview(b"\x07" + bytes(45)), 0)
    assert value.truth is True


def test_unsigned_varints_are_plain_and_signed_ones_zig_zag() -> None:
    same(Varints(count=300, signed=-1, long=1), CLASSIC, b"\xac\x02" + b"\x01" + b"\x02")
    same(Varints(count=1, signed=150, long=-(1 << 63)), CLASSIC, b"\x01\xac\x02" + b"\xff" * 9 + b"\x01")


def test_classic_lengths_are_fixed_and_minus_1_is_null() -> None:
    value = Sized(
        text="é", maybe_text=None, data=b"ab", maybe_data=None, records=None, items=[1, 2], maybe_items=None
    )
    data = (
        b"\x00\x02\xc3\xa9"
        b"\xff\xff"
        b"\x00\x00\x00\x02ab"
        + b"\xff\xff\xff\xff" * 2
        + b"\x00\x00\x00\x02\x00\x01\x00\x02"
        + b"\xff\xff\xff\xff"
    )
    same(value, CLASSIC, data)


def test_compact_lengths_are_one_more_than_they_say_and_0_is_null() -> None:
    value = Sized(
        text="é", maybe_text=None, data=b"ab", maybe_data=None, records=None, items=[1, 2], maybe_items=None
    )
    data = b"\x03\xc3\xa9" + b"\x00" + b"\x03ab" + b"\x00\x00" + b"\x03\x00\x01\x00\x02" + b"\x00" + b"\x00"
    same(value, FLEXIBLE, data)


def test_nothing_and_null_differ() -> None:
    value = Sized(text="", maybe_text="", data=b"", maybe_data=b"", records=b"", items=[], maybe_items=[])
    same(value, CLASSIC, b"\0\0" * 2 + b"\0\0\0\0" * 5)
    same(value, FLEXIBLE, b"\x01" * 7 + b"\0")


def test_null_is_refused_where_the_type_has_none() -> None:
    for version, data in ((CLASSIC, b"\xff\xff"), (FLEXIBLE, b"\x00")):
        with pytest.raises(BinaryError):
            codec(Sized, version).decode(memoryview(data + bytes(60)), 0)


def test_every_struct_of_a_flexible_message_ends_with_its_tags() -> None:
    same(Tagged(inner=[Inner(number=5)]), CLASSIC, b"\x00\x00\x00\x01\x05")
    same(Tagged(inner=[Inner(number=5)]), FLEXIBLE, b"\x02\x05\x00" + b"\x00")
    same(Tagged(inner=[], extra=7), FLEXIBLE, b"\x01" + b"\x01\x03\x02\x00\x07")


def test_unknown_tags_are_skipped() -> None:
    data = b"\x02\x05\x01\x63\x01\xff" + b"\x02\x03\x02\x00\x07\x63\x02ab"
    value, end = codec(Tagged, FLEXIBLE).decode(memoryview(data), 0)
    assert (value, end) == (Tagged(inner=[Inner(number=5)], extra=7), len(data))


def test_a_batch_has_the_header_that_kafka_drew() -> None:
    batch = Batch.build(
        [Record(b"k", b"v", 1000), Record(None, b"w", 1003)],
        base_offset=9,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
        leader_epoch=3,
        transactional=True,
    )
    data = bytes(batch.data)
    fields = struct.unpack_from(">qiibIhiqqqhii", data)
    assert fields == (9, len(data) - 12, 3, 2, crc32c(data[21:]), 0x10, 1, 1000, 1003, 7, 2, 5, 2)


def test_a_record_has_the_bytes_that_kafka_drew() -> None:
    headers = (Header("h", b"1"), Header("n", None))
    batch = Batch.build([Record(None, b"v", 1000), Record(b"k", None, 1003, headers)])
    first = bytes([0, 0, 0, 1, 2]) + b"v" + bytes([0])
    second = bytes([0, 6, 2, 2]) + b"k" + bytes([1, 4]) + b"\x02h" + b"\x021" + b"\x02n" + b"\x01"
    records = bytes([len(first) * 2]) + first + bytes([len(second) * 2]) + second
    assert bytes(batch.data)[61:] == records


def test_the_checksum_is_castagnolis_from_the_attributes_on() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    data = bytearray(Batch.build([Record(b"k", b"v", 0)]).data)
    data[0:8], data[12:16] = (77).to_bytes(8, "big"), (5).to_bytes(4, "big")
    assert int.from_bytes(data[17:21], "big") == crc32c(bytes(data[21:])), "place and epoch are outside of it"

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.compression import Codec, compress
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.protocols.fluvio.kernels import MORE_BYTES_MAX, RECORD_BYTES_MIN
from onelog.protocols.fluvio.recordset import (
    SCHEMA_HEADER,
    UNPACKED_BYTES_MAX,
    Intake,
    RecordSet,
    decode_records,
    encode_batch,
)
from onelog.records.batch import UNPACKED_BYTES_MAX as BATCH_UNPACKED_MAX
from onelog.records.batch import Batch, check_produced
from onelog.records.codec import validate
from onelog.records.record import Header, Record
from tests.support import fluvio_records as wire
from tests.support.fluvio_records import FluvioRecord
from tests.support.some_records import BATCHES

MIB = 1 << 20
CODECS: dict[int, Callable[[bytes], bytes]] = {
    1: lambda data: zlib.compress(data, wbits=31),
    2: lambda data: bytes(cramjam.snappy.compress(data)),
    3: lambda data: lz4.frame.compress(data, block_linked=False),
    4: lambda data: zstandard.ZstdCompressor(1).compress(data),
}
# What Fluvio's own codecs begin with.
BEGINNINGS = {1: "1f8b08", 2: "ff060000734e61507059", 3: "04224d18", 4: "28b52ffd"}
SAID = [FluvioRecord(b"k", b"one"), FluvioRecord(None, b"two", 3), FluvioRecord(b"", b"", -1)]


def taken(data: bytes) -> list[Batch]:
    """The batches as the log gets them, by the log's own rules."""
    found = Intake().batches(data, where="orders/0")
    for batch in found:
        validate(batch.data, where="test")
        batch.verify_records(gapless=True)
        check_produced(batch, where="test")
    return found


def sent(*batches: Batch) -> bytes:
    made = RecordSet()
    for batch in batches:
        made.add(batch)
    assert made.size == sum(map(len, made.buffers))
    return b"".join(made.buffers)


def test_a_batch_is_a_batch_of_the_log() -> None:
    [batch] = taken(wire.batch(wire.counted(SAID), 3, base_offset=2, first_ms=1000, max_ms=1000))
    assert (batch.record_count, batch.last_offset_delta, batch.codec) == (3, 2, Codec.NONE)
    assert [(r.key, r.value, r.timestamp_ms) for r in batch.records()] == [
        (b"k", b"one", 1000),
        (None, b"two", 1003),
        (b"", b"", 999),
    ]


def test_the_producers_own_base_offset_counts_for_nothing() -> None:
    [batch] = taken(wire.batch_of(b"a", b"b", base_offset=1))
    assert batch.base_offset == 0


def test_the_latest_time_is_found_whatever_the_producer_says() -> None:
    [batch] = taken(wire.batch(wire.counted(SAID), 3, first_ms=1000, max_ms=7))
    assert batch.max_timestamp_ms == 1003


@settings(max_examples=100, deadline=None)
@given(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1))
def test_any_timestamps_are_64_bits_and_come_back(first: int, delta: int) -> None:
    data = wire.batch(wire.counted([FluvioRecord(None, b"", delta)]), 1, first_ms=first, max_ms=first)
    [batch] = taken(data)
    assert wire.read_records(sent(batch)[61:], 1) == [FluvioRecord(None, b"", delta)]
    [record] = batch.records()
    assert (record.timestamp_ms - first - delta) % (1 << 64) == 0
    assert batch.max_timestamp_ms == record.timestamp_ms


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_a_batch_comes_back_as_it_was_whatever_its_codec(codec: int) -> None:
    payload = wire.counted(SAID * 50)
    packed = CODECS[codec](payload) if codec else payload
    data = wire.batch(packed, 150, attributes=codec, first_ms=1000, max_ms=1003)
    [batch] = taken(data)
    assert batch.codec.value == codec
    assert [r.value for r in batch.records()] == [r.value for r in SAID * 50]
    back = sent(batch)
    assert back[61:] == data[61:] if not codec else back[57:].startswith(bytes.fromhex(BEGINNINGS[codec]))
    assert sent(*taken(back)) == back
    assert struct.unpack_from(">I", back, 17)[0] == wire.crc32c(back[21:])


def test_the_count_is_inside_of_what_is_compressed() -> None:
    [batch] = taken(wire.batch_of(b"v"))
    for codec in (Codec.GZIP, Codec.ZSTD):
        data = sent(Batch.build(list(batch.records()), codec=codec))
        payload = data[57:]
        raw = (
            zlib.decompress(payload, wbits=31)
            if codec is Codec.GZIP
            else zstandard.decompress(payload, max_output_size=99)
        )
        assert raw[:4] == bytes((0, 0, 0, 1))


def test_several_batches_stand_back_to_back() -> None:
    data = wire.batch_of(b"a") + wire.batch_of(b"b", b"c") + wire.batch_of(b"d")
    assert [[r.value for r in batch.records()] for batch in taken(data)] == [[b"a"], [b"b", b"c"], [b"d"]]
    assert taken(b"") == []


def test_the_documents_batch_has_no_count_before_its_records() -> None:
    data = wire.batch(wire.records(SAID), 3)
    assert [r.value for r in taken(data)[0].records()] == [b"one", b"two", b""]
    packed = wire.batch(CODECS[1](wire.records(SAID)), 3, attributes=1)
    assert [r.value for r in taken(packed)[0].records()] == [b"one", b"two", b""]


def test_a_schema_is_a_header_to_others_and_survives_the_round_trip() -> None:
    data = wire.batch(wire.counted(SAID), 3, attributes=0x10, schema=0xFFFFFFFE, max_ms=1_700_000_000_003)
    [batch] = taken(data)
    assert not batch.is_transactional
    header = Header("fluvio.schema-id", b"\xff\xff\xff\xfe")
    assert header.key == SCHEMA_HEADER
    assert all(r.headers == (header,) for r in batch.records())
    assert sent(batch) == data


def test_a_schema_stands_before_what_is_compressed() -> None:
    data = wire.batch(CODECS[4](wire.counted(SAID)), 3, attributes=0x14, schema=9)
    [batch] = taken(data)
    back = sent(batch)
    assert back[57:61] == bytes((0, 0, 0, 9))
    assert [r.headers[0].value for r in taken(back)[0].records()] == [bytes((0, 0, 0, 9))] * 3


def test_holes_and_other_schemas_begin_another_batch() -> None:
    records = [Record(None, b"%d" % n, 5) for n in range(4)]
    batch = Batch.build(records, offset_deltas=[2, 3, 7, 8]).renumbered(base_offset=100, leader_epoch=0)
    made = RecordSet()
    made.add(batch)
    assert made.end == 109
    found = list(decode_records(b"".join(made.buffers), where="test"))
    assert [(offset, record.value) for offset, record in found] == [
        (102, b"0"),
        (103, b"1"),
        (107, b"2"),
        (108, b"3"),
    ]
    assert len(made.buffers) == 2


def test_what_fluvio_cannot_say_is_counted() -> None:
    made = RecordSet()
    made.add(
        Batch.build([Record(b"k", None, 5, (Header("a", b""), Header("b", None))), Record(None, b"v", 5)])
    )
    assert {reason: count for reason, count in made.losses.items() if count} == {
        "headers": 2,
        "null_value": 1,
    }
    assert [r.value for _, r in decode_records(b"".join(made.buffers), where="test")] == [b"", b"v"]


@settings(max_examples=60, deadline=None)
@given(BATCHES, st.sampled_from(list(Codec)))
def test_what_anybody_wrote_can_be_read(records: list[Record], codec: Codec) -> None:
    data = sent(Batch.build(records, codec=codec))
    assert [(r.key, r.value, r.timestamp_ms) for _, r in decode_records(data, where="test")] == [
        (r.key, r.value or b"", r.timestamp_ms) for r in records
    ]


def test_the_logs_own_time_is_that_of_its_records() -> None:
    batch = Batch.build([Record(None, b"a", 5), Record(None, b"b", 9)]).restamped(77)
    assert [r.timestamp_ms for _, r in decode_records(sent(batch), where="test")] == [77, 77]


def test_a_client_makes_a_batch_and_is_told_what_is_lost() -> None:
    data, losses = encode_batch([Record(b"k", b"v", 5, (Header("a", b""),))], codec=Codec.SNAPPY)
    assert losses["headers"] == 1
    assert [r.value for r in taken(data)[0].records()] == [b"v"]


def test_a_torn_batch_at_the_end_is_dropped_by_a_client_and_nothing_else_is() -> None:
    whole = wire.batch_of(b"a")
    for cut in range(len(whole)):
        found = list(decode_records(whole + wire.batch_of(b"b", base_offset=1)[:cut], where="test"))
        assert [r.value for _, r in found] == [b"a"]


def spoilt(name: str) -> bytes:
    payload = wire.counted([FluvioRecord(None, b"v")])
    good = wire.batch(payload, 1)
    cases: dict[str, Any] = {
        "checksum": lambda: wire.batch(payload, 1, crc=1),
        "magic": lambda: wire.batch(payload, 1, magic=1),
        "codec": lambda: wire.batch(payload, 1, attributes=5),
        "attributes": lambda: wire.batch(payload, 1, attributes=0x20),
        "append time": lambda: wire.batch(payload, 1, attributes=0x08),
        "producer": lambda: wire.batch(payload, 1, producer=(7, 0, 0)),
        "schema": lambda: wire.batch(b"", 1, attributes=0x10),
        "count": lambda: wire.batch(struct.pack(">i", 2) + payload[4:], 2),
        "other count": lambda: wire.batch(payload, 2),
        "no count": lambda: wire.batch(b"\0\0\0\0", 0),
        "many": lambda: wire.batch(struct.pack(">i", (1 << 24) - 1) + payload[4:], (1 << 24) - 1),
        "more": lambda: wire.batch(payload[4:], 0x7FFFFFFF),
        "nothing": lambda: wire.batch(b"", 1),
        "garbage": lambda: wire.batch(b"garbage", 1, attributes=1),
        "cut": lambda: good[:-1],
        "short": lambda: good[:11],
        "long": lambda: good + b"\0",
        "negative": lambda: good[:8] + b"\xff\xff\xff\xff" + good[12:],
        "headless": lambda: good[:8] + struct.pack(">i", 44) + good[12:56],
    }
    return bytes(cases[name]())


@pytest.mark.parametrize(
    "name",
    [
        "checksum",
        "magic",
        "codec",
        "attributes",
        "append time",
        "producer",
        "schema",
        "count",
        "other count",
        "no count",
        "many",
        "more",
        "nothing",
        "garbage",
        "cut",
        "short",
        "long",
        "negative",
        "headless",
    ],
)
def test_a_batch_that_lies_is_refused_and_takes_no_memory(name: str) -> None:
    data = spoilt(name)
    tracemalloc.start()
    try:
        with pytest.raises((CorruptBatch, InvalidRecord)):
            Intake().batches(data, where="orders/0")
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


def test_a_wrong_checksum_is_told_with_both() -> None:
    data = wire.batch_of(b"v")
    found = data[17:21].hex()
    spoilt = data[:17] + b"\0\0\0\1" + data[21:]
    with pytest.raises(CorruptBatch, match=f"orders/0, batch 0: checksum {found}; expected 00000001"):
        Intake().batches(spoilt, where="orders/0")


@pytest.mark.parametrize("codec", list(CODECS))
def test_the_batches_of_one_request_share_a_bound_on_what_they_unpack_to(codec: int) -> None:
    assert UNPACKED_BYTES_MAX == 64 * MIB
    record = wire.counted([FluvioRecord(None, bytes(MIB))])
    data = wire.batch(CODECS[codec](record), 1, attributes=codec)
    intake = Intake(bytes_max=2 * len(record))
    assert len(intake.batches(data + data, where="test")) == 2
    with pytest.raises(CorruptBatch, match="once decompressed"):
        intake.batches(data, where="test")


@pytest.mark.parametrize("codec", list(CODECS))
def test_a_bomb_is_refused_before_it_takes_memory(codec: int) -> None:
    data = wire.batch(CODECS[codec](bytes(16 * MIB)), 1, attributes=codec)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptBatch, match="once decompressed"):
            Intake(bytes_max=MIB // 4).batches(data, where="test")
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_nonsense_is_batches_or_refused(data: st.DataObject) -> None:
    codec = data.draw(st.sampled_from([0, 0, 1, 2, 3, 4]))
    payload = bytearray(wire.counted(SAID))
    for _ in range(data.draw(st.integers(0, 2))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    raw = bytearray(compress(Codec.NONE, payload) if not codec else CODECS[codec](bytes(payload)))
    for _ in range(data.draw(st.integers(0, 2))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CorruptBatch, InvalidRecord):
        taken(wire.batch(bytes(raw), data.draw(st.integers(1, 4)), attributes=codec))


def test_a_schema_id_that_many_small_records_would_repeat_is_refused_before_it_is_written() -> None:
    count = 500_000
    said = wire.record(FluvioRecord(None, b""), 0) * count
    packed = CODECS[4](struct.pack(">i", count) + said)
    data = wire.batch(struct.pack(">I", 7) + packed, count, attributes=0x14)
    room = 4 + len(said) + 22 * count
    [batch] = Intake(room).batches(data, where="orders/0")
    assert len(batch.payload()) > room
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRecord, match="the schema id takes"):
            Intake(room - 1).batches(data, where="orders/0")
        assert tracemalloc.get_traced_memory()[1] < 4 * len(said)
    finally:
        tracemalloc.stop()


def test_a_batch_that_is_taken_is_one_that_readers_can_unpack() -> None:
    # The smallest records that there are, as many as one request may unpack to.
    assert (
        UNPACKED_BYTES_MAX // RECORD_BYTES_MIN * MORE_BYTES_MAX + 2 * UNPACKED_BYTES_MAX <= BATCH_UNPACKED_MAX
    )

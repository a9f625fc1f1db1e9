from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.binary.compression import Codec
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.records.batch import Batch, check_produced, split
from onelog.records.codec import validate
from onelog.records.record import Header, Record, TimestampType
from tests.support import kafka_python_batches as kafka_python
from tests.support.some_records import BATCHES, TIMES, broken_bytes, offset_deltas

CODECS = st.sampled_from(Codec)
# Snappy it leaves to a library that is not here; kcat and librdkafka send it in tests/interop.
KAFKA_PYTHON_S = [0, 1, 3, 4]
SOME = [Record(b"k%d" % i, b"v" * i, 1000 - 7 * i, (Header("h", None),) * (i % 3)) for i in range(10)]


def sealed(body: bytes, *, record_count: int, last: int | None = None) -> Batch:
    """A batch around bytes that nobody has looked at."""
    return Batch.seal(
        body,
        record_count=record_count,
        attributes=0,
        last_offset_delta=record_count - 1 if last is None else last,
        base_timestamp_ms=0,
        max_timestamp_ms=0,
    )


@settings(max_examples=100, deadline=None)
@given(records=BATCHES, codec=CODECS, base=st.integers(0, 1 << 62), data=st.data())
def test_every_record_survives_a_round_trip(
    records: list[Record], codec: Codec, base: int, data: st.DataObject
) -> None:
    deltas = data.draw(st.one_of(st.none(), offset_deltas(len(records))))
    batch = Batch.build(records, base_offset=base, codec=codec, offset_deltas=deltas)
    validate(batch.data, where="built")
    again = Batch.of(batch.data)
    places = [base + delta for delta in deltas or range(len(records))]
    assert list(again.numbered()) == list(zip(places, records, strict=True))
    assert list(again.records()) == records
    assert (again.last_offset, again.offset_end) == (places[-1], places[-1] + 1)
    assert again.record_count == len(records)
    assert again.codec is codec
    assert again.max_timestamp_ms == max(record.timestamp_ms for record in records)
    again.verify_records(gapless=deltas is None)


def test_what_a_batch_says_of_itself() -> None:
    batch = Batch.build(
        SOME,
        base_offset=40,
        codec=Codec.ZSTD,
        producer_id=5,
        producer_epoch=2,
        base_sequence=2**31 - 3,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        transactional=True,
        leader_epoch=4,
    )
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (40, 49, 4)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (5, 2, 2**31 - 3)
    assert (batch.last_sequence, batch.next_sequence) == (6, 7)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert batch.is_transactional
    assert not batch.is_control
    assert batch.size == len(batch.data)


def test_without_a_sequence_there_is_no_last_and_no_next_one() -> None:
    batch = Batch.build(SOME)
    assert (batch.last_sequence, batch.next_sequence) == (-1, -1)


@pytest.mark.parametrize("kind", KAFKA_PYTHON_S)
def test_kafka_python_reads_what_was_built(kind: int) -> None:
    data = bytes(Batch.build(SOME, base_offset=100, codec=Codec(kind)).data)
    assert kafka_python.read(data) == list(enumerate(SOME, 100))


@pytest.mark.parametrize("kind", KAFKA_PYTHON_S)
def test_what_kafka_python_built_is_read(kind: int) -> None:
    data = kafka_python.written(SOME, codec=kind)
    validate(data, where="kafka-python")
    batch = Batch.of(data)
    check_produced(batch, where="kafka-python")
    batch.verify_records(gapless=True)
    assert list(batch.records()) == SOME


def test_an_uncompressed_batch_is_the_same_bytes_as_kafka_python_s() -> None:
    built = bytearray(Batch.build(SOME, leader_epoch=-1).data)
    theirs = bytearray(kafka_python.written(SOME, codec=0))
    # The leader epoch is the log's, and outside of the checksum.
    built[12:16] = theirs[12:16]
    assert built == theirs


def test_a_batch_looks_at_bytes_and_copies_none() -> None:
    data = bytearray(Batch.build(SOME).data) + b"and more"
    batch = Batch.of(data)
    assert isinstance(batch.data, memoryview)
    assert batch.data.obj is data
    assert batch.size == len(data) - 8


@settings(max_examples=50, deadline=None)
@given(records=BATCHES, codec=CODECS, base=st.integers(0, 1 << 62), epoch=st.integers(0, 2**31 - 1))
def test_renumbering_moves_the_offsets_and_keeps_all_else(
    records: list[Record], codec: Codec, base: int, epoch: int
) -> None:
    batch = Batch.build(records, codec=codec, producer_id=3, producer_epoch=1, base_sequence=5)
    before = bytes(batch.data)
    moved = batch.renumbered(base_offset=base, leader_epoch=epoch)
    validate(moved.data, where="moved")
    assert (moved.base_offset, moved.leader_epoch, moved.crc) == (base, epoch, batch.crc)
    assert bytes(moved.data)[16:] == before[16:]
    assert bytes(batch.data) == before
    assert list(moved.records()) == records


@settings(max_examples=50, deadline=None)
@given(records=BATCHES, codec=CODECS, time=TIMES)
def test_restamping_gives_all_records_the_time_of_the_log(
    records: list[Record], codec: Codec, time: int
) -> None:
    stamped = Batch.build(records, codec=codec).restamped(time)
    validate(stamped.data, where="stamped")
    assert stamped.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert stamped.max_timestamp_ms == time
    assert [r.timestamp_ms for r in stamped.records()] == [time] * len(records)
    assert [(r.key, r.value, r.headers) for r in stamped.records()] == [
        (r.key, r.value, r.headers) for r in records
    ]


@given(start=st.integers(0, 60))
def test_records_can_be_read_from_an_offset_on(start: int) -> None:
    batch = Batch.build(SOME, base_offset=40, offset_deltas=[0, 1, 2, 5, 6, 9, 10, 11, 12, 15])
    everything = list(batch.numbered())
    assert list(batch.numbered(offset_start=start)) == [each for each in everything if each[0] >= start]


@pytest.mark.parametrize("codec", Codec)
def test_the_first_record_of_a_time_is_found_between_offsets(codec: Codec) -> None:
    times = [10, 30, 20, 30, 5]
    batch = Batch.build([Record(None, None, t) for t in times], base_offset=100, codec=codec)
    assert batch.find_time(15) == (101, 30)
    assert batch.find_time(15, offset_start=102) == (102, 20)
    assert batch.find_time(31) is None
    assert batch.find_time(15, offset_start=104) is None
    assert batch.find_time(15, offset_end=101) is None
    assert batch.find_time_max() == (101, 30)
    assert batch.find_time_max(offset_start=102, offset_end=103) == (102, 20)
    assert batch.find_time_max(offset_start=105) is None


def test_a_restamped_batch_has_one_time() -> None:
    batch = Batch.build([Record(None, None, t) for t in (10, 30)], base_offset=100).restamped(77)
    assert batch.find_time(77) == (100, 77)
    assert batch.find_time(50, offset_start=101) == (101, 77)
    assert batch.find_time(78) is None
    assert batch.find_time_max(offset_start=101) == (101, 77)


def test_batches_back_to_back_are_split() -> None:
    batches = [Batch.build(SOME, base_offset=10 * i, codec=codec) for i, codec in enumerate(Codec)]
    data = b"".join(bytes(batch.data) for batch in batches)
    found = split(data)
    assert [bytes(each.data) for each in found] == [bytes(each.data) for each in batches]
    assert [each.base_offset for each in split(memoryview(data), whole=True)] == [0, 10, 20, 30, 40]
    assert split(b"") == split(b"", whole=True) == []


@pytest.mark.parametrize("kept", [1, 11, 12, 60, 61, 100])
def test_a_torn_batch_at_the_end_is_dropped_or_refused(kept: int) -> None:
    one = bytes(Batch.build(SOME).data)
    assert len(split(one + one[:kept])) == 1
    with pytest.raises(CorruptBatch, match="fetched"):
        split(one + one[:kept], where="fetched", whole=True)


def test_a_batch_in_the_middle_that_lies_is_refused() -> None:
    one = bytes(Batch.build(SOME).data)
    with pytest.raises(CorruptBatch, match="fetched, batch 1: size 3"):
        split(one + one[:8] + b"\x00\x00\x00\x03" + one[12:], where="fetched")


@settings(max_examples=100, deadline=None)
@given(damaged=broken_bytes(), codec=CODECS)
def test_nonsense_is_records_or_a_refusal_and_never_a_third_thing(
    damaged: tuple[bytes, int], codec: Codec
) -> None:
    body, count = damaged
    batch = sealed(body, record_count=max(count, 1))
    again = bytearray(batch.data)
    again[22] = codec.value
    for each in (batch, Batch.of(again)):
        for read in (
            lambda each=each: list(each.numbered()),
            each.verify_records,
            lambda each=each: each.find_time(5),
            each.find_time_max,
        ):
            with suppress(InvalidRecord, CorruptBatch):
                read()


def test_more_records_than_bytes_can_hold_are_refused_before_anything_is_read() -> None:
    with pytest.raises(InvalidRecord, match="1000000 records cannot be in 7 bytes"):
        list(sealed(bytes(7), record_count=1_000_000).records())


def test_bytes_behind_the_last_record_are_refused() -> None:
    body = bytes(Batch.build(SOME).payload()) + b"\x00"
    with pytest.raises(InvalidRecord, match="1 bytes behind its last record"):
        list(sealed(body, record_count=10).records())


def test_records_beyond_the_last_offset_are_refused() -> None:
    body = bytes(Batch.build(SOME, offset_deltas=[*range(9), 50]).payload())
    with pytest.raises(InvalidRecord, match="reach offset 50"):
        sealed(body, record_count=10).verify_records()


def test_gaps_are_refused_where_none_may_be() -> None:
    batch = Batch.build(SOME[:2], offset_deltas=[0, 2])
    batch.verify_records()
    with pytest.raises(InvalidRecord, match="1 gaps"):
        batch.verify_records(gapless=True)


def test_a_batch_does_not_unpack_to_more_than_is_allowed() -> None:
    batch = Batch.build([Record(None, bytes(1_000_000), 0)], codec=Codec.GZIP)
    assert batch.size < 2000
    with pytest.raises(CorruptBatch, match="gzip"):
        batch.payload(bytes_max=100_000)
    assert len(batch.payload(bytes_max=1_000_100)) > 1_000_000


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_compressed_garbage_is_a_corrupt_batch(codec: Codec) -> None:
    data = bytearray(Batch.build(SOME, codec=codec).data)
    data[61:] = b"\x17" * (len(data) - 61)
    with pytest.raises(CorruptBatch, match=codec.name.lower()):
        list(Batch.of(data).records())


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (Batch.build(SOME, base_offset=1), "base offset 1; expected 0"),
        (Batch.build(SOME[:2], offset_deltas=[0, 5]), "2 records in 6 offsets"),
        (sealed(b"", record_count=0, last=0), "0 records in 1 offsets"),
        (Batch.build(SOME, control=True), "a control batch"),
        (Batch.build(SOME, producer_id=1, producer_epoch=0), "producer 1 sends no sequence"),
    ],
)
def test_what_a_producer_may_not_send_is_refused(batch: Batch, words: str) -> None:
    validate(batch.data, where="sent")
    with pytest.raises(InvalidRecord, match=f"sent: {words}"):
        check_produced(batch, where="sent")

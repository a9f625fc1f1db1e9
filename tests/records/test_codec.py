import pytest
from hypothesis import given, settings

from onelog.errors import CorruptBatch, InvalidRecord, OnelogError
from onelog.records import codec
from onelog.records.batch import Batch
from onelog.records.record import Header, Record
from tests.support.some_records import BATCHES

ONE = bytes(Batch.build([Record(b"key", b"value", 1_700_000_000_000)], base_offset=7).data)


def with_bytes(at: int, data: bytes) -> bytes:
    return ONE[:at] + data + ONE[at + len(data) :]


def test_a_header_has_the_widths_of_the_drawing() -> None:
    assert codec.HEADER.size == codec.HEADER_BYTES == 61


def test_a_whole_batch_is_valid() -> None:
    codec.validate(ONE, where="here")
    codec.validate(memoryview(ONE), where="here")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (ONE[:60], "here: 60 bytes; expected at least 61"),
        (ONE[:-1], "here: size 64; expected 49 to 63"),
        (ONE + b"x", "here: size 64; expected 65, and nothing behind it"),
        (with_bytes(8, (48).to_bytes(4, "big")), "here: size 48"),
        (with_bytes(8, b"\xff\xff\xff\xff"), "here: size -1"),
        (with_bytes(0, b"\xff"), "here: offsets -"),
        (with_bytes(0, b"\x7f\xff\xff\xff\xff\xff\xff\xff"), "here: offsets 9223372036854775807"),
        (with_bytes(23, b"\xff\xff\xff\xff"), "here: offsets 7 [+] -1"),
        (with_bytes(27, b"\x01"), "here: checksum [0-9a-f]{8}; expected [0-9a-f]{8}"),
    ],
)
def test_a_corrupt_batch_is_named_with_what_was_found(data: bytes, words: str) -> None:
    with pytest.raises(CorruptBatch, match=words):
        codec.validate(data, where="here")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_bytes(16, b"\x01"), "here: batches of magic 1 are not taken, only of magic 2"),
        (with_bytes(57, b"\x00\x00\x00\x02"), "here: 2 records in 1 offsets"),
        (with_bytes(57, b"\xff\xff\xff\xff"), "here: -1 records in 1 offsets"),
        (with_bytes(22, b"\x05"), "here: codec 5 is none of 0 to 4"),
    ],
)
def test_an_invalid_header_is_named_with_what_was_found(data: bytes, words: str) -> None:
    with pytest.raises(InvalidRecord, match=words):
        codec.validate(data, where="here")


def test_every_flipped_bit_behind_the_leader_epoch_is_noticed() -> None:
    # The base offset and the epoch are the log's own, which the checksum leaves out.
    for bit in range(16 * 8, len(ONE) * 8):
        flipped = bytearray(ONE)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(OnelogError):
            codec.validate(flipped, where="here")


@settings(max_examples=50, deadline=None)
@given(records=BATCHES)
def test_records_are_decoded_one_by_one_as_they_were_encoded(records: list[Record]) -> None:
    data = codec.encode_records(records, base_timestamp_ms=records[0].timestamp_ms)
    pos, found = 0, []
    for index in range(len(records)):
        pos, delta, record = codec.decode_record(
            data, pos, index=index, base_timestamp_ms=records[0].timestamp_ms
        )
        assert delta == index
        found.append(record)
    assert found == records


def test_a_header_name_that_is_no_text_is_read_with_marks_for_it() -> None:
    data = codec.encode_records([Record(None, None, 0, (Header("ab", None),))], base_timestamp_ms=0)
    damaged = data.replace(b"ab", b"a\xff")
    _, _, record = codec.decode_record(damaged, 0, index=0, base_timestamp_ms=0)
    assert record.headers == (Header("a�", None),)


def test_the_time_of_appending_stands_for_the_record_s_own() -> None:
    data = codec.encode_records([Record(None, None, 5)], base_timestamp_ms=5)
    assert codec.decode_record(data, 0, index=0, base_timestamp_ms=5, append_ms=99)[2].timestamp_ms == 99

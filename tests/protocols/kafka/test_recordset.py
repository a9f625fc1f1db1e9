import pytest

from onelog.binary.compression import Codec
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.protocols.kafka.recordset import fetched, produced, received
from onelog.records.batch import Batch
from onelog.records.codec import HEADER_BYTES, encode_records
from onelog.records.record import Record

RECORDS = [Record(b"k", b"v", 1000), Record(None, b"w", 1001)]
BATCH = Batch.build(RECORDS)
DATA = bytes(BATCH.data)


def altered(at: int, value: bytes) -> bytes:
    return DATA[:at] + value + DATA[at + len(value) :]


def test_one_batch_is_taken_as_it_is_without_a_copy() -> None:
    view = memoryview(DATA)
    batch = produced(view, version=9, where="orders/0")
    assert batch.data is view
    assert list(batch.records()) == RECORDS


@pytest.mark.parametrize("records", [None, b""])
def test_no_batch_is_an_invalid_record(records: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        produced(records, version=9, where="orders/0")


def test_two_batches_are_an_invalid_record() -> None:
    with pytest.raises(InvalidRecord):
        produced(DATA + DATA, version=9, where="orders/0")


@pytest.mark.parametrize("magic", [0, 1, 3])
def test_a_batch_of_another_magic_is_an_invalid_record(magic: int) -> None:
    with pytest.raises(InvalidRecord):
        produced(altered(16, bytes([magic])), version=9, where="orders/0")


def test_a_base_offset_is_the_logs_to_give() -> None:
    with pytest.raises(InvalidRecord):
        produced(altered(0, (5).to_bytes(8, "big")), version=9, where="orders/0")


def test_a_count_that_differs_from_the_offsets_is_an_invalid_record() -> None:
    with pytest.raises(InvalidRecord):
        produced(altered(57, (1).to_bytes(4, "big")), version=9, where="orders/0")


def test_a_control_batch_of_a_client_is_an_invalid_record() -> None:
    with pytest.raises(InvalidRecord):
        produced(bytes(Batch.build(RECORDS, control=True).data), version=9, where="orders/0")


def test_a_flipped_bit_is_a_corrupt_message() -> None:
    with pytest.raises(CorruptBatch):
        produced(DATA[:-1] + bytes([DATA[-1] ^ 1]), version=9, where="orders/0")


def _sealed(body: bytes | bytearray, *, codec: Codec = Codec.NONE) -> bytes:
    """A body of two records, as its header and its checksum say, whatever it is."""
    numbers = {"last_offset_delta": 1, "base_timestamp_ms": 1000, "max_timestamp_ms": 1001}
    return bytes(Batch.seal(body, record_count=2, attributes=codec.value, **numbers).data)


def test_garbage_under_a_right_checksum_is_an_invalid_record_that_names_which() -> None:
    garbage = DATA[HEADER_BYTES:-1] + b"\xff"
    for body, index in ((b"\xff" * 40, 0), (garbage, 1)):
        with pytest.raises(InvalidRecord, match="orders/0") as caught:
            produced(_sealed(body), version=9, where="orders/0")
        assert caught.value.index == index


def test_records_with_gaps_between_them_are_an_invalid_record() -> None:
    with pytest.raises(InvalidRecord, match="orders/0"):
        produced(
            _sealed(encode_records(RECORDS, base_timestamp_ms=1000, offset_deltas=[0, 0])),
            version=9,
            where="orders/0",
        )


def test_compressed_records_are_not_looked_into() -> None:
    assert produced(_sealed(b"\xff" * 40, codec=Codec.GZIP), version=9, where="orders/0").record_count == 2


def test_a_size_that_lies_is_a_corrupt_message() -> None:
    with pytest.raises(CorruptBatch):
        produced(altered(8, (1 << 30).to_bytes(4, "big")), version=9, where="orders/0")


def test_zstd_needs_the_version_that_knows_it() -> None:
    data = bytes(Batch.build(RECORDS, codec=Codec.ZSTD).data)
    assert produced(data, version=7, where="orders/0").codec is Codec.ZSTD
    with pytest.raises(KafkaRefusal) as caught:
        produced(data, version=6, where="orders/0")
    assert caught.value.code is Code.UNSUPPORTED_COMPRESSION_TYPE


def test_zstd_is_not_handed_to_a_reader_that_does_not_know_it() -> None:
    batch = Batch.build(RECORDS, codec=Codec.ZSTD)
    assert fetched([batch], version=10, where="orders/0") == [batch.data]
    with pytest.raises(KafkaRefusal) as caught:
        fetched([batch], version=9, where="orders/0")
    assert caught.value.code is Code.UNSUPPORTED_COMPRESSION_TYPE


def test_what_is_fetched_leaves_as_the_buffers_that_the_log_gave() -> None:
    batches = [BATCH, Batch.build(RECORDS, base_offset=2)]
    assert [a is b.data for a, b in zip(fetched(batches, version=4, where="x"), batches, strict=True)] == [
        True,
        True,
    ]


def test_a_client_reads_whole_batches_and_drops_a_torn_one() -> None:
    assert received(None, where="orders/0") == []
    assert len(received(DATA + DATA[:30], where="orders/0")) == 1

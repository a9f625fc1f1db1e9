from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.client.kafka.batching import chunks, sequence_behind, sequenced, size_of
from onelog.records.batch import Batch
from onelog.records.codec import HEADER_BYTES, validate
from onelog.records.record import Header, Record

sized = st.none() | st.binary(max_size=200)
headers = st.lists(st.builds(Header, st.text(max_size=5), sized), max_size=2).map(tuple)
records = st.lists(st.builds(Record, sized, sized, st.integers(-1, 2**50), headers), max_size=30)


@settings(max_examples=100, deadline=None)
@given(records=records, bytes_max=st.integers(100, 2000))
def test_every_record_is_in_one_batch_in_order_and_no_batch_is_too_large(
    records: list[Record], bytes_max: int
) -> None:
    lots = list(chunks(records, bytes_max=bytes_max))
    assert [record for lot in lots for record in lot] == records
    for lot in lots:
        assert lot
        assert len(lot) == 1 or Batch.build(lot).size <= bytes_max


@settings(max_examples=100, deadline=None)
@given(records=records.filter(bool))
def test_a_record_never_takes_more_than_was_reckoned(records: list[Record]) -> None:
    assert Batch.build(records).size <= HEADER_BYTES + sum(map(size_of, records))


def test_a_sequenced_batch_is_valid_and_otherwise_the_same() -> None:
    plain = Batch.build([Record(b"k", b"v", 5), Record(None, b"w", 6)])
    batch = sequenced(plain, producer_id=7, producer_epoch=2, base_sequence=40)
    validate(batch.data, where="here")
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 2, 40)
    assert list(batch.records()) == list(plain.records())
    assert plain.producer_id == -1


def test_sequences_wrap_to_zero() -> None:
    two = [Record(None, b"", 0)] * 2
    batch = sequenced(Batch.build(two), producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    assert sequence_behind(batch) == 0
    batch = sequenced(Batch.build(two), producer_id=1, producer_epoch=0, base_sequence=2**31 - 1)
    assert sequence_behind(batch) == 1

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.errors import InvalidRecord
from onelog.records.batch import Batch
from onelog.records.codec import validate
from onelog.records.control import Marker, Verdict, build_marker, data_batches, read_marker
from onelog.records.record import Record


def data(base: int, producer: int = -1, *, count: int = 1, transactional: bool | None = None) -> Batch:
    return Batch.build(
        [Record(None, b"", 0)] * count,
        base_offset=base,
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        transactional=producer >= 0 if transactional is None else transactional,
    )


def end(base: int, producer: int, verdict: Verdict) -> Batch:
    return build_marker(
        Marker(verdict, 0), producer_id=producer, producer_epoch=0, timestamp_ms=0, base_offset=base
    )


@given(verdict=st.sampled_from(Verdict), epoch=st.integers(0, 2**31 - 1))
def test_a_marker_says_how_the_transaction_ended(verdict: Verdict, epoch: int) -> None:
    batch = build_marker(Marker(verdict, epoch), producer_id=9, producer_epoch=2, timestamp_ms=77)
    validate(batch.data, where="marker")
    assert batch.is_control
    assert batch.is_transactional
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.record_count) == (9, 2, -1, 1)
    assert batch.attributes == 0x30
    assert read_marker(batch) == Marker(verdict, epoch)


def test_a_marker_has_the_bytes_of_the_drawing() -> None:
    batch = build_marker(Marker(Verdict.COMMITTED, 3), producer_id=1, producer_epoch=0, timestamp_ms=0)
    record = next(batch.records())
    assert (record.key, record.value) == (b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x03")


def test_a_control_batch_of_another_kind_is_no_marker() -> None:
    other = Batch.build([Record(b"\x00\x00\x00\x02", b"", 0)], control=True)
    assert read_marker(other) is None


@pytest.mark.parametrize(
    ("key", "value"), [(b"\x00", b"\x00" * 6), (None, None), (b"\x00\x00\x00\x00", b"\x00")]
)
def test_a_marker_that_is_cut_short_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(InvalidRecord, match="control batch at offset 0"):
        read_marker(Batch.build([Record(key, value, 0)], control=True))


def test_control_batches_are_not_data() -> None:
    kept = [data(0), data(2, 5)]
    assert list(data_batches([kept[0], end(1, 5, Verdict.COMMITTED), kept[1]])) == kept


def test_an_aborted_transaction_ends_at_its_marker_and_spares_the_others() -> None:
    log = [
        data(0, 1),
        data(1, 2),
        data(2, 1),
        data(3),
        data(4, 1, transactional=False),
        end(5, 1, Verdict.ABORTED),
        data(6, 1),
        end(7, 1, Verdict.COMMITTED),
        end(8, 2, Verdict.COMMITTED),
    ]
    kept = [batch.base_offset for batch in data_batches(log, aborted=[(1, 0)])]
    assert kept == [1, 3, 4, 6]


def test_a_producer_may_abort_twice() -> None:
    log = [data(0, 1), end(1, 1, Verdict.ABORTED), data(2, 1), end(3, 1, Verdict.ABORTED), data(4, 1)]
    assert [b.base_offset for b in data_batches(log, aborted=[(1, 2), (1, 0)])] == [4]


def test_a_transaction_before_the_aborted_one_is_kept() -> None:
    log = [data(0, 1), end(1, 1, Verdict.COMMITTED), data(2, 1), end(3, 1, Verdict.ABORTED)]
    assert [b.base_offset for b in data_batches(log, aborted=[(1, 2)])] == [0]

"""Numbered batches: again, next, missing, replaced."""

import pytest

from onelog.errors import OutOfOrderSequence, StaleProducerEpoch
from onelog.records.batch import Batch
from onelog.storage.producers import Producers, Seen
from tests.support.small_logs import batch_of, committing, in_transaction


def _batch(sequence: int, *, epoch: int = 0, count: int = 2, producer_id: int = 7) -> Batch:
    return batch_of(*["x"] * count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def _noted(*batches: Batch) -> Producers:
    producers, offset = Producers(), 100
    for batch in batches:
        assert producers.check([batch]) == [None]
        producers.note(batch, base=offset, heard_ms=0, settled=0)
        offset += batch.record_count
    return producers


def test_the_last_five_batches_are_recognised_and_no_more() -> None:
    batches = [_batch(n * 2) for n in range(7)]
    producers = _noted(*batches)
    assert producers.check(batches[2:3]) == [Seen(0, 4, 5, 104, 106, -1)]
    assert producers.check(batches[6:7]) == [Seen(0, 12, 13, 112, 114, -1)]
    with pytest.raises(OutOfOrderSequence, match="sequence 2; expected 14"):
        producers.check(batches[1:2])


def test_five_are_kept_that_are_written_and_all_that_are_not() -> None:
    producers = Producers()
    for n in range(20):
        producers.note(_batch(n * 2), base=n * 2, heard_ms=0, settled=20)
    known = producers.get(7)
    assert known is not None
    assert [seen.base for seen in known.last(below=20)] == [10, 12, 14, 16, 18]
    assert [seen.base for seen in known.last(below=26)] == [16, 18, 20, 22, 24]
    producers.note(_batch(40), base=40, heard_ms=0, settled=40)
    assert [seen.base for seen in known.seen] == [30, 32, 34, 36, 38, 40]


def test_a_batch_of_another_epoch_is_not_the_same_batch() -> None:
    producers = _noted(_batch(0), _batch(2), _batch(0, epoch=1))
    assert producers.check([_batch(0, epoch=1)]) == [Seen(1, 0, 1, 104, 106, -1)]
    assert producers.check([_batch(2, epoch=1)]) == [None]
    with pytest.raises(StaleProducerEpoch):
        producers.check([_batch(2)])


def test_the_same_first_sequence_with_another_length_is_not_the_same_batch() -> None:
    with pytest.raises(OutOfOrderSequence):
        _noted(_batch(0)).check([_batch(0, count=3)])


def test_a_gap_is_refused() -> None:
    with pytest.raises(OutOfOrderSequence, match="producer 7: sequence 3; expected 2"):
        _noted(_batch(0)).check([_batch(3)])


def test_of_an_unknown_producer_any_sequence_is_taken() -> None:
    assert Producers().check([_batch(41)]) == [None]


def test_an_older_epoch_is_refused_and_a_newer_one_begins_at_zero() -> None:
    producers = _noted(_batch(0, epoch=3))
    with pytest.raises(StaleProducerEpoch, match="epoch 2 is older than 3"):
        producers.check([_batch(0, epoch=2)])
    with pytest.raises(OutOfOrderSequence, match="sequence 2; expected 0"):
        producers.check([_batch(2, epoch=4)])
    assert producers.check([_batch(0, epoch=4)]) == [None]


def test_sequences_wrap_around() -> None:
    producers = _noted(_batch((1 << 31) - 1, count=2))
    assert producers.check([_batch(1)]) == [None]
    with pytest.raises(OutOfOrderSequence):
        producers.check([_batch(2)])


def test_batches_of_one_append_are_judged_behind_each_other() -> None:
    producers = _noted(_batch(0))
    assert producers.check([_batch(2), _batch(4)]) == [None, None]
    with pytest.raises(OutOfOrderSequence):
        producers.check([_batch(2), _batch(6)])
    # Judging changed nothing.
    assert producers.check([_batch(2)]) == [None]


def test_batches_without_numbers_are_not_remembered() -> None:
    producers = _noted(batch_of("a"), batch_of("b"))
    assert len(producers) == 0


def test_who_was_not_heard_of_for_long_is_forgotten() -> None:
    producers = Producers()
    producers.note(_batch(0), base=0, heard_ms=1000, settled=0)
    producers.note(_batch(0, producer_id=8), base=2, heard_ms=2000, settled=0)
    producers.expire(2500, expiry_ms=1000)
    assert producers.get(7) is None
    assert producers.get(8) is not None


def test_a_marker_with_a_newer_epoch_replaces_its_producer_and_numbers_begin_again() -> None:
    producers = _noted(_batch(0))
    producers.note(committing(7, epoch=1), base=102, heard_ms=0, settled=0)
    with pytest.raises(StaleProducerEpoch):
        producers.check([_batch(2)])
    with pytest.raises(OutOfOrderSequence, match="sequence 2; expected 0"):
        producers.check([_batch(2, epoch=1)])
    assert producers.check([_batch(0, epoch=1)]) == [None]


def test_a_marker_of_the_same_epoch_leaves_the_numbers_alone() -> None:
    producers = _noted(_batch(0))
    producers.note(committing(7), base=102, heard_ms=0, settled=0)
    assert producers.check([_batch(2)]) == [None]


def test_a_marker_of_a_replaced_epoch_is_refused() -> None:
    with pytest.raises(StaleProducerEpoch):
        _noted(_batch(0, epoch=3)).check([committing(7, epoch=2)])


def test_a_producer_whose_transaction_is_open_is_not_forgotten() -> None:
    producers = Producers()
    producers.note(in_transaction("a"), base=0, heard_ms=0, settled=0)
    producers.expire(1000, expiry_ms=10)
    assert len(producers) == 1
    producers.note(committing(), base=1, heard_ms=0, settled=0)
    producers.expire(1000, expiry_ms=10)
    assert len(producers) == 0

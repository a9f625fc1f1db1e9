"""The producers at the beginning of a segment, as a file that can be dropped."""

from random import Random

import pytest

from onelog.storage import snapshot
from onelog.storage.producers import Producers, Seen
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import batch_of, committing, in_transaction


def _producers() -> Producers:
    producers = Producers()
    for sequence, base in ((0, 10), (2, 20), (4, 30)):
        batch = batch_of("x", "y", producer_id=7, producer_epoch=3, base_sequence=sequence)
        producers.note(batch, base=base, heard_ms=500 + base, settled=base)
    batch = batch_of("z", producer_id=8, producer_epoch=0, base_sequence=(1 << 31) - 1)
    producers.note(batch, base=40, heard_ms=900, settled=40)
    return producers


def test_each_producers_last_batches_come_back() -> None:
    again = snapshot.decoded(snapshot.encoded(_producers(), below=100))
    assert again is not None
    seven, eight = again.get(7), again.get(8)
    assert seven is not None
    assert eight is not None
    assert (seven.epoch, seven.heard_ms, list(seven.seen)) == (
        3,
        530,
        [Seen(3, 0, 1, 10, 12, -1), Seen(3, 2, 3, 20, 22, -1), Seen(3, 4, 5, 30, 32, -1)],
    )
    assert list(eight.seen) == [Seen(0, (1 << 31) - 1, (1 << 31) - 1, 40, 41, -1)]


def test_what_stands_behind_the_offset_is_left_out() -> None:
    again = snapshot.decoded(snapshot.encoded(_producers(), below=30))
    assert again is not None
    seven = again.get(7)
    assert seven is not None
    assert list(seven.seen) == [Seen(3, 0, 1, 10, 12, -1), Seen(3, 2, 3, 20, 22, -1)]
    assert again.get(8) is None


def test_the_bytes_are_kafkas() -> None:
    producers = Producers()
    batch = batch_of("x", "y", producer_id=7, producer_epoch=3, base_sequence=4)
    producers.note(batch, base=30, heard_ms=256, settled=30)
    assert snapshot.encoded(producers, below=32)[6:] == bytes.fromhex(
        "00000001 0000000000000007 0003 00000005 000000000000001f 00000001 0000000000000100 ffffffff ffffffffffffffff"
    )


@pytest.mark.parametrize("cut", [0, 5, 12, 30])
def test_a_torn_one_is_not_believed(cut: int) -> None:
    assert snapshot.decoded(snapshot.encoded(_producers(), below=100)[:cut]) is None


def test_a_changed_one_is_not_believed() -> None:
    data = bytearray(snapshot.encoded(_producers(), below=100))
    data[20] ^= 1
    assert snapshot.decoded(data) is None


def test_none_is_there() -> None:
    disk = SimulatedDisk(Random(0))
    disk.make_dir("orders-0")
    assert snapshot.load(disk, "orders-0", 0) is None


def test_an_open_transaction_and_an_epoch_that_a_marker_raised_come_back() -> None:
    producers = _producers()
    producers.note(in_transaction("t", producer_id=7, sequence=6, epoch=3), base=50, heard_ms=600, settled=50)
    producers.note(committing(8, epoch=4), base=51, heard_ms=901, settled=51)
    again = snapshot.decoded(snapshot.encoded(producers, below=100))
    assert again is not None
    assert list(again.transactions.open_at(100)) == [(7, 50)]
    eight = again.get(8)
    assert eight is not None
    assert eight.epoch == 4
    assert again.check([batch_of("n", producer_id=8, producer_epoch=4, base_sequence=0)]) == [None]


def test_a_transaction_that_began_behind_the_offset_is_left_out() -> None:
    producers = _producers()
    producers.note(in_transaction("t", producer_id=7, sequence=6, epoch=3), base=50, heard_ms=600, settled=50)
    again = snapshot.decoded(snapshot.encoded(producers, below=50))
    assert again is not None
    assert list(again.transactions.open_at(100)) == []

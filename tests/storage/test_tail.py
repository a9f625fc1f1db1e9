"""A tail keeps order and sizes, and is dropped from its beginning."""

import pytest

from onelog.records.batch import Batch
from onelog.storage.tail import FramePlace, Tail
from tests.support.small_logs import KEY, batch_of, values_of

SIZE = batch_of("10").size


def _batch(number: int) -> Batch:
    return batch_of(str(number)).renumbered(base_offset=number, leader_epoch=0)


@pytest.fixture
def tail() -> Tail:
    """Offsets 10 to 19, a record each."""
    tail = Tail()
    for number in range(10, 20):
        tail.add(_batch(number), now_ms=1000 + number)
    return tail


def test_it_is_read_from_any_offset_within_bounds(tail: Tail) -> None:
    def read(
        offset: int, *, bytes_max: int = 1 << 20, offset_max: int = 20, at_least_one: bool = True
    ) -> str:
        found = tail.read(offset, bytes_max=bytes_max, offset_max=offset_max, at_least_one=at_least_one)
        return " ".join(values_of(found))

    assert read(17) == "17 18 19"
    assert read(17, offset_max=18) == "17"
    assert read(12, bytes_max=2 * SIZE) == "12 13"
    assert read(12, bytes_max=1) == "12"
    assert read(12, bytes_max=1, at_least_one=False) == ""
    assert read(20) == ""


def test_what_is_settled_goes_from_its_beginning(tail: Tail) -> None:
    tail.note_frame(FramePlace(13, 256, 1))
    tail.note_frame(FramePlace(16, 512, 2))
    assert tail.first_frame == FramePlace(13, 256, 1)
    assert tail.count_below(15) == 5
    tail.drop(5, settled=15)
    assert (len(tail), tail.size) == (5, 5 * SIZE)
    assert tail.at(0)[0].base_offset == 15
    assert tail.at(0)[1] == 1015
    assert tail.first_frame == FramePlace(16, 512, 2)
    tail.drop(5, settled=20)
    assert (len(tail), tail.size) == (0, 0)
    assert tail.count_below(100) == 0


def test_what_frames_have_of_it_can_be_kept(tail: Tail) -> None:
    kept = tail.entries(KEY, written=13)
    assert [(e.key, e.base, e.next, e.size) for e in kept] == [(KEY, n, n + 1, SIZE) for n in (10, 11, 12)]

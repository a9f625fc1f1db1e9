"""The order of a log's marks."""

import pytest

from onelog.storage.marks import Marks


def test_marks_in_their_order_are_themselves() -> None:
    marks = Marks(start=0, settled=1, stable=2, durable=2, written=3, appended=4)
    assert marks.check() is marks


@pytest.mark.parametrize(
    "marks",
    [
        Marks(start=4, settled=1, stable=2, durable=2, written=3, appended=4),
        Marks(start=0, settled=3, stable=2, durable=2, written=3, appended=4),
        Marks(start=0, settled=1, stable=4, durable=2, written=3, appended=4),
    ],
    ids=["start", "settled", "stable"],
)
def test_one_that_is_ahead_of_the_next_is_our_fault(marks: Marks) -> None:
    with pytest.raises(AssertionError):
        marks.check()

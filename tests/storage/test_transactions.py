"""Which transactions of a log are open, and which were undone."""

import pytest

from onelog.records.batch import Batch
from onelog.storage import transactions
from onelog.storage.transactions import Transactions, Undone, within
from tests.support.small_logs import aborting, batch_of, committing, in_transaction


def _noted(*batches: Batch, settled: int = 0) -> Transactions:
    found, offset = Transactions(), 0
    for batch in batches:
        found.note(batch, base=offset, settled=settled)
        offset = offset + batch.last_offset_delta + 1
    return found


def test_the_stable_part_ends_where_the_first_open_transaction_begins() -> None:
    found = _noted(batch_of("a"), in_transaction("b"), batch_of("c"), in_transaction("d", producer_id=8))
    assert found.stable(4) == 1
    assert found.stable(1) == 1
    assert found.is_open(7)


def test_a_marker_that_is_not_visible_has_ended_nothing() -> None:
    found = _noted(in_transaction("a", "b"), committing())
    assert [found.stable(visible) for visible in (2, 3)] == [0, 3]
    assert not found.is_open(7)


def test_what_was_open_at_an_offset_is_known_until_the_marker_is_settled() -> None:
    batches = [in_transaction("a"), committing(), in_transaction("b", sequence=1), committing()]
    assert list(_noted(*batches).open_at(1)) == [(7, 0)]
    assert list(_noted(*batches).open_at(2)) == []
    assert list(_noted(*batches).open_at(3)) == [(7, 2)]
    assert list(_noted(*batches, settled=4).open_at(1)) == []


def test_an_abort_is_remembered_with_its_range_and_the_stable_end_behind_it() -> None:
    found = _noted(in_transaction("a"), in_transaction("b", producer_id=8), aborting(8), aborting(7))
    assert found.undone == [Undone(8, 1, 2, 0), Undone(7, 0, 3, 4)]
    assert within(found.undone, 0, 1) == [Undone(7, 0, 3, 4)]
    assert within(found.undone, 3, 9) == [Undone(7, 0, 3, 4)]
    found.forget_below(3)
    assert found.undone == [Undone(7, 0, 3, 4)]


def test_a_marker_without_a_transaction_undoes_nothing() -> None:
    assert _noted(aborting()).undone == []


def test_the_bytes_are_kafkas() -> None:
    assert transactions.encoded([Undone(7, 1, 3, 2)]) == bytes.fromhex(
        "0000 0000000000000007 0000000000000001 0000000000000003 0000000000000002"
    )


def test_a_file_comes_back_as_it_was() -> None:
    undone = [Undone(8, 1, 2, 0), Undone(7, 0, 3, 4)]
    assert transactions.decoded(transactions.encoded(undone), base_offset=2, offset_end=4) == undone


@pytest.mark.parametrize(
    "undone",
    [
        [Undone(7, 0, 1, 1)],
        [Undone(7, 0, 9, 9)],
        [Undone(7, 4, 3, 3)],
        [Undone(7, 0, 3, 3), Undone(8, 0, 3, 3)],
    ],
    ids=["a marker before the segment", "behind it", "ends before it begins", "two at one place"],
)
def test_what_cannot_be_a_segments_own_is_not_believed(undone: list[Undone]) -> None:
    assert transactions.decoded(transactions.encoded(undone), base_offset=2, offset_end=5) is None


def test_a_torn_file_or_another_form_is_not_believed() -> None:
    data = transactions.encoded([Undone(7, 0, 3, 3)])
    assert transactions.decoded(data[:-1], base_offset=0, offset_end=5) is None
    assert transactions.decoded(b"\x00\x01" + data[2:], base_offset=0, offset_end=5) is None

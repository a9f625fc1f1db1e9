import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.spark.offsets import Offsets, Place
from onelog.spark.options import Spot
from onelog.spark.planning import (
    PlanningError,
    Range,
    ends,
    limited,
    losses,
    ranges,
    refusal,
    resolved,
    survived,
)

A, B = Place("t", 0), Place("t", 1)
WAITING = st.dictionaries(
    st.builds(Place, st.just("t"), st.integers(0, 9)), st.tuples(st.integers(0, 1000), st.integers(0, 1000))
)


def test_a_spot_is_an_end_of_every_partition() -> None:
    earliest, latest = {A: 1, B: 2}, {A: 10, B: 20}
    assert resolved(Spot.EARLIEST, earliest=earliest, latest=latest, what="x") == earliest
    assert resolved(Spot.LATEST, earliest=earliest, latest=latest, what="x") == latest


def test_named_offsets_may_name_the_ends() -> None:
    found = resolved({A: -2, B: -1}, earliest={A: 1, B: 2}, latest={A: 10, B: 20}, what="x")
    assert found == {A: 1, B: 20}


def test_named_offsets_have_to_name_every_partition_and_no_other() -> None:
    with pytest.raises(PlanningError) as found:
        resolved({A: 1, Place("u", 3): 1}, earliest={A: 0, B: 0}, latest={A: 9, B: 9}, what="startingOffsets")
    assert "missing t/1" in str(found.value)
    assert "unknown u/3" in str(found.value)


@given(WAITING, st.integers(1, 500))
def test_a_limit_gives_each_partition_its_share(waiting: dict[Place, tuple[int, int]], rows_max: int) -> None:
    start: Offsets = {p: at for p, (at, _) in waiting.items()}
    latest: Offsets = {p: at + rows for p, (at, rows) in waiting.items()}
    ends = limited(start, latest, rows_max)
    taken = {p: ends[p] - start[p] for p in start}
    assert all(0 <= taken[p] <= waiting[p][1] for p in start)
    assert sum(taken.values()) <= rows_max + len(waiting)
    assert all(taken[p] > 0 for p in start if waiting[p][1])


def test_without_pressure_a_limit_does_nothing() -> None:
    assert limited({A: 5}, {A: 10, B: 3}, 100) == {A: 10, B: 3}


def test_equal_offsets_give_no_work() -> None:
    assert ranges({A: 5}, {A: 5}) == []


def test_a_new_partition_is_read_from_its_first_record() -> None:
    assert ranges({A: 5}, {A: 7, B: 3}) == [Range(A, 5, 7), Range(B, 0, 3)]


def test_what_aged_out_is_a_loss_and_can_be_borne() -> None:
    found = losses({A: 5}, earliest={A: 8}, latest={A: 10})
    assert [loss.place for loss in found] == [A]
    assert "begins at 8" in refusal(found)
    assert survived({A: 5}, earliest={A: 8}, latest={A: 10}) == {A: 8}


def test_an_end_before_the_start_is_a_loss_since_the_topic_was_made_anew() -> None:
    found = losses({A: 50}, earliest={A: 0}, latest={A: 10})
    assert "ends at 10" in str(found[0])
    assert survived({A: 50}, earliest={A: 0}, latest={A: 10}) == {A: 10}


def test_a_vanished_partition_is_a_loss() -> None:
    found = losses({A: 1, B: 1}, earliest={A: 0}, latest={A: 5})
    assert [loss.place for loss in found] == [B]
    assert survived({A: 1, B: 1}, earliest={A: 0}, latest={A: 5}) == {A: 1}


def test_what_is_there_is_no_loss() -> None:
    assert losses({A: 5}, earliest={A: 5}, latest={A: 5}) == []


def test_a_batch_ends_where_the_log_does_or_at_its_limit() -> None:
    assert ends({A: 5}, {A: 10, B: 3}, None) == {A: 10, B: 3}
    assert ends({A: 5}, {A: 10}, 2) == {A: 7}


def test_a_vanished_partition_stays_where_it_was() -> None:
    assert ends({A: 5, B: 4}, {A: 6}, None) == {A: 6, B: 4}


def test_a_log_made_anew_is_read_from_its_first_record_in_the_next_batch() -> None:
    assert ends({A: 50}, {A: 10}, None) == {A: 0}
    assert ranges({A: 50}, {A: 0}) == []
    assert ends({A: 0}, {A: 10}, None) == {A: 10}

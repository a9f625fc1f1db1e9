"""What may be remembered of a group: anything from 0 to 2^64 - 1, with a note that is not too long."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.broker.positions.state import (
    Committed,
    Deleted,
    Kept,
    PositionsState,
    TopicForgotten,
    apply,
    decide,
)
from onelog.broker.values import Position
from onelog.errors import InvalidRequest, NoteTooLarge
from onelog.model import POSITION_MAX

ORDERS, OTHERS = UUID(int=1), UUID(int=2)


@given(st.integers(0, POSITION_MAX), st.integers(-1, 2**31 - 1))
def test_a_position_is_kept_as_given(offset: int, epoch: int) -> None:
    state = PositionsState()
    position = Position(offset, epoch, "note")
    apply(state, decide("billing", ORDERS, 0, position, note_bytes_max=4, now_ms=9))
    assert state.by_group == {"billing": {(ORDERS, 0): Kept(position, 9)}}


@pytest.mark.parametrize(("keep_ms", "expires_ms"), [(None, None), (0, 9), (5, 14), (2**63 - 1, 2**63 - 1)])
def test_a_position_is_kept_as_long_as_its_commit_says_but_no_longer_than_a_row_can(
    keep_ms: int | None, expires_ms: int | None
) -> None:
    made = decide("billing", ORDERS, 0, Position(1), note_bytes_max=4, now_ms=9, keep_ms=keep_ms)
    assert made.kept.expires_ms == expires_ms


@pytest.mark.parametrize("offset", [-1, POSITION_MAX + 1])
def test_what_is_no_position_is_refused(offset: int) -> None:
    with pytest.raises(InvalidRequest, match="billing"):
        decide("billing", ORDERS, 0, Position(offset), note_bytes_max=10, now_ms=9)


def test_what_no_file_can_hold_as_text_is_refused() -> None:
    for group, note in (("\ud800", ""), ("billing", "\udfff")):
        with pytest.raises(InvalidRequest, match="UTF-8"):
            decide(group, ORDERS, 0, Position(1, note=note), note_bytes_max=10, now_ms=9)


def test_a_note_is_measured_in_bytes() -> None:
    decide("billing", ORDERS, 0, Position(1, note="é" * 2), note_bytes_max=4, now_ms=9)
    with pytest.raises(NoteTooLarge) as refusal:
        decide("billing", ORDERS, 0, Position(1, note="é" * 2 + "e"), note_bytes_max=4, now_ms=9)
    assert (refusal.value.size, refusal.value.size_max) == (5, 4)


def test_a_later_commit_takes_the_place_of_an_earlier_one_even_backwards() -> None:
    state = PositionsState()
    for offset in (5, 3):
        apply(state, Committed("billing", ORDERS, 0, Kept(Position(offset), 9)))
    assert state.by_group["billing"] == {(ORDERS, 0): Kept(Position(3), 9)}


def test_a_forgotten_topic_takes_its_positions_and_empty_groups_along() -> None:
    state = PositionsState()
    apply(state, Committed("billing", ORDERS, 0, Kept(Position(5), 9)))
    apply(state, Committed("audit", ORDERS, 1, Kept(Position(5), 9)))
    apply(state, Committed("audit", OTHERS, 0, Kept(Position(6), 9)))
    apply(state, TopicForgotten(ORDERS))
    assert state.by_group == {"audit": {(OTHERS, 0): Kept(Position(6), 9)}}


def test_a_deleted_position_takes_an_empty_group_along() -> None:
    state = PositionsState()
    for partition in (0, 1):
        apply(state, Committed("billing", ORDERS, partition, Kept(Position(5), 9)))
    apply(state, Deleted("billing", ORDERS, 0))
    assert state.by_group == {"billing": {(ORDERS, 1): Kept(Position(5), 9)}}
    apply(state, Deleted("billing", ORDERS, 1))
    assert state.by_group == {}


def test_a_commit_may_say_how_long_it_is_kept() -> None:
    change = decide("billing", ORDERS, 0, Position(1), note_bytes_max=4, now_ms=9, keep_ms=100)
    assert change.kept == Kept(Position(1), committed_ms=9, expires_ms=109)

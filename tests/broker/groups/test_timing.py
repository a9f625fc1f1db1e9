"""What time does to a group, at its moment and not before."""

import pytest

from onelog.broker.groups.words import Phase, TimePassed
from onelog.errors import StaleGeneration, UnknownMember
from tests.support.group_room import DELAY_MS, GROUP, REBALANCE_MS, SESSION_MS, Room


def stable(*joining: dict[str, object]) -> Room:
    room = Room()
    room.gather(*(joining or ({}, {})))
    room.settle()
    return room


def test_a_member_is_out_when_its_session_ends_and_not_before() -> None:
    room = stable()
    leader, follower = room.names
    room.advance(SESSION_MS // 2)
    room.heartbeat(leader)
    room.advance(SESSION_MS // 2 - 1)
    assert room.names == [leader, follower]
    room.advance(1)
    assert room.names == [leader]
    assert room.phase is Phase.PREPARING


def test_an_instance_is_out_when_its_session_ends() -> None:
    room = stable({"instance": "static"})
    room.advance(SESSION_MS)
    assert room.phase is Phase.EMPTY
    assert room.group.instances == {}


def test_members_whose_sessions_end_at_once_cost_one_generation() -> None:
    room = stable({}, {}, {})
    room.advance(SESSION_MS)
    assert (room.phase, room.group.generation) == (Phase.EMPTY, 2)


def test_looking_too_early_changes_nothing() -> None:
    room = stable()
    before = room.group
    room.do(TimePassed(GROUP))
    assert room.group is before


def test_who_never_asks_for_its_assignment_is_out_after_the_time_of_a_rebalance() -> None:
    room = Room()
    leader, silent = room.gather({"session_timeout_ms": 200_000}, {"session_timeout_ms": 200_000})
    room.sync(leader, {silent: b"x"})
    assert room.phase is Phase.STABLE
    room.advance(REBALANCE_MS - 1)
    assert room.names == [leader, silent]
    room.advance(1)
    assert (room.phase, room.names) == (Phase.PREPARING, [leader])


def test_a_leader_that_never_assigns_is_out_and_the_others_join_again() -> None:
    room = Room()
    leader, follower = room.gather({"session_timeout_ms": 200_000}, {"session_timeout_ms": 200_000})
    room.sync(follower)
    room.advance(REBALANCE_MS)
    assert room.names == [follower]
    again = room.join(follower)
    assert room.outcome(again).leader == follower
    assert leader not in room.names


def test_nobody_is_out_when_all_have_asked() -> None:
    room = stable({"session_timeout_ms": 200_000}, {"session_timeout_ms": 200_000})
    room.advance(REBALANCE_MS)
    assert room.phase is Phase.STABLE


# ---- a start of the broker


def test_a_generation_that_stood_goes_on_after_a_start() -> None:
    room = stable({}, {"instance": "static"})
    names = room.names
    room.restart()
    assert (room.phase, room.group.generation, room.names) == (Phase.STABLE, 1, names)
    for name in names:
        assert room.heartbeat(name) is None
        assert room.outcome(room.sync(name)).assignment == name.encode()
    assert room.outcome(room.join(instance="static")).generation == 1


def test_after_a_start_every_member_has_a_whole_session() -> None:
    room = stable()
    room.advance(SESSION_MS - 1)
    room.restart()
    room.advance(SESSION_MS - 1)
    assert len(room.names) == 2
    room.advance(1)
    assert room.names == []


def test_a_generation_that_was_not_assigned_is_begun_anew_and_never_given_again() -> None:
    room = Room()
    leader, follower = room.gather({}, {})
    room.restart()
    assert (room.phase, room.group.generation) == (Phase.PREPARING, 1)
    joins = [room.join(name) for name in (leader, follower)]
    assert [room.outcome(ask).generation for ask in joins] == [2, 2]


def test_members_of_a_generation_that_was_under_way_may_still_commit_after_a_start() -> None:
    room = stable()
    leader, follower = room.names
    room.join(leader)
    room.restart()
    room.commit(room.by(follower))
    with pytest.raises(StaleGeneration):
        room.commit(room.by(follower, 0))


def test_who_had_not_heard_of_a_generation_yet_is_forgotten_by_a_start() -> None:
    room = stable()
    leader, follower = room.names
    room.join(fresh_id="new")
    room.join(leader)
    room.restart()
    assert room.names == [leader, follower]
    with pytest.raises(UnknownMember):
        room.told(room.joining("new"))


def test_after_a_start_nobody_is_waited_for_longer_than_a_session() -> None:
    room = stable()
    leader, follower = room.names
    room.join(leader)
    room.restart()
    ask = room.join(leader)
    room.advance(SESSION_MS)
    assert room.outcome(ask).generation == 2
    assert follower not in room.names


def test_an_empty_group_keeps_its_generation_over_a_start() -> None:
    room = stable()
    room.leave(*room.names)
    room.restart()
    assert (room.phase, room.group.generation) == (Phase.EMPTY, 2)
    ask = room.join()
    room.advance(DELAY_MS)
    assert room.outcome(ask).generation == 3

"""From one generation to the next: who is waited for, who leads, and who is a member no more."""

import pytest

from onelog.broker.groups.rebalance import LOOK_AGAIN_MS_MIN
from onelog.broker.groups.words import Phase, TimePassed
from onelog.errors import RebalanceInProgress, UnknownMember
from tests.support.group_room import DELAY_MS, GROUP, REBALANCE_MS, SESSION_MS, Room


def stable(*joining: dict[str, object]) -> Room:
    room = Room()
    room.gather(*(joining or ({}, {})))
    room.settle()
    return room


def test_the_first_members_of_a_group_are_gathered_for_a_moment() -> None:
    room = Room()
    ask = room.join()
    room.advance(DELAY_MS - 1)
    assert room.waits(ask)
    room.advance(1)
    assert room.outcome(ask).generation == 1


def test_each_who_comes_in_that_moment_prolongs_it() -> None:
    room = Room()
    first = room.join()
    room.advance(DELAY_MS - 1)
    second = room.join()
    room.advance(1)
    assert room.waits(first)
    room.advance(DELAY_MS)
    assert room.outcome(first).generation == room.outcome(second).generation == 1


def test_gathering_ends_with_the_time_that_a_rebalance_may_take() -> None:
    room = Room()
    most_ms = 2 * DELAY_MS + 500
    first = room.join(rebalance_timeout_ms=most_ms)
    for passed_ms in (DELAY_MS, DELAY_MS, 499):
        room.join(rebalance_timeout_ms=most_ms)
        room.advance(passed_ms)
        assert room.waits(first)
    room.advance(1)
    assert room.outcome(first).generation == 1


def test_without_a_delay_a_member_begins_at_once() -> None:
    room = Room(initial_rebalance_delay_ms=0)
    ask = room.join()
    room.advance(0)
    assert room.outcome(ask).generation == 1


def test_a_generation_begins_when_all_have_joined() -> None:
    room = stable()
    leader, follower = room.names
    third = room.join()
    joins = [room.join(leader), third]
    assert room.waits(third)
    joins.append(room.join(follower))
    assert {room.outcome(ask).generation for ask in joins} == {2}


def test_a_name_that_was_told_is_waited_for() -> None:
    room = stable()
    leader, follower = room.names
    room.join(needs_known_id=True, fresh_id="new")
    room.join(leader)
    last = room.join(follower)
    assert room.waits(last)
    room.advance(SESSION_MS)
    assert room.outcome(last).generation == 2


def test_who_does_not_come_in_the_longest_time_that_a_member_gives_is_out() -> None:
    room = stable({}, {"session_timeout_ms": 900_000, "rebalance_timeout_ms": 2 * REBALANCE_MS})
    leader, follower = room.names
    ask = room.join(leader)
    room.advance(2 * REBALANCE_MS - 1)
    assert room.waits(ask)
    room.advance(1)
    assert room.outcome(ask).generation == 2
    assert room.names == [leader]
    with pytest.raises(UnknownMember):
        room.heartbeat(follower)


def test_an_instance_that_does_not_come_keeps_its_place() -> None:
    room = stable({}, {"instance": "static", "session_timeout_ms": 900_000})
    leader, static = room.names
    ask = room.join(leader)
    room.advance(REBALANCE_MS)
    assert [member.member for member in room.outcome(ask).members] == [leader, static]


def test_where_only_instances_are_left_and_none_is_back_they_have_until_their_sessions_end() -> None:
    room = stable({}, {"instance": "static", "session_timeout_ms": 100_000})
    leader, static = room.names
    room.leave(leader)
    room.advance(REBALANCE_MS)
    assert (room.phase, room.names) == (Phase.PREPARING, [static])
    room.advance(100_000 - REBALANCE_MS)
    assert (room.phase, room.names) == (Phase.EMPTY, [])


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_an_instance_whose_rebalance_takes_no_time_is_not_looked_for_without_end(timeout_ms: int) -> None:
    room = Room()
    room.gather({"instance": "static"})
    room.settle()
    long_ms = 2 * REBALANCE_MS
    room.told(room.joining(instance="static", rebalance_timeout_ms=timeout_ms, session_timeout_ms=long_ms))
    room.join()
    room.leave(room.names[-1])
    room.now_ms += REBALANCE_MS
    room.do(TimePassed(GROUP))
    assert (room.phase, len(room.names)) == (Phase.PREPARING, 1)
    due_ms = room.group.join_deadline_ms
    assert due_ms is not None
    assert due_ms >= room.now_ms + LOOK_AGAIN_MS_MIN


def test_the_leader_stays_if_it_is_back_and_else_the_first_who_is() -> None:
    room = stable({}, {}, {})
    first, second, third = room.names
    for name in (first, third, second):
        last = room.join(name)
    assert room.outcome(last).leader == first
    room.settle()
    room.leave(first)
    assert room.group.leader == second
    room.join(third)
    last = room.join(second)
    assert room.outcome(last).leader == second


def test_a_leader_that_does_not_come_back_leads_no_more() -> None:
    room = stable({"instance": "static", "session_timeout_ms": 900_000}, {})
    leader, follower = room.names
    new = room.join()
    back = room.join(follower)
    room.advance(REBALANCE_MS)
    assert room.outcome(new).leader == room.outcome(back).leader == follower
    assert leader in room.names


def test_who_waits_for_an_assignment_is_sent_back_when_a_rebalance_begins() -> None:
    room = Room()
    leader, follower = room.gather({}, {})
    waiting = room.sync(follower)
    room.join()
    with pytest.raises(RebalanceInProgress):
        room.outcome(waiting)
    assert room.group.sessions[follower] == room.now_ms + SESSION_MS
    assert room.phase is Phase.PREPARING
    assert leader in room.names


def test_a_group_that_all_leave_is_empty_in_a_generation_of_its_own() -> None:
    room = stable()
    room.leave(*room.names)
    assert (room.phase, room.group.generation, room.group.protocol, room.group.leader) == (
        Phase.EMPTY,
        2,
        None,
        None,
    )
    assert room.group.protocol_type == "consumer"
    ask = room.join()
    room.advance(DELAY_MS)
    assert room.outcome(ask).generation == 3


def test_an_empty_group_may_come_to_follow_another_type_of_protocol() -> None:
    room = stable()
    room.leave(*room.names)
    ask = room.join(protocol_type="connect")
    room.advance(DELAY_MS)
    assert room.outcome(ask).protocol_type == "connect"


def test_a_group_that_is_left_while_it_gathers_takes_in_who_comes() -> None:
    room = Room()
    ask = room.join(fresh_id="a")
    room.leave("a")
    with pytest.raises(UnknownMember):
        room.outcome(ask)
    again = room.join()
    room.advance(2 * DELAY_MS)
    assert room.outcome(again).generation == 1

"""SyncGroup, Heartbeat, LeaveGroup, and who may commit."""

import pytest

from onelog.broker.groups.words import CommitAs, LeaveGroup, Leaving, Membership, Phase, SyncGroup
from onelog.errors import (
    FencedInstance,
    GroupNotEmpty,
    InvalidRequest,
    RebalanceInProgress,
    UnknownGroup,
    UnknownMember,
)
from tests.support.group_room import GROUP, SESSION_MS, Room, protocols


def completing(*joining: dict[str, object]) -> Room:
    room = Room()
    room.gather(*(joining or ({}, {})))
    return room


def stable(*joining: dict[str, object]) -> Room:
    room = completing(*joining)
    room.settle()
    return room


def test_all_hear_what_they_have_when_the_leader_has_said_it() -> None:
    room = completing({}, {}, {})
    leader, second, third = room.names
    early = room.sync(second)
    assert room.waits(early)
    spoken = room.sync(leader, {leader: b"1", second: b"2", third: b"3"})
    late = room.sync(third)
    for ask, assignment in ((spoken, b"1"), (early, b"2"), (late, b"3")):
        assert tuple(room.outcome(ask)) == (assignment, "consumer", "range")


def test_who_is_not_named_by_the_leader_has_nothing_and_hears_that() -> None:
    room = completing()
    leader, follower = room.names
    room.sync(leader, {leader: b"all", "stranger": b"lost"})
    assert room.outcome(room.sync(follower)).assignment == b""
    assert room.phase is Phase.STABLE


def test_what_others_than_the_leader_assign_counts_for_nothing() -> None:
    room = completing()
    leader, follower = room.names
    ask = room.sync(follower, {follower: b"all"})
    room.sync(leader, {leader: b"all"})
    assert room.outcome(ask).assignment == b""


def test_an_assignment_may_be_as_large_as_is_allowed() -> None:
    room = completing()
    leader, follower = room.names
    with pytest.raises(InvalidRequest, match="1001 bytes"):
        room.outcome(room.sync(leader, {follower: bytes(1001)}))
    assert room.phase is Phase.COMPLETING
    room.outcome(room.sync(leader, {follower: bytes(1000)}))


def test_who_syncs_twice_gets_one_answer() -> None:
    room = completing()
    leader, follower = room.names
    first, second = room.sync(follower), room.sync(follower)
    with pytest.raises(RebalanceInProgress):
        room.outcome(first)
    room.sync(leader, {follower: b"x"})
    assert room.outcome(second).assignment == b"x"


def test_nothing_is_expected_of_who_waits_for_the_leader() -> None:
    room = completing({}, {})
    leader, follower = room.names
    ask = room.sync(follower)
    for _ in range(4):
        room.heartbeat(leader)
        room.advance(SESSION_MS - 1)
    assert room.waits(ask)
    assert follower in room.names
    room.sync(leader, {follower: b"x"})
    room.advance(SESSION_MS - 1)
    assert follower in room.names
    room.advance(1)
    assert room.names == []


@pytest.mark.parametrize("sign", ["heartbeat", "commit", "sync"])
def test_signs_of_life_prolong_a_session(sign: str) -> None:
    room = stable()
    leader, follower = room.names
    for _ in range(5):
        room.advance(SESSION_MS - 1)
        room.heartbeat(leader)
        if sign == "heartbeat":
            room.heartbeat(follower)
        elif sign == "commit":
            room.commit(room.by(follower))
        else:
            room.sync(follower)
    assert follower in room.names


def test_a_heartbeat_in_a_rebalance_prolongs_the_session_of_who_has_not_come_yet() -> None:
    room = stable({}, {})
    leader, follower = room.names
    room.join(leader)
    for _ in range(3):
        room.advance(SESSION_MS - 1)
        with pytest.raises(RebalanceInProgress):
            room.heartbeat(follower)
    assert follower in room.names


# ---- LeaveGroup


def test_those_who_leave_together_cost_one_rebalance_and_have_their_own_outcomes() -> None:
    room = stable({}, {}, {"instance": "static"}, {"instance": "other"})
    _, second, third, fourth = room.names
    outcomes = room.leave(
        second, "nobody", Leaving("", "static"), Leaving(fourth, "static"), Leaving("", "none")
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [type(None), UnknownMember, type(None), UnknownMember, UnknownMember]
    assert room.names == ["m1", fourth]
    assert (room.phase, room.group.generation) == (Phase.PREPARING, 1)
    assert third not in room.group.sessions


def test_an_instance_that_is_another_member_now_cannot_leave_as_what_it_was() -> None:
    room = stable({}, {"instance": "static"})
    (outcome,) = room.leave(Leaving(room.names[0], "static"))
    assert isinstance(outcome, FencedInstance)
    assert len(room.names) == 2


def test_a_name_that_was_told_and_goes_disturbs_nobody() -> None:
    room = stable()
    room.join(needs_known_id=True, fresh_id="new")
    assert room.leave("new") == [None]
    assert (room.phase, room.group.pending) == (Phase.STABLE, {})


def test_the_last_missing_member_that_leaves_lets_the_generation_begin() -> None:
    room = stable()
    leader, follower = room.names
    ask = room.join(leader)
    room.leave(follower)
    assert room.outcome(ask).generation == 2


def test_nobody_leaves_a_group_that_is_not_there() -> None:
    room = Room()
    (outcome,) = room.told(LeaveGroup(GROUP, [Leaving("m")]))
    assert isinstance(outcome, UnknownMember)
    assert room.phase is None


# ---- who may commit


def test_a_group_that_is_not_there_is_unknown_to_who_names_a_generation_and_empty_to_others() -> None:
    room = Room()
    with pytest.raises(UnknownGroup):
        room.commit(Membership("m", 0), is_known=False)
    room.commit(Membership("m", -1), is_known=False)
    room.commit(is_known=False)
    assert room.phase is None


def test_a_group_with_positions_and_no_members_knows_no_generation() -> None:
    room = Room()
    with pytest.raises(UnknownMember):
        room.commit(Membership("m", 0))
    room.commit(is_known=True)


def test_only_members_commit_while_there_are_any() -> None:
    room = stable()
    with pytest.raises(GroupNotEmpty):
        room.commit()
    room.leave(*room.names)
    room.commit()


def test_an_instance_alone_is_no_member() -> None:
    room = stable({"instance": "static"}, {})
    with pytest.raises(FencedInstance):
        room.commit(Membership("", -1, "static"))


def test_members_of_a_generation_commit_until_the_next_one_begins() -> None:
    room = stable()
    leader, follower = room.names
    by = room.by(follower)
    room.join(leader)
    room.told(CommitAs(GROUP, by, is_known=True))
    room.join(follower)
    with pytest.raises(RebalanceInProgress):
        room.commit(room.by(follower))


def test_a_protocol_that_is_not_said_is_not_checked() -> None:
    room = stable({"protocols": protocols("range")}, {})
    assert room.told(SyncGroup(GROUP, room.by(room.names[0]))).protocol == "range"

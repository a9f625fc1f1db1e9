"""JoinGroup: names are told first, instances come back to their place, and a group may be full."""

from typing import Any

import pytest

from onelog.broker.groups.group import NAME_BYTES_MAX, NEW_MEMBER_TIMEOUT_MS
from onelog.broker.groups.words import Phase
from onelog.errors import (
    FencedInstance,
    GroupFull,
    InvalidRequest,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMember,
)
from tests.support.group_room import DELAY_MS, SESSION_MS, Room, protocols

BOTH = protocols("range", "sticky")


def stable(*joining: dict[str, object], **limits: int) -> Room:
    room = Room(**limits)
    room.gather(*(joining or ({}, {})))
    room.settle()
    return room


def named(room: Room, **options: Any) -> str:
    """The name that a new member is told."""
    with pytest.raises(MemberIdRequired) as refusal:
        room.told(room.joining(needs_known_id=True, **options))
    return refusal.value.member


def test_a_name_that_is_not_claimed_in_a_session_is_forgotten() -> None:
    room = stable()
    in_time, late = named(room), named(room, session_timeout_ms=SESSION_MS + 1)
    assert set(room.group.pending) == {in_time, late}
    for name in room.names:
        room.heartbeat(name)
    room.advance(SESSION_MS // 2)
    for name in room.names:
        room.heartbeat(name)
    room.advance(SESSION_MS // 2)
    assert set(room.group.pending) == {late}
    assert room.phase is Phase.STABLE
    with pytest.raises(UnknownMember):
        room.told(room.joining(in_time))
    room.join(late)
    assert late in room.names
    assert room.group.pending == {}


def test_a_member_is_told_its_name_and_generation_and_the_leader_who_is_there() -> None:
    room = Room()
    asks = [room.join(protocols=BOTH), room.join(protocols=BOTH, instance="static")]
    room.advance(DELAY_MS * 2)
    leader, other = (room.outcome(ask) for ask in asks)
    assert [(j.member, j.generation, j.leader) for j in (leader, other)] == [("m1", 1, "m1"), ("m2", 1, "m1")]
    assert (leader.protocol_type, leader.protocol) == ("consumer", "range")
    assert [tuple(member) for member in leader.members] == [
        ("m1", None, b"range"),
        ("m2", "static", b"range"),
    ]
    assert other.members == ()


def test_a_session_may_be_as_short_and_as_long_as_is_allowed() -> None:
    room = Room(session_timeout_min_ms=1000, session_timeout_max_ms=2000)
    for allowed in (1000, 2000):
        assert room.waits(room.join(session_timeout_ms=allowed))
    for refused in (999, 2001, -1):
        with pytest.raises(InvalidSessionTimeout):
            room.told(room.joining(session_timeout_ms=refused))


def test_a_member_may_say_as_much_of_itself_as_is_allowed() -> None:
    room = Room(member_bytes_max=10)
    assert room.waits(room.join(protocols=protocols("range", said=bytes(5))))
    with pytest.raises(InvalidRequest, match="11 bytes"):
        room.told(room.joining(protocols=protocols("range", said=bytes(6))))


@pytest.mark.parametrize("what", ["group", "instance", "protocol_type", "protocols"])
def test_names_are_no_longer_than_every_version_can_tell_the_others(what: str) -> None:
    for size, is_granted in ((NAME_BYTES_MAX, True), (NAME_BYTES_MAX + 1, False)):
        room = Room(member_bytes_max=1 << 20)
        name: Any = "é" * (NAME_BYTES_MAX // 2) + "x" * (size - NAME_BYTES_MAX)
        options: dict[str, Any] = {what: protocols(name) if what == "protocols" else name}
        request = room.joining(**options)
        if is_granted:
            assert room.waits(room.ask(request))
            continue
        with pytest.raises(InvalidRequest, match=f"a name of {size} bytes"):
            room.told(request)


# ---- a group may be full


def test_a_full_group_takes_nobody_in_and_keeps_who_is_there() -> None:
    room = stable(members_max=2)
    with pytest.raises(GroupFull):
        room.told(room.joining())
    assert room.phase is Phase.STABLE
    assert room.outcome(room.join(room.names[1])).generation == 1


def test_names_that_were_told_count_as_members() -> None:
    room = stable(members_max=3)
    name = named(room)
    with pytest.raises(GroupFull):
        room.told(room.joining(needs_known_id=True))
    assert room.waits(room.join(name))


def test_while_all_join_anew_those_who_come_first_are_in() -> None:
    room = stable({}, {}, members_max=2)
    leader, follower = room.names
    again = room.join(leader)
    new = room.join()
    with pytest.raises(GroupFull):
        room.told(room.joining(follower))
    assert room.waits(again)
    assert room.waits(new)


# ---- members join again


def test_who_asks_twice_gets_one_answer_the_other_asking_is_to_be_done_over() -> None:
    room = stable()
    leader = room.names[0]
    first = room.join(leader)
    second = room.join(leader)
    with pytest.raises(RebalanceInProgress):
        room.outcome(first)
    assert room.waits(second)


def test_a_follower_that_lost_its_answer_gets_it_again() -> None:
    room = Room()
    _, follower = room.gather({}, {})
    again = room.outcome(room.join(follower))
    assert (again.member, again.generation, again.leader, again.members) == (follower, 1, "m1", ())


def test_a_leader_that_lost_its_answer_gets_it_again_with_the_members() -> None:
    room = Room()
    leader, follower = room.gather({}, {})
    again = room.outcome(room.join(leader))
    assert [member.member for member in again.members] == [leader, follower]


def test_what_a_member_says_anew_holds_from_then_on() -> None:
    room = stable({"protocols": BOTH}, {"protocols": BOTH})
    leader, follower = room.names
    changed = protocols("sticky", "range", said=b"new")
    joins = [
        room.join(
            follower, protocols=changed, session_timeout_ms=7000, rebalance_timeout_ms=8000, client_id="c"
        ),
        room.join(leader, protocols=changed),
    ]
    assert [room.outcome(ask).protocol for ask in joins] == ["sticky", "sticky"]
    member = room.member(follower)
    assert (member.session_timeout_ms, member.rebalance_timeout_ms, member.client_id) == (7000, 8000, "c")
    assert room.outcome(joins[1]).members[1].metadata == b"new"


def test_a_new_member_that_waits_is_dropped_after_five_minutes_and_told() -> None:
    # It cannot say that it is still there: it may never have heard its own name.
    room = stable({}, {})
    leader, follower = room.names
    patient = room.join(leader, rebalance_timeout_ms=10 * NEW_MEMBER_TIMEOUT_MS)
    new = room.join()
    for _ in range(NEW_MEMBER_TIMEOUT_MS // 5000):
        with pytest.raises(RebalanceInProgress):
            room.heartbeat(follower)
        room.advance(5000)
    with pytest.raises(UnknownMember):
        room.outcome(new)
    assert room.waits(patient)
    assert room.names == [leader, follower]


# ---- instances


def test_an_instance_that_starts_anew_keeps_its_place_and_nobody_notices() -> None:
    room = stable({}, {"instance": "static"})
    leader, old = room.names
    joined = room.outcome(room.join(instance="static"))
    assert (joined.generation, joined.leader, joined.skips_assignment, joined.members) == (
        1,
        leader,
        False,
        (),
    )
    assert room.phase is Phase.STABLE
    assert room.names == [leader, joined.member]
    assert room.outcome(room.sync(joined.member)).assignment == old.encode()


def test_a_leading_instance_that_starts_anew_is_told_not_to_assign() -> None:
    room = stable({"instance": "static"}, {})
    joined = room.outcome(room.join(instance="static"))
    assert joined.leader == joined.member
    assert joined.skips_assignment
    assert [member.member for member in joined.members] == [joined.member, "m2"]


def test_a_leading_instance_that_knows_no_skipping_is_told_that_its_old_name_leads() -> None:
    room = stable({"instance": "static"}, {})
    old = room.names[0]
    joined = room.outcome(room.join(instance="static", may_skip_assignment=False))
    assert (joined.leader, joined.skips_assignment, joined.members) == (old, False, ())
    assert room.group.leader == joined.member


def test_the_old_name_of_an_instance_is_fenced() -> None:
    room = stable({}, {"instance": "static"})
    old = room.names[1]
    room.join(instance="static")
    with pytest.raises(FencedInstance):
        room.commit(room.by(old, instance="static"))
    with pytest.raises(FencedInstance):
        room.told(room.joining(old, instance="static"))
    with pytest.raises(UnknownMember):
        room.heartbeat(old)


def test_an_instance_whose_return_changes_the_protocol_begins_a_rebalance() -> None:
    room = stable({"protocols": BOTH}, {"protocols": BOTH, "instance": "static"})
    ask = room.join(instance="static", protocols=protocols("sticky"))
    assert room.waits(ask)
    assert room.phase is Phase.PREPARING
    room.join(room.names[0], protocols=BOTH)
    assert room.outcome(ask).protocol == "sticky"


def test_an_instance_that_starts_anew_fences_itself_where_it_still_waits() -> None:
    room = Room()
    first = room.join(instance="static")
    second = room.join(instance="static")
    with pytest.raises(FencedInstance):
        room.outcome(first)
    room.advance(2 * DELAY_MS)
    assert room.names == [room.outcome(second).member]

    leader = room.outcome(second).member
    other = room.join(instance="other")
    room.join(leader, instance="static")
    assert room.phase is Phase.COMPLETING
    waiting = room.sync(room.outcome(other).member)
    room.join(instance="other")
    with pytest.raises(FencedInstance):
        room.outcome(waiting)


def test_an_instance_that_starts_anew_while_a_generation_completes_joins_the_next_one() -> None:
    room = Room()
    leader, _ = room.gather({}, {"instance": "static"})
    again = room.join(instance="static")
    assert room.waits(again)
    assert room.phase is Phase.PREPARING
    room.join(leader)
    assert room.outcome(again).generation == 2

"""A decision in the making: who speaks, who is gone, and what he who waited hears."""

from dataclasses import replace

import pytest

from onelog.broker.groups.decision import Decision
from onelog.broker.groups.group import Group, Member
from onelog.broker.groups.words import Answer, Membership, Moment, Phase
from onelog.errors import FencedInstance, StaleGeneration, UnknownMember
from tests.support.group_room import LIMITS


def decision() -> Decision:
    made = Decision(Group("g", generation=7), Moment(1000, 5000), LIMITS)
    for name, instance in (("a", None), ("b", "static")):
        member = Member(name, instance, "", "", session_timeout_ms=10, rebalance_timeout_ms=20, protocols=())
        made.put(member)
        made.heard(member)
    made.group.leader = "a"
    return made


def test_a_member_is_known_by_its_name_and_an_instance_by_both() -> None:
    made = decision()
    assert made.known(Membership("a")).id == "a"
    assert made.known(Membership("b", instance="static")).id == "b"
    assert made.known(Membership("b")).id == "b"
    with pytest.raises(UnknownMember):
        made.known(Membership("c"))
    with pytest.raises(UnknownMember):
        made.known(Membership("b", instance="other"))
    with pytest.raises(FencedInstance):
        made.known(Membership("a", instance="static"))


@pytest.mark.parametrize("generation", [6, 8, -1])
def test_a_member_speaks_for_its_generation(generation: int) -> None:
    made = decision()
    assert made.current(Membership("a", 7)).id == "a"
    with pytest.raises(StaleGeneration) as refusal:
        made.current(Membership("a", generation))
    assert (refusal.value.found, refusal.value.expected) == (generation, 7)


def test_who_is_removed_leaves_nothing_and_hears_that_he_is_unknown() -> None:
    made = decision()
    member = replace(made.group.members["b"], join_ask=3, sync_ask=4)
    made.group.unsynced.add("b")
    made.remove(member)
    group = made.group
    assert (list(group.members), group.instances, list(group.sessions), group.unsynced) == (
        ["a"],
        {},
        ["a"],
        set(),
    )
    assert [(ask, type(outcome)) for ask, outcome in made.answers] == [(3, UnknownMember), (4, UnknownMember)]


def test_the_first_who_stays_leads_when_the_leader_is_removed() -> None:
    made = decision()
    made.remove(made.group.members["a"])
    assert made.group.leader == "b"
    made.remove(made.group.members["b"])
    assert made.group.leader is None


def test_a_session_begins_anew_when_a_member_is_heard_of_unless_it_waits() -> None:
    made = decision()
    member = made.group.members["a"]
    made.group.sessions.clear()
    made.heard_meanwhile(replace(member, join_ask=1))
    made.heard_meanwhile(replace(member, sync_ask=1))
    assert made.group.sessions == {}
    made.heard_meanwhile(member)
    assert made.group.sessions == {"a": 1010}


def test_a_phase_begins_by_the_clock_on_the_wall() -> None:
    made = decision()
    made.enter(Phase.STABLE)
    assert (made.group.phase, made.group.since_ms) == (Phase.STABLE, 5000)


def test_who_waited_to_join_is_new_no_more() -> None:
    made = decision()
    waiting = replace(made.group.members["a"], join_ask=5, is_new=True)
    joined = made.joined(waiting)
    member = made.answer_join(waiting, joined)
    assert made.answers == [Answer(5, joined)]
    assert (member.join_ask, member.is_new, made.group.members["a"]) == (None, False, member)
    assert [one.member for one in joined.members] == ["a", "b"]
    assert made.joined(made.group.members["b"]).members == ()

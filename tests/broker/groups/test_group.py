"""A group as it stands: what its members could follow, what they read, when something is due."""

from dataclasses import replace

from onelog.broker.broker import BrokerSettings
from onelog.broker.groups.group import Gathering, Group, GroupLimits, Member
from onelog.broker.groups.words import JoinedMember, MemberProtocol, Phase
from tests.support.group_room import protocols


def member(name: str, *names: str, topics: tuple[str, ...] | None = ()) -> Member:
    return Member(name, None, "client", "/host", 10, 20, protocols(*names, topics=topics))


def group(*members: Member, protocol: str | None = "range", kind: str = "consumer") -> Group:
    by_name = {one.id: one for one in members}
    return Group("g", phase=Phase.STABLE, protocol_type=kind, protocol=protocol, members=by_name)


def test_the_protocol_is_the_one_that_most_want_of_those_that_all_can_follow() -> None:
    assert group(member("a", "x", "y"), member("b", "y", "x"), member("c", "y", "x")).chosen_protocol() == "y"
    # x is the first wish of two, but c cannot follow it.
    assert group(member("a", "x", "y"), member("b", "x", "z", "y"), member("c", "y")).chosen_protocol() == "y"


def test_of_equal_votes_the_first_wins() -> None:
    assert group(member("a", "x", "y"), member("b", "y", "x")).chosen_protocol() == "x"
    assert group(member("b", "y", "x"), member("a", "x", "y")).chosen_protocol() == "y"


def test_a_protocol_that_a_member_names_twice_counts_once() -> None:
    twice = member("a", "x", "x", "y")
    assert group(twice, member("b", "y")).common_protocols() == {"y"}
    assert group(twice, member("b", "y")).supports("consumer", ["y"])
    assert not group(twice, member("b", "y")).supports("consumer", ["x"])


def test_a_topic_is_read_when_a_member_says_so_in_the_protocol_that_was_chosen() -> None:
    reading = group(member("a", "range", topics=("orders",)), member("b", "range"))
    assert reading.reads("orders")
    assert not reading.reads("others")
    other = replace(
        member("a"), protocols=(MemberProtocol("range", b""), MemberProtocol("x", b"", frozenset()))
    )
    assert not group(other, protocol="x").reads("orders")


def test_what_cannot_be_known_counts_as_read() -> None:
    assert group(member("a", "range", topics=None)).reads("orders")
    assert group(member("a", "range"), kind="connect").reads("orders")
    assert group(member("a", "range"), protocol=None).reads("orders")
    for kind in ("consumer", "connect"):
        assert not group(kind=kind).reads("orders")


def test_the_leader_hears_what_each_member_says_for_the_protocol() -> None:
    assert group(member("a", "x", "range")).for_leader() == [JoinedMember("a", None, b"range")]


def test_a_group_is_as_patient_as_its_most_patient_member() -> None:
    assert group(member("a"), replace(member("b"), rebalance_timeout_ms=50)).rebalance_timeout_ms == 50
    assert group().rebalance_timeout_ms == 0


def test_the_next_deadline_is_the_earliest_of_all() -> None:
    assert Group("g").next_deadline_ms() is None
    sessions, pending = {"a": 40, "b": 50}, {"c": 30}
    assert Group("g", sessions=sessions).next_deadline_ms() == 40
    assert Group("g", sessions=sessions, pending=pending).next_deadline_ms() == 30
    assert Group("g", sessions=sessions, join_deadline_ms=20).next_deadline_ms() == 20
    assert Group("g", sessions=sessions, join_deadline_ms=20, sync_deadline_ms=10).next_deadline_ms() == 10


def test_nobody_is_waited_for_when_all_who_are_and_all_who_were_told_a_name_have_come() -> None:
    back, away = replace(member("a"), join_ask=1), member("b")
    told_a_name = group(back)
    told_a_name.pending["c"] = 9
    found = [waiting.have_all_joined for waiting in (group(back), group(back, away), told_a_name)]
    assert found == [True, False, False]


def test_a_copy_is_changed_alone() -> None:
    before = group(member("a"))
    after = before.copy()
    after.members["b"] = member("b")
    after.instances["i"] = "b"
    after.sessions["b"] = 1
    after.pending["c"] = 1
    after.unsynced.add("b")
    after.gathering = Gathering(1, 2)
    assert before == group(member("a"))


def test_the_limits_are_those_of_the_settings() -> None:
    settings = BrokerSettings(
        group_session_timeout_min_ms=1,
        group_session_timeout_max_ms=2,
        group_initial_rebalance_delay_ms=3,
        group_members_max=4,
        group_member_bytes_max=5,
    )
    assert GroupLimits.of(settings) == GroupLimits(1, 2, 3, 4, 5)

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.client.kafka.assignors import (
    COOPERATIVE_STICKY,
    RANGE,
    Assignment,
    Assignor,
    Members,
    assign_cooperative_sticky,
    assign_range,
)
from onelog.client.kafka.subscription import Place, Subscription

TOPICS = ("a", "b", "c")


def wants(*topics: str, owned: set[Place] | None = None, generation: int = -1) -> Subscription:
    return Subscription(frozenset(topics), frozenset(owned or ()), generation)


def row(topic: str, partitions: range) -> frozenset[Place]:
    return frozenset((topic, partition) for partition in partitions)


def settled(members: Members, counts: Mapping[str, int]) -> Assignment:
    """What all hold when nobody has anything to give up any more."""
    for generation in range(1, 10):
        found = assign_cooperative_sticky(members, counts)
        held = {m: found[m] & wanted.owned for m, wanted in members.items()}
        assert_one_owner(found)
        if all(held[m] == wanted.owned for m, wanted in members.items()):
            return found
        members = {m: Subscription(wanted.topics, found[m], generation) for m, wanted in members.items()}
    raise AssertionError(f"{members} never settle")


def assert_one_owner(found: Assignment) -> None:
    twice = [
        place for place, times in Counter(p for some in found.values() for p in some).items() if times > 1
    ]
    assert not twice


def test_neighbours_go_together_and_the_first_get_one_more() -> None:
    found = assign_range({"x": wants("a"), "y": wants("a"), "z": wants("a")}, {"a": 8})
    assert found == {"x": row("a", range(3)), "y": row("a", range(3, 6)), "z": row("a", range(6, 8))}


def test_each_topic_is_shared_by_those_who_want_it() -> None:
    found = assign_range({"x": wants("a", "b"), "y": wants("b")}, {"a": 2, "b": 2, "c": 5})
    assert found == {"x": row("a", range(2)) | {("b", 0)}, "y": frozenset({("b", 1)})}


def test_more_members_than_partitions_leave_some_without() -> None:
    found = assign_range({"x": wants("a"), "y": wants("a")}, {"a": 1})
    assert found == {"x": row("a", range(1)), "y": frozenset()}


def test_what_somebody_gives_up_is_handed_out_a_round_later() -> None:
    counts = {"a": 4}
    first = {"x": wants("a", owned=set(row("a", range(4))), generation=1), "y": wants("a")}
    found = assign_cooperative_sticky(first, counts)
    assert (len(found["x"]), found["y"]) == (2, frozenset())
    second = {"x": wants("a", owned=set(found["x"]), generation=2), "y": wants("a", generation=2)}
    after = assign_cooperative_sticky(second, counts)
    assert after["x"] == found["x"]
    assert after["y"] == row("a", range(4)) - found["x"]


def test_who_is_left_keeps_what_he_has_and_gets_the_rest() -> None:
    held = {("a", 0), ("a", 3)}
    found = assign_cooperative_sticky({"x": wants("a", owned=held, generation=3)}, {"a": 4})
    assert found == {"x": row("a", range(4))}


def test_what_two_claim_belongs_to_the_one_who_got_it_last() -> None:
    both = {("a", 0)}
    members = {
        "old": wants("a", owned=both, generation=1),
        "new": wants("a", owned=both, generation=2),
    }
    assert assign_cooperative_sticky(members, {"a": 1}) == {"old": frozenset(), "new": frozenset(both)}


def test_what_two_of_one_generation_claim_belongs_to_one_of_them() -> None:
    both = {("a", 0)}
    members = {name: wants("a", owned=both, generation=1) for name in "xy"}
    found = assign_cooperative_sticky(members, {"a": 1})
    assert sorted(map(len, found.values())) == [0, 1]


def test_many_partitions_are_evened_out_at_once() -> None:
    everything = set(row("a", range(10_000)))
    members = {"x": wants("a", owned=everything, generation=1)} | {f"y{n}": wants("a") for n in range(9)}
    found = settled(members, {"a": 10_000})
    assert {len(places) for places in found.values()} == {1000}


@st.composite
def groups(draw: st.DrawFn) -> tuple[Members, dict[str, int]]:
    counts = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 7), min_size=1))
    names = draw(st.lists(st.sampled_from("uvwxyz"), min_size=1, max_size=5, unique=True))
    places = [(topic, partition) for topic in TOPICS for partition in range(8)]
    members = {
        name: Subscription(
            frozenset(draw(st.sets(st.sampled_from(TOPICS)))),
            frozenset(draw(st.sets(st.sampled_from(places), max_size=12))),
            draw(st.integers(-1, 2)),
        )
        for name in names
    }
    return members, counts


@given(groups())
def test_every_partition_that_is_wanted_has_one_owner_who_wants_it(
    group: tuple[Members, dict[str, int]],
) -> None:
    members, counts = group
    expected = {
        (topic, partition)
        for topic, count in counts.items()
        for partition in range(count)
        if any(topic in wanted.topics for wanted in members.values())
    }
    for found in (assign_range(members, counts), settled(members, counts)):
        assert_one_owner(found)
        assert {place for places in found.values() for place in places} == expected
        assert all(place[0] in members[m].topics for m, places in found.items() for place in places)


@given(groups())
def test_nobody_has_two_more_than_another_who_wants_the_same(group: tuple[Members, dict[str, int]]) -> None:
    members, counts = group
    same = {name: Subscription(frozenset(TOPICS), m.owned, m.generation) for name, m in members.items()}
    sizes = [len(places) for places in settled(same, counts).values()]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("assignor", "name", "cooperative"),
    [(RANGE, "range", False), (COOPERATIVE_STICKY, "cooperative-sticky", True)],
)
def test_clients_know_them_by_these_names(assignor: Assignor, name: str, cooperative: bool) -> None:
    assert (assignor.name, assignor.is_cooperative) == (name, cooperative)

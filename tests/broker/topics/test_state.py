"""Which topics may be, and what a change does: pure."""

from uuid import UUID

import pytest

from onelog.broker.topics import rows
from onelog.broker.topics.state import (
    RESERVED_NAMES,
    Alter,
    Command,
    Create,
    Delete,
    Forgotten,
    Grow,
    TopicsState,
    apply,
    decide,
)
from onelog.broker.values import Topic
from onelog.errors import (
    InvalidConfig,
    InvalidName,
    InvalidPartitions,
    TopicExists,
    UnknownTopic,
    UnknownTopicId,
)

COUNT_MAX = 100


def _do(state: TopicsState, command: Command) -> Topic:
    change, topic = decide(state, command, partition_count_max=COUNT_MAX)
    apply(state, change)
    return topic


def _create(name: str, *, number: int = 1, partition_count: int = 1, **settings: str) -> Create:
    return Create(UUID(int=number), name, partition_count, settings)


def test_a_topic_is_known_by_name_and_by_id() -> None:
    state = TopicsState()
    topic = _do(state, _create("orders", partition_count=3))
    assert state.by_name["orders"] == state.by_id[UUID(int=1)] == topic
    assert topic.partition_count == 3


def test_what_exists_says_how_many_partitions_it_has() -> None:
    state = TopicsState()
    _do(state, _create("orders", partition_count=3))
    with pytest.raises(TopicExists) as refusal:
        _do(state, _create("orders", number=2))
    assert refusal.value.partition_count == 3


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250, "a/b", *sorted(RESERVED_NAMES)])
def test_some_names_cannot_be(name: str) -> None:
    with pytest.raises(InvalidName):
        _do(TopicsState(), _create(name))


def test_names_that_differ_in_dot_and_underline_only_cannot_be_side_by_side() -> None:
    state = TopicsState()
    _do(state, _create("a.b_c"))
    with pytest.raises(InvalidName, match=r"a\.b_c"):
        _do(state, _create("a_b.c", number=2))
    _do(state, Delete("a.b_c"))
    _do(state, _create("a_b.c", number=2))


@pytest.mark.parametrize("count", [-1, 0, COUNT_MAX + 1])
def test_a_topic_has_so_many_partitions(count: int) -> None:
    with pytest.raises(InvalidPartitions):
        _do(TopicsState(), _create("orders", partition_count=count))


def test_growing_adds_partitions_and_never_takes_any() -> None:
    state = TopicsState()
    _do(state, _create("orders", partition_count=3))
    for count in (2, 3, COUNT_MAX + 1):
        with pytest.raises(InvalidPartitions):
            _do(state, Grow("orders", count))
    assert _do(state, Grow("orders", 4)).partition_count == 4
    assert state.by_name["orders"].partition_count == 4


def test_settings_are_changed_and_brought_back() -> None:
    state = TopicsState()
    _do(state, Create(UUID(int=1), "orders", 1, {"retention.ms": " 5 "}))
    assert state.by_name["orders"].settings == {"retention.ms": "5"}
    _do(state, Alter("orders", {"retention.ms": None, "segment.ms": "7"}))
    assert state.by_name["orders"].settings == {"segment.ms": "7"}
    with pytest.raises(InvalidConfig):
        _do(state, Alter("orders", {"segment.ms": "8", "retention.ms": "soon"}))
    assert state.by_name["orders"].settings == {"segment.ms": "7"}


def test_a_deleted_topic_is_unknown_and_its_id_is_kept_until_forgotten() -> None:
    state = TopicsState()
    topic = _do(state, _create("orders"))
    _do(state, Delete(topic.id))
    assert state.removed == {topic.id: "orders"}
    with pytest.raises(UnknownTopic):
        _do(state, Delete("orders"))
    with pytest.raises(UnknownTopicId):
        _do(state, Delete(topic.id))
    _do(state, _create("orders", number=2))
    apply(state, Forgotten(topic.id))
    assert not state.removed
    assert state.by_name["orders"].id == UUID(int=2)


@pytest.mark.parametrize("command", [Alter("orders", {}), Grow("orders", 5), Delete("orders")])
def test_nothing_can_be_done_to_an_unknown_topic(command: Command) -> None:
    with pytest.raises(UnknownTopic):
        _do(TopicsState(), command)


def test_a_decision_changes_nothing() -> None:
    state = TopicsState()
    decide(state, _create("orders"), partition_count_max=COUNT_MAX)
    assert state == TopicsState()


def test_an_altered_topic_is_written_as_its_own_settings_only() -> None:
    state = TopicsState()
    _do(state, _create("orders"))
    change, _ = decide(state, Alter("orders", {"segment.ms": "7"}), partition_count_max=COUNT_MAX)
    assert [values[1:] for sql, values in rows.statements(change) if "INSERT" in sql] == [("segment.ms", "7")]


def test_settings_that_are_replaced_keep_nothing_of_what_was_there() -> None:
    state = TopicsState()
    _do(state, Create(UUID(int=1), "orders", 1, {"retention.ms": "5", "segment.ms": "6"}))
    topic = _do(state, Alter("orders", {"segment.ms": "7"}, replaces=True))
    assert dict(topic.settings) == {"segment.ms": "7"}

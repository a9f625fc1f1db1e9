from typing import Any

import pytest

from onelog.broker.broker import Commit
from onelog.model import TopicName
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.group_admin import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from onelog.protocols.kafka.versions import (
    APIS,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    OFFSET_DELETE,
)
from tests.support.kafka_groups import KafkaMember
from tests.support.kafka_peer import KafkaHouse, KafkaPeer
from tests.support.kafka_talk import create_topic

ORDERS, OTHERS = TopicName("orders"), TopicName("others")


def versions(key: int) -> range:
    return range(APIS[key].version_min, APIS[key].version_max + 1)


def committed(house: KafkaHouse, group: str, *topics: TopicName) -> None:
    """A position in partition 0 of each, committed without membership."""

    async def commit() -> None:
        commits = [Commit(topic, 0, 5) for topic in topics]
        assert await house.broker.commit_positions(group, commits) == [None] * len(commits)

    house.loop.run_until_complete(commit())


def described(peer: KafkaPeer, *groups: str, version: int = 5, **options: Any) -> list[Any]:
    body = DescribeGroupsRequest(groups=list(groups), **options)
    return list(peer.ask(DESCRIBE_GROUPS, version, body).groups)


def listed(peer: KafkaPeer, *, version: int = 5, **filters: Any) -> list[tuple[str, str, str, str]]:
    groups = peer.ask(LIST_GROUPS, version, ListGroupsRequest(**filters)).groups
    return [(g.group_id, g.protocol_type, g.group_state, g.group_type) for g in groups]


# ---- DescribeGroups


@pytest.mark.parametrize("version", versions(DESCRIBE_GROUPS))
def test_a_group_is_described_in_every_version(house: KafkaHouse, version: int) -> None:
    member = KafkaMember(house.peer(), instance="static")
    member.settle_alone()
    (group,) = described(house.peer(), "g", version=version)
    assert (group.error_code, group.group_id, group.group_state) == (0, "g", "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    (found,) = group.members
    assert (found.member_id, found.client_id, found.client_host) == (member.member, "test", "test")
    assert (found.member_metadata, found.member_assignment) == (member.said, b"all")
    assert found.group_instance_id == ("static" if version >= 4 else None)


@pytest.mark.parametrize("version", versions(DESCRIBE_GROUPS))
def test_an_unknown_group_is_dead_and_from_version_6_on_an_error(peer: KafkaPeer, version: int) -> None:
    (group,) = described(peer, "nowhere", version=version)
    assert (group.group_state, group.members) == ("Dead", [])
    assert group.error_code == (Code.GROUP_ID_NOT_FOUND if version >= 6 else 0)
    assert bool(group.error_message) == (version >= 6)


def test_a_group_has_one_entry_for_each_time_it_is_asked_for_in_that_order(house: KafkaHouse) -> None:
    create_topic(house.peer(), "orders")
    committed(house, "b", ORDERS)
    found = described(house.peer(), "b", "a", "b")
    assert [(g.group_id, g.group_state) for g in found] == [("b", "Empty"), ("a", "Dead"), ("b", "Empty")]


def test_a_group_goes_through_its_states(house: KafkaHouse) -> None:
    member, peer = KafkaMember(house.peer()), house.peer()
    states = []

    def look() -> None:
        (group,) = described(peer, "g")
        states.append(group.group_state)
        if group.group_state != "Stable":
            assert all((m.member_metadata, m.member_assignment) == (b"", b"") for m in group.members)
            assert group.protocol_data == ""

    answer = member.come()
    look()
    house.advance(3000)
    member.joined(answer)
    look()
    member.sync()
    look()
    member.leave()
    look()
    assert states == ["PreparingRebalance", "CompletingRebalance", "Stable", "Empty"]


def test_what_may_be_done_to_a_group_is_told_when_asked(house: KafkaHouse) -> None:
    create_topic(house.peer(), "orders")
    committed(house, "g", ORDERS)
    (asked,) = described(house.peer(), "g", include_authorized_operations=True)
    (not_asked,) = described(house.peer(), "g")
    allowed = [bit for bit in range(32) if asked.authorized_operations >> bit & 1]
    assert allowed == [3, 6, 8, 10, 11]
    assert not_asked.authorized_operations == -(1 << 31)


# ---- ListGroups


@pytest.mark.parametrize("version", versions(LIST_GROUPS))
def test_groups_with_members_and_with_positions_are_listed_in_every_version(
    house: KafkaHouse, version: int
) -> None:
    create_topic(house.peer(), "orders")
    committed(house, "simple", ORDERS)
    KafkaMember(house.peer()).settle_alone()
    found = listed(house.peer(), version=version)
    states = ("Stable", "Empty") if version >= 4 else ("", "")
    kind = "Classic" if version >= 5 else ""
    assert found == [("g", "consumer", states[0], kind), ("simple", "", states[1], kind)]


@pytest.mark.parametrize("version", versions(LIST_GROUPS))
def test_a_group_whose_name_a_version_cannot_say_is_left_out(
    house: KafkaHouse, peer: KafkaPeer, version: int
) -> None:
    create_topic(peer, "orders")
    for group in ("g" * 32_767, "h" * 32_768):
        committed(house, group, TopicName("orders"))
    sizes = [len(name) for name, *_ in listed(peer, version=version)]
    assert sizes == ([32_767, 32_768] if version >= 3 else [32_767])


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"states_filter": ["Stable"]}, ["g"]),
        ({"states_filter": ["eMPTY"]}, ["simple"]),
        ({"states_filter": ["Empty", "Stable"]}, ["g", "simple"]),
        ({"states_filter": ["Dead"]}, []),
        ({"types_filter": ["classic"]}, ["g", "simple"]),
        ({"types_filter": ["Consumer"]}, []),
        ({"types_filter": ["Consumer", "Classic"], "states_filter": ["stable"]}, ["g"]),
    ],
)
def test_groups_are_filtered_by_state_and_type(
    house: KafkaHouse, filters: dict[str, Any], names: list[str]
) -> None:
    create_topic(house.peer(), "orders")
    committed(house, "simple", ORDERS)
    KafkaMember(house.peer()).settle_alone()
    assert [name for name, *_ in listed(house.peer(), **filters)] == names


# ---- DeleteGroups


@pytest.mark.parametrize("version", versions(DELETE_GROUPS))
def test_a_group_is_deleted_when_it_has_no_members(house: KafkaHouse, version: int) -> None:
    create_topic(house.peer(), "orders")
    committed(house, "simple", ORDERS)
    member = KafkaMember(house.peer())
    member.settle_alone()
    body = DeleteGroupsRequest(groups_names=["g", "nowhere", "simple"])
    results = house.peer().ask(DELETE_GROUPS, version, body).results
    assert [(result.group_id, result.error_code) for result in results] == [
        ("g", Code.NON_EMPTY_GROUP),
        ("nowhere", Code.GROUP_ID_NOT_FOUND),
        ("simple", Code.NONE),
    ]
    member.leave()
    (gone,) = house.peer().ask(DELETE_GROUPS, version, DeleteGroupsRequest(groups_names=["g"])).results
    assert gone.error_code == Code.NONE
    assert listed(house.peer()) == []


# ---- OffsetDelete


def offset_delete(peer: KafkaPeer, *topics: str, group: str = "g") -> tuple[Code, list[Code]]:
    body = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
            for topic in topics
        ],
    )
    answer = peer.ask(OFFSET_DELETE, 0, body)
    codes = [Code(part.error_code) for topic in answer.topics for part in topic.partitions]
    return Code(answer.error_code), codes


def test_positions_of_topics_that_are_read_are_not_deleted(house: KafkaHouse) -> None:
    for topic in ("orders", "others"):
        create_topic(house.peer(), topic)
    committed(house, "g", ORDERS, OTHERS)
    member = KafkaMember(house.peer())
    member.settle_alone()
    code, codes = offset_delete(house.peer(), "orders", "others", "nowhere")
    assert (code, codes) == (
        Code.NONE,
        [Code.GROUP_SUBSCRIBED_TO_TOPIC, Code.NONE, Code.UNKNOWN_TOPIC_OR_PARTITION],
    )
    member.leave()
    assert offset_delete(house.peer(), "orders") == (Code.NONE, [Code.NONE])


def test_a_group_as_a_whole_may_be_refused(house: KafkaHouse) -> None:
    create_topic(house.peer(), "orders")
    assert offset_delete(house.peer(), "orders") == (Code.GROUP_ID_NOT_FOUND, [])
    KafkaMember(house.peer()).join_alone(protocol_type="connect")
    assert offset_delete(house.peer(), "orders") == (Code.NON_EMPTY_GROUP, [])

import time

import pytest

import onelog
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.group_consumer import GroupConsumer
from onelog.client.kafka.groups import GroupInfo, GroupMember, Groups, Progress
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.positions import Positions
from onelog.client.kafka.producer import Producer
from onelog.client.kafka.subscription import assignment_bytes
from onelog.protocols.kafka.errors import Code
from onelog.records.record import Record
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_ANSWER, LOSE_REQUEST, OLD_VERSIONS


def test_every_broker_is_asked_for_its_groups(cluster: Cluster) -> None:
    fake, client = cluster(nodes=3)
    fake.groups.group("b").members["m"] = b""
    fake.groups.group("a")
    assert Groups(client).list() == [
        GroupInfo("a", "Empty", "consumer"),
        GroupInfo("b", "Stable", "consumer"),
    ]
    assert sorted(node for node, _, _ in fake.requests("ListGroups")) == [0, 1, 2]


def test_a_list_that_is_refused_is_an_error(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.fault("ListGroups", Code.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError, match="groups: CLUSTER_AUTHORIZATION_FAILED"):
        Groups(client).list()


@pytest.mark.parametrize("versions", [{}, OLD_VERSIONS])
def test_a_group_is_described_with_what_its_members_hold(
    cluster: Cluster, versions: dict[int, tuple[int, int]]
) -> None:
    fake, client = cluster(nodes=2, versions=versions)
    group = fake.groups.group("g")
    group.assignor = "range"
    group.members = {"m2": b"", "m1": b""}
    group.assigned = {"m1": assignment_bytes([("a", 0), ("b", 1)])}
    described = Groups(client).describe("g")
    assert (described.name, described.state, described.assignor) == ("g", "Stable", "range")
    assert described.members == [
        GroupMember("m1", None, "onelog", "/127.0.0.1", frozenset({("a", 0), ("b", 1)})),
        GroupMember("m2", None, "onelog", "/127.0.0.1", frozenset()),
    ]
    assert {node for node, _, _ in fake.requests("DescribeGroups")} == {1}, "the coordinator is asked"


@pytest.mark.parametrize("code", [Code.NONE, Code.GROUP_ID_NOT_FOUND])
def test_a_group_that_is_not_there_is_an_error_however_the_broker_says_it(
    cluster: Cluster, code: Code
) -> None:
    fake, client = cluster()
    fake.fault("DescribeGroups", code)
    with pytest.raises(KafkaError, match=r"group 'g': GROUP_ID_NOT_FOUND .*onelog groups list"):
        Groups(client).describe("g")


@pytest.mark.parametrize("fault", [LOSE_REQUEST, LOSE_ANSWER, Code.NOT_COORDINATOR])
def test_a_group_is_deleted_also_when_the_answer_was_lost(cluster: Cluster, fault: Code | str) -> None:
    fake, client = cluster()
    fake.groups.group("g")
    fake.fault("DeleteGroups", fault)
    Groups(client).delete("g")
    assert fake.groups.by_name == {}


def test_a_group_that_is_not_there_or_not_empty_is_not_deleted(cluster: Cluster) -> None:
    fake, client = cluster()
    with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND"):
        Groups(client).delete("g")
    fake.groups.group("g").members["m"] = b""
    with pytest.raises(KafkaError, match=r"NON_EMPTY_GROUP .*stop them first"):
        Groups(client).delete("g")


def test_positions_are_deleted_one_topic_with_all_of_its_partitions(cluster: Cluster) -> None:
    fake, client = cluster()
    Groups(client).delete_positions("g", [("a", 0), ("b", 1), ("a", 2)])
    (_, _, request) = fake.requests("OffsetDelete")[0]
    asked = [(each.name, [p.partition_index for p in each.partitions]) for each in request.topics]
    assert asked == [("a", [0, 2]), ("b", [1])]
    fake.fault("OffsetDelete", Code.GROUP_SUBSCRIBED_TO_TOPIC)
    with pytest.raises(KafkaError, match=r"group 'g', a/0: GROUP_SUBSCRIBED_TO_TOPIC"):
        Groups(client).delete_positions("g", [("a", 0)])


def test_progress_is_told_wherever_there_is_a_position(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    fake.add_topic("a", leaders=[0, 1])
    fake.add_topic("b", leaders=[0])
    for _ in range(3):
        Producer(client).send("a", [Record(None, b"x", 7)], partition=1)
    Positions(client).commit("g", {("a", 0): 0, ("a", 1): 1})
    assert Groups(client).progress("g") == [Progress("a", 0, 0, 0, 0), Progress("a", 1, 1, 0, 3)]


def test_progress_is_told_also_where_a_member_has_not_yet_a_position(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("a", leaders=[0, 0])
    Producer(client).send("a", [Record(None, b"x", 7)], partition=1)
    Positions(client).commit("g", {("a", 0): 0})
    found = Groups(client).progress("g", held=[("a", 1), ("a", 0)])
    assert found == [Progress("a", 0, 0, 0, 0), Progress("a", 1, None, 0, 1)]


@pytest.mark.parametrize(("position", "lag"), [(None, 5), (0, 5), (6, 4), (10, 0), (99, 0)])
def test_lag_is_what_is_there_and_was_not_read(position: int | None, lag: int) -> None:
    assert Progress("a", 0, position, 5, 10).lag == lag


def test_a_real_broker_lists_describes_and_deletes(broker: onelog.Broker) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=20) as client:
        Admin(client).create_topic("watched", partition_count=2)
        now_ms = time.time_ns() // 1_000_000
        Producer(client).send("watched", [Record(None, b"x", now_ms) for _ in range(3)], partition=1)
        groups = Groups(client)
        times = MemberTimes(session_s=6.0, rebalance_s=10.0)
        with GroupConsumer(client, "watchers", ["watched"], times=times) as consumer:
            assert len(consumer.poll()) == 1
            assert consumer.commit()
            assert GroupInfo("watchers", "Stable", "consumer") in groups.list()
            described = groups.describe("watchers")
            assert (described.state, described.assignor) == ("Stable", "range")
            (member,) = described.members
            assert member.places == {("watched", 0), ("watched", 1)}
            assert (member.client_id, member.host) == ("onelog", "/127.0.0.1")
            with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
                groups.delete("watchers")
            with pytest.raises(KafkaError, match="GROUP_SUBSCRIBED_TO_TOPIC"):
                groups.delete_positions("watchers", [("watched", 1)])
        assert groups.describe("watchers").state == "Empty"
        assert groups.progress("watchers")[-1] == Progress("watched", 1, 3, 0, 3)
        groups.delete_positions("watchers", [("watched", 1)])
        assert [each.partition for each in groups.progress("watchers")] in ([], [0])
        groups.delete("watchers")
        with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND"):
            groups.describe("watchers")

import pytest

import onelog
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.positions import Position, Positions
from onelog.protocols.kafka.errors import Code
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_ANSWER, OLD_VERSIONS


@pytest.mark.parametrize("versions", [{}, OLD_VERSIONS])
def test_positions_are_kept_and_read(cluster: Cluster, versions: dict[int, tuple[int, int]]) -> None:
    _, client = cluster(nodes=2, versions=versions)
    positions = Positions(client)
    positions.commit("g", {("a", 0): 5, ("a", 1): Position(7, "note"), ("b", 0): 0})
    assert positions.of("g", [("a", 1), ("b", 0), ("b", 1)]) == {
        ("a", 1): Position(7, "note"),
        ("b", 0): Position(0),
    }
    assert positions.of("g").keys() == {("a", 0), ("a", 1), ("b", 0)}
    assert positions.of("h") == {}


def test_the_coordinator_is_asked_and_looked_for_again_when_it_moved(cluster: Cluster) -> None:
    fake, client = cluster(nodes=2)
    positions = Positions(client)
    positions.commit("g", {("a", 0): 5})
    fake.fault("OffsetCommit", Code.NOT_COORDINATOR, LOSE_ANSWER)
    positions.commit("g", {("a", 0): 6})
    assert {node for node, _, _ in fake.requests("OffsetCommit")} == {1}
    assert len(fake.requests("FindCoordinator")) == 3
    assert positions.of("g", [("a", 0)]) == {("a", 0): Position(6)}


def test_a_refused_commit_names_group_and_partition(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.fault("OffsetCommit", Code.UNKNOWN_MEMBER_ID)
    with pytest.raises(KafkaError, match=r"group 'g', a/0: UNKNOWN_MEMBER_ID .*has members"):
        Positions(client).commit("g", {("a", 0): 5})


def test_a_real_broker_keeps_them(broker: onelog.Broker) -> None:
    with KafkaClient(broker.bootstrap, timeout_s=10) as client:
        Admin(client).create_topic("kept", partition_count=2)
        positions = Positions(client)
        positions.commit("g", {("kept", 0): Position(3, "here"), ("kept", 1): 4})
        assert positions.of("g") == {("kept", 0): Position(3, "here"), ("kept", 1): Position(4)}
        assert positions.of("g", [("kept", 1)]) == {("kept", 1): Position(4)}
        assert positions.of("never heard of") == {}

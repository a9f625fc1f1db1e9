from typing import Any

import pytest

from onelog.client.errors import BadAnswer
from onelog.client.kafka.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.joining import Joined, Joining, MemberTimes, Wish
from onelog.client.kafka.subscription import (
    Place,
    Subscription,
    assignment_bytes,
    subscription_bytes,
    subscription_of,
)
from onelog.protocols.kafka.errors import Code
from tests.client.kafka.conftest import Cluster
from tests.support.fake_groups import STRANGER
from tests.support.fake_kafka import OLD_VERSIONS

NOTHING: frozenset[Place] = frozenset()


def wish(*topics: str, assignor: Assignor = RANGE, instance_id: str | None = None) -> Wish:
    times = MemberTimes(session_s=9.0, rebalance_s=20.0)
    return Wish("g", frozenset(topics), assignor, times, instance_id)


def attempt(
    client: KafkaClient, joining: Joining, owned: frozenset[Place] = NOTHING, generation: int = -1
) -> Joined:
    return client.run(lambda deadline: joining.attempt(owned, generation, deadline))


@pytest.mark.parametrize("versions", [{}, OLD_VERSIONS])
def test_who_is_alone_leads_and_gets_everything(
    cluster: Cluster, versions: dict[int, tuple[int, int]]
) -> None:
    fake, client = cluster(nodes=2, versions=versions)
    fake.add_topic("a", leaders=[0, 1])
    joining = Joining(client, wish("a", "nowhere"))
    joined = attempt(client, joining)
    assert joined == Joined(1, frozenset({("a", 0), ("a", 1)}), {"a": 2, "nowhere": 0})
    assert {node for node, _, _ in fake.requests("JoinGroup")} == {1}, "the coordinator is asked"


def test_a_first_join_gives_an_id_and_a_second_one_a_place(cluster: Cluster) -> None:
    fake, client = cluster()
    joining = Joining(client, wish("a"))
    attempt(client, joining)
    assert joining.member_id == "member-1"
    assert [body.member_id for _, _, body in fake.requests("JoinGroup")] == ["", "member-1"]
    attempt(client, joining)
    assert [body.member_id for _, _, body in fake.requests("JoinGroup")][2:] == ["member-1"]


def test_what_is_wanted_and_held_is_said_with_how_long_to_wait(cluster: Cluster) -> None:
    fake, client = cluster()
    owned = frozenset({("a", 3)})
    attempt(client, Joining(client, wish("b", "a", assignor=COOPERATIVE_STICKY)), owned, 4)
    _, _, request = fake.requests("JoinGroup")[-1]
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (9000, 20_000)
    assert (request.protocol_type, request.protocols[0].name) == ("consumer", "cooperative-sticky")
    said = subscription_of(request.protocols[0].metadata, where="test")
    assert said == Subscription(frozenset({"a", "b"}), owned, 4)


def test_the_leader_shares_with_the_others(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("a", leaders=[0, 0])
    group = fake.groups.group("g")
    group.strangers["other"] = subscription_bytes(Subscription(frozenset({"a"})))
    assert attempt(client, Joining(client, wish("a"))).places == {("a", 0)}
    assert group.assigned["other"] == assignment_bytes([("a", 1)])


def test_who_does_not_lead_gets_what_the_leader_gives(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.groups.group("g").given = assignment_bytes([("a", 5)])
    joined = attempt(client, Joining(client, wish("a")))
    assert joined == Joined(1, frozenset({("a", 5)}), None)
    assert fake.requests("SyncGroup")[0][2].assignments == []
    assert STRANGER not in fake.groups.group("g").members


def test_a_leader_who_came_back_shares_nothing_anew(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.add_topic("a", leaders=[0])
    group = fake.groups.group("g")
    group.skips = True
    group.assigned["me-1"] = assignment_bytes([("a", 0)])
    joined = attempt(client, Joining(client, wish("a", instance_id="me")))
    assert joined.places == {("a", 0)}
    assert fake.requests("SyncGroup")[0][2].assignments == []
    assert len(fake.requests("JoinGroup")) == 1, "a static member needs no id first"


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup"])
def test_a_coordinator_that_moved_is_looked_for_again(cluster: Cluster, api: str) -> None:
    fake, client = cluster()
    fake.fault(api, Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS)
    joining = Joining(client, wish("a"))
    assert attempt(client, joining).places == NOTHING
    assert len(fake.requests("FindCoordinator")) == 3


def test_an_id_outlives_a_round_that_had_to_be_begun_again(cluster: Cluster) -> None:
    fake, client = cluster()
    joining = Joining(client, wish("a"))
    fake.fault("SyncGroup", Code.REBALANCE_IN_PROGRESS)
    with pytest.raises(KafkaError, match="REBALANCE_IN_PROGRESS"):
        attempt(client, joining)
    attempt(client, joining)
    assert len(fake.groups.group("g").members) == 1


@pytest.mark.parametrize(
    "code", [Code.INCONSISTENT_GROUP_PROTOCOL, Code.FENCED_INSTANCE_ID, Code.GROUP_MAX_SIZE_REACHED]
)
def test_what_the_group_refuses_is_told_with_its_name(cluster: Cluster, code: Code) -> None:
    fake, client = cluster()
    fake.fault("JoinGroup", code)
    with pytest.raises(KafkaError, match=f"group 'g': {code.name} .*: ."):
        attempt(client, Joining(client, wish("a")))


def test_a_member_that_talks_nonsense_is_named(cluster: Cluster) -> None:
    fake, client = cluster()
    fake.groups.group("g").strangers["other"] = b"\0\0nonsense"
    with pytest.raises(BadAnswer, match="group 'g', member other"):
        attempt(client, Joining(client, wish("a")))


def test_an_error_of_a_topic_is_not_taken_for_no_topic(cluster: Cluster) -> None:
    fake, client = cluster()
    joining = Joining(client, wish("a"))
    fake.fault("Metadata", Code.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        client.run(lambda deadline: joining.counts(["a"], deadline))


def test_a_heartbeat_may_be_lost_and_a_session_is_not_over() -> None:
    times: Any = MemberTimes(session_s=10.0)
    assert times.heartbeat_s <= times.session_s / 3

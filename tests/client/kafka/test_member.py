from collections.abc import Set
from typing import Any

import pytest

from onelog.client.kafka.assignors import COOPERATIVE_STICKY, RANGE
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.member import Member
from onelog.client.kafka.subscription import Place, Subscription, assignment_bytes, subscription_bytes
from onelog.protocols.kafka.errors import Code
from tests.client.kafka.conftest import Cluster
from tests.support.fake_kafka import LOSE_ANSWER, LOSE_REQUEST, OLD_VERSIONS, FakeKafka, Log
from tests.support.hand_clock import HandClock

TIMES = MemberTimes(session_s=10.0, rebalance_s=5.0)
BEAT_S = TIMES.heartbeat_s


class Told:
    """A listener that writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, list[Place]]] = []

    def assigned(self, places: Set[Place]) -> None:
        self.heard.append(("assigned", sorted(places)))

    def revoked(self, places: Set[Place]) -> None:
        self.heard.append(("revoked", sorted(places)))

    def lost(self, places: Set[Place]) -> None:
        self.heard.append(("lost", sorted(places)))

    def news(self) -> list[tuple[str, list[Place]]]:
        heard, self.heard = self.heard, []
        return heard


def member(client: KafkaClient, **options: Any) -> tuple[Member, Told]:
    told = Told()
    return Member(client, "g", ["a"], told, times=TIMES, **options), told


def wait(client: KafkaClient, seconds: float) -> None:
    clock = client.clock
    assert isinstance(clock, HandClock)
    clock.sleep(seconds)


def two_partitions(cluster: Cluster, **options: Any) -> tuple[FakeKafka, KafkaClient]:
    fake, client = cluster(**options)
    fake.add_topic("a", leaders=[0, 0])
    return fake, client


ALL: list[Place] = [("a", 0), ("a", 1)]


@pytest.mark.parametrize("versions", [{}, OLD_VERSIONS])
def test_a_member_joins_and_stays(cluster: Cluster, versions: dict[int, tuple[int, int]]) -> None:
    fake, client = two_partitions(cluster, versions=versions)
    one, told = member(client)
    assert sorted(one.keep()) == ALL
    assert told.news() == [("assigned", ALL)]
    assert fake.requests("Heartbeat") == []
    for beats in range(1, 4):
        wait(client, BEAT_S)
        assert sorted(one.keep()) == ALL
        assert len(fake.requests("Heartbeat")) == beats
    one.keep()
    assert len(fake.requests("Heartbeat")) == 3, "not before its time"
    (_, _, beat) = fake.requests("Heartbeat")[0]
    assert (beat.group_id, beat.generation_id, beat.member_id) == ("g", 1, one.membership.member_id)
    assert told.news() == []


def test_a_rebalance_begins_with_giving_everything_up(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, told = member(client, assignor=RANGE)
    one.keep()
    told.news()
    fake.groups.group("g").strangers["zzz"] = subscription_bytes(Subscription(frozenset({"a"})))
    fake.fault("Heartbeat", Code.REBALANCE_IN_PROGRESS)
    wait(client, BEAT_S)
    assert one.keep() == {("a", 0)}
    assert told.news() == [("revoked", ALL), ("assigned", [("a", 0)])]
    assert one.membership.generation == 2


def test_a_cooperative_rebalance_gives_up_only_what_moves_and_joins_once_more(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, told = member(client, assignor=COOPERATIVE_STICKY)
    one.keep()
    told.news()
    other = subscription_bytes(Subscription(frozenset({"a"})))
    fake.groups.group("g").strangers["zzz"] = other
    fake.fault("Heartbeat", Code.REBALANCE_IN_PROGRESS)
    wait(client, BEAT_S)
    assert one.keep() == {("a", 0)}
    assert told.news() == [("revoked", [("a", 1)])]
    assert one.membership.generation == 3, "one round to give up, one to let the other have it"
    assert fake.groups.group("g").assigned["zzz"] == assignment_bytes([("a", 1)])


@pytest.mark.parametrize("code", [Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION])
@pytest.mark.parametrize("assignor", [RANGE, COOPERATIVE_STICKY], ids=lambda each: each.name)
def test_who_was_taken_for_gone_has_lost_everything_and_joins_again(
    cluster: Cluster, code: Code, assignor: Any
) -> None:
    fake, client = two_partitions(cluster)
    one, told = member(client, assignor=assignor)
    one.keep()
    before = one.membership.member_id
    told.news()
    fake.fault("Heartbeat", code)
    wait(client, BEAT_S)
    assert sorted(one.keep()) == ALL
    assert told.news() == [("lost", ALL), ("assigned", ALL)]
    assert (one.membership.member_id == before) is (code == Code.ILLEGAL_GENERATION)


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup"])
@pytest.mark.parametrize(
    "fault",
    [Code.REBALANCE_IN_PROGRESS, Code.ILLEGAL_GENERATION, Code.UNKNOWN_MEMBER_ID, LOSE_REQUEST, LOSE_ANSWER],
)
def test_a_round_that_fails_is_begun_again(cluster: Cluster, api: str, fault: Code | str) -> None:
    fake, client = two_partitions(cluster)
    one, told = member(client)
    fake.fault(api, fault)
    assert sorted(one.keep()) == ALL
    assert told.news() == [("assigned", ALL)]


def test_a_group_that_never_settles_is_told_in_the_end(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, _ = member(client)
    fake.fault("SyncGroup", *[Code.REBALANCE_IN_PROGRESS] * 1000)
    with pytest.raises(KafkaError, match=r"REBALANCE_IN_PROGRESS .*Gave up after"):
        one.keep()


def test_the_leader_notices_that_a_topic_has_grown(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, told = member(client)
    one.keep()
    told.news()
    fake.topics["a"].logs.append(Log(0))
    wait(client, 301)
    assert sorted(one.keep()) == [*ALL, ("a", 2)]
    assert told.news() == [("revoked", ALL), ("assigned", [*ALL, ("a", 2)])]


def test_a_commit_is_made_in_the_generation(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, _ = member(client, instance_id="me")
    one.keep()
    assert one.commit({("a", 1): 7})
    (_, _, request) = fake.requests("OffsetCommit")[0]
    said = (request.generation_id_or_member_epoch, request.member_id, request.group_instance_id)
    assert said == (1, "me-1", "me")
    assert fake.positions["g", "a", 1] == (7, "")


@pytest.mark.parametrize(
    "code", [Code.REBALANCE_IN_PROGRESS, Code.ILLEGAL_GENERATION, Code.UNKNOWN_MEMBER_ID]
)
def test_a_commit_that_comes_too_late_keeps_nothing_and_leads_to_joining(
    cluster: Cluster, code: Code
) -> None:
    fake, client = two_partitions(cluster)
    one, _ = member(client)
    one.keep()
    fake.fault("OffsetCommit", code)
    assert not one.commit({("a", 1): 7})
    one.keep()
    assert one.membership.generation == 2


def test_a_commit_that_is_refused_for_itself_is_an_error(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, _ = member(client)
    one.keep()
    fake.fault("OffsetCommit", Code.OFFSET_METADATA_TOO_LARGE)
    with pytest.raises(KafkaError, match="OFFSET_METADATA_TOO_LARGE"):
        one.commit({("a", 1): 7})


@pytest.mark.parametrize("versions", [{}, OLD_VERSIONS])
def test_who_leaves_is_gone_and_says_so_once(cluster: Cluster, versions: dict[int, tuple[int, int]]) -> None:
    fake, client = two_partitions(cluster, versions=versions)
    one, _ = member(client)
    one.keep()
    one.leave()
    one.leave()
    assert fake.groups.group("g").members == {}
    assert len(fake.requests("LeaveGroup")) == 1
    assert one.places == frozenset()
    assert sorted(one.keep()) == ALL, "and may come again"


def test_a_static_member_that_stops_is_awaited_back(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, _ = member(client, instance_id="me")
    one.keep()
    one.leave()
    assert list(fake.groups.group("g").members) == ["me-1"]


def test_who_cannot_say_that_he_leaves_has_left_all_the_same(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, _ = member(client)
    one.keep()
    fake.fault("LeaveGroup", *[LOSE_REQUEST] * 100)
    one.leave()
    assert one.places == frozenset()


def test_another_with_the_same_instance_id_ends_this_one(cluster: Cluster) -> None:
    fake, client = two_partitions(cluster)
    one, _ = member(client, instance_id="me")
    one.keep()
    fake.fault("Heartbeat", Code.FENCED_INSTANCE_ID)
    wait(client, BEAT_S)
    with pytest.raises(KafkaError, match=r"FENCED_INSTANCE_ID .*same instance id"):
        one.keep()

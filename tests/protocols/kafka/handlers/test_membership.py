from pathlib import Path

import pytest

from onelog.protocols.contract import Later
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.consumer_protocol import topics_of
from onelog.protocols.kafka.messages.group_admin import DescribeGroupsRequest
from onelog.protocols.kafka.messages.groups import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from onelog.protocols.kafka.messages.membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
)
from onelog.protocols.kafka.versions import (
    APIS,
    DESCRIBE_GROUPS,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SYNC_GROUP,
)
from tests.support.kafka_groups import KafkaMember, subscription
from tests.support.kafka_peer import KafkaHouse, KafkaPeer
from tests.support.kafka_talk import create_topic, only
from tests.support.kafka_wire import request

DELAY_MS = 3000


def versions(key: int) -> range:
    return range(APIS[key].version_min, APIS[key].version_max + 1)


def gather(house: KafkaHouse) -> None:
    """Let the first members of a group be gathered, delay by delay."""
    for _ in range(3):
        house.advance(DELAY_MS)


def members(house: KafkaHouse, count: int, **options: str) -> list[KafkaMember]:
    return [KafkaMember(house.peer(), **options) for _ in range(count)]


def stable(house: KafkaHouse, *instances: str | None) -> list[KafkaMember]:
    """As many members as are named, each with its own name as its share; the first leads."""
    made = [KafkaMember(house.peer(), instance=instance) for instance in instances]
    answers = [member.come() for member in made]
    gather(house)
    for member, answer in zip(made, answers, strict=True):
        member.joined(answer)
    made[0].sync(assignments={member.member: member.member.encode() for member in made})
    for member in made:
        assert member.sync().assignment == member.member.encode()
    return made


def join_again(*joining: KafkaMember) -> list[int]:
    """All of them join; the generations that they hear of."""
    answers = [member.begin_join() for member in joining]
    return [member.joined(answer).generation_id for member, answer in zip(joining, answers, strict=True)]


# ---- JoinGroup


def test_a_client_with_the_longest_name_is_a_member_that_others_can_be_told_of(house: KafkaHouse) -> None:
    first = KafkaMember(house.peer())
    answer = first.begin_join(3)
    joining = JoinGroupRequest(
        group_id=first.group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    other = house.peer().begin(JOIN_GROUP, 3, joining, client_id="é" * 16_383)
    gather(house)
    assert len(first.joined(answer).members) == 2
    assert other.body().member_id.startswith("éé")


def test_an_instance_with_a_name_that_not_all_can_be_told_is_refused(house: KafkaHouse) -> None:
    answer = KafkaMember(house.peer(), instance="i" * 40_000).begin_join(9)
    assert answer.body().error_code == Code.INVALID_REQUEST


@pytest.mark.parametrize("version", versions(JOIN_GROUP))
def test_a_member_joins_in_every_version(house: KafkaHouse, version: int) -> None:
    member = KafkaMember(house.peer())
    answer = member.come(version)
    assert not answer.is_there()
    house.advance(DELAY_MS)
    joined = member.joined(answer)
    assert (joined.generation_id, joined.leader, joined.protocol_name) == (1, member.member, "range")
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert not joined.skip_assignment
    (only_member,) = joined.members
    assert (only_member.member_id, only_member.metadata) == (member.member, member.said)
    assert member.member.startswith("test-")


@pytest.mark.parametrize("version", versions(JOIN_GROUP))
def test_a_new_member_is_told_its_name_first_from_version_4_on(house: KafkaHouse, version: int) -> None:
    answer = KafkaMember(house.peer()).begin_join(version)
    if version < 4:
        assert not answer.is_there()
        return
    body = answer.body()
    assert (body.error_code, body.generation_id) == (Code.MEMBER_ID_REQUIRED, -1)
    assert body.member_id
    assert body.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("version", versions(JOIN_GROUP)[5:])
def test_an_instance_joins_at_once(house: KafkaHouse, version: int) -> None:
    member = KafkaMember(house.peer(), instance="static")
    answer = member.begin_join(version)
    house.advance(DELAY_MS)
    joined = member.joined(answer)
    assert joined.member_id.startswith("static-")
    assert joined.members[0].group_instance_id == "static"


def test_a_name_that_is_not_claimed_expires(house: KafkaHouse) -> None:
    member = KafkaMember(house.peer())
    member.member = member.begin_join().body().member_id
    house.advance(10_000)
    assert member.begin_join().body().error_code == Code.UNKNOWN_MEMBER_ID


def test_in_version_0_a_rebalance_takes_as_long_as_a_session(house: KafkaHouse) -> None:
    first, second = members(house, 2)
    answers = [first.come(0), second.come(0, session_timeout_ms=20_000)]
    gather(house)
    for member, answer in zip((first, second), answers, strict=True):
        member.joined(answer)
    first.sync(0, {})
    second.sync(0)
    waiting = first.begin_join(0)
    for _ in range(3):
        assert second.heartbeat() in (Code.REBALANCE_IN_PROGRESS, Code.UNKNOWN_MEMBER_ID)
        house.advance(7_000)
    assert first.joined(waiting).generation_id == 2
    assert second.heartbeat() == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"group_id": ""}, Code.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, Code.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, Code.INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, Code.UNKNOWN_MEMBER_ID),
        ({"protocol_type": ""}, Code.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {}}, Code.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
@pytest.mark.parametrize("version", [0, 5, 6, 9])
def test_who_cannot_join_hears_why(
    house: KafkaHouse, version: int, options: dict[str, object], code: Code
) -> None:
    answer = KafkaMember(house.peer()).begin_join(version, **options)  # type: ignore[arg-type]  # of any field
    body = answer.body()
    assert (Code(body.error_code), body.generation_id, body.members) == (code, -1, [])
    assert body.member_id == options.get("member_id", "")


def test_a_group_may_be_full(tmp_path: Path) -> None:
    house = KafkaHouse(tmp_path / "data", group_members_max=1)
    KafkaMember(house.peer()).settle_alone()
    assert KafkaMember(house.peer()).begin_join().body().error_code == Code.GROUP_MAX_SIZE_REACHED
    house.close()


def test_who_waits_to_join_or_to_sync_holds_its_connection(house: KafkaHouse) -> None:
    peer = house.peer()
    body = JoinGroupRequest(group_id="g", member_id="nobody", protocol_type="consumer")
    (call,) = peer.received(request(JOIN_GROUP, 9, body))
    outcome = peer.handler.handle(call.message)
    assert isinstance(outcome, Later)
    assert outcome.hold


# ---- a group at work


def test_members_share_the_work_and_hear_of_each_other(house: KafkaHouse) -> None:
    first, second = members(house, 2)
    answers = [first.come(), second.come()]
    gather(house)
    lead, follow = first.joined(answers[0]), second.joined(answers[1])
    assert {member.member_id for member in lead.members} == {first.member, second.member}
    assert (follow.members, follow.leader) == ([], first.member)
    waiting = second.begin_sync()
    assert not waiting.is_there()
    assert first.sync(assignments={first.member: b"0", second.member: b"1"}).assignment == b"0"
    assert waiting.body().assignment == b"1"


@pytest.mark.parametrize("version", versions(SYNC_GROUP))
def test_an_assignment_is_told_in_every_version(house: KafkaHouse, version: int) -> None:
    member = KafkaMember(house.peer())
    member.join_alone()
    synced = member.sync(version, {member.member: b"all"})
    assert (synced.error_code, synced.assignment) == (0, b"all")
    told = ("consumer", "range") if version >= 5 else (None, None)
    assert (synced.protocol_type, synced.protocol_name) == told


def test_a_sync_with_another_protocol_is_refused_from_version_5_on(house: KafkaHouse) -> None:
    member = KafkaMember(house.peer())
    member.join_alone()
    for said in ({"protocol_name": "sticky"}, {"protocol_type": "connect"}):
        assert member.sync(5, **said).error_code == Code.INCONSISTENT_GROUP_PROTOCOL  # type: ignore[arg-type]  # of any field
    assert member.sync(5, protocol_type="consumer", protocol_name="range").error_code == 0


@pytest.mark.parametrize("version", versions(HEARTBEAT))
def test_a_heartbeat_hears_how_it_stands_in_every_version(house: KafkaHouse, version: int) -> None:
    first, second = stable(house, None, None)
    assert first.heartbeat(version) == Code.NONE
    assert first.heartbeat(version, generation_id=0) == Code.ILLEGAL_GENERATION
    assert first.heartbeat(version, member_id="nobody") == Code.UNKNOWN_MEMBER_ID
    assert first.heartbeat(version, group_id="nowhere") == Code.UNKNOWN_MEMBER_ID
    assert first.heartbeat(version, group_id="") == Code.INVALID_GROUP_ID
    first.begin_join()
    assert second.heartbeat(version) == Code.REBALANCE_IN_PROGRESS


def test_a_sync_during_a_rebalance_is_told_to_join(house: KafkaHouse) -> None:
    first, second = stable(house, None, None)
    first.begin_join()
    assert second.sync().error_code == Code.REBALANCE_IN_PROGRESS
    assert second.sync(generation_id=0).error_code == Code.ILLEGAL_GENERATION
    assert second.sync(member_id="nobody").error_code == Code.UNKNOWN_MEMBER_ID


def test_a_third_member_gets_its_share_when_the_others_have_joined_again(house: KafkaHouse) -> None:
    first, second = stable(house, None, None)
    third = KafkaMember(house.peer())
    answer = third.come()
    assert first.heartbeat() == second.heartbeat() == Code.REBALANCE_IN_PROGRESS
    assert join_again(first, second) == [2, 2]
    assert third.joined(answer).generation_id == 2
    assert first.heartbeat() == Code.NONE


def test_a_member_that_is_silent_is_out_after_its_session(house: KafkaHouse) -> None:
    first, second = stable(house, None, None)
    house.advance(5_000)
    first.heartbeat()
    house.advance(4_999)
    assert first.heartbeat() == Code.NONE
    house.advance(1)
    assert first.heartbeat() == Code.REBALANCE_IN_PROGRESS
    assert join_again(first) == [2]
    assert second.heartbeat() == Code.UNKNOWN_MEMBER_ID


def test_a_leader_that_joins_again_begins_a_rebalance_and_a_follower_does_not(house: KafkaHouse) -> None:
    first, second = stable(house, None, None)
    assert join_again(second) == [1]
    answer = first.begin_join()
    assert not answer.is_there()
    assert join_again(second) == [2]
    assert first.joined(answer).generation_id == 2


def test_members_of_eager_and_of_cooperative_ways_find_what_they_have_in_common(house: KafkaHouse) -> None:
    old, new = members(house, 2)
    answers = [
        old.come(protocols={"range": b"o"}),
        new.come(protocols={"cooperative-sticky": b"c", "range": b"n"}),
    ]
    gather(house)
    assert old.joined(answers[0]).protocol_name == new.joined(answers[1]).protocol_name == "range"
    other = KafkaMember(house.peer())
    refused = other.begin_join(protocols={"cooperative-sticky": b"c"}).body()
    assert refused.error_code == Code.INCONSISTENT_GROUP_PROTOCOL


# ---- LeaveGroup


@pytest.mark.parametrize("version", versions(LEAVE_GROUP))
def test_a_member_leaves_at_once_in_every_version(house: KafkaHouse, version: int) -> None:
    first, second = stable(house, None, None)
    assert second.leave(version) == Code.NONE
    assert second.leave(version) == Code.UNKNOWN_MEMBER_ID
    assert first.heartbeat() == Code.REBALANCE_IN_PROGRESS
    assert join_again(first) == [2]


def test_every_member_that_is_named_has_an_outcome_of_its_own(house: KafkaHouse) -> None:
    first, second = stable(house, None, "static")
    named = [
        MemberIdentity(member_id="", group_instance_id="static"),
        MemberIdentity(member_id="nobody", group_instance_id=None),
        MemberIdentity(member_id="", group_instance_id="nobody"),
        MemberIdentity(member_id=first.member, group_instance_id=None, reason="done"),
    ]
    answer = first.peer.ask(LEAVE_GROUP, 5, LeaveGroupRequest(group_id="g", members=named))
    unknown = Code.UNKNOWN_MEMBER_ID
    assert [member.error_code for member in answer.members] == [0, unknown, unknown, 0]
    assert [member.group_instance_id for member in answer.members] == ["static", None, "nobody", None]
    assert second.heartbeat() == unknown


def test_leaving_a_group_that_is_not_there_names_every_member_too(peer: KafkaPeer) -> None:
    named = [MemberIdentity(member_id="a"), MemberIdentity(member_id="b")]
    answer = peer.ask(LEAVE_GROUP, 3, LeaveGroupRequest(group_id="nowhere", members=named))
    assert [(m.member_id, m.error_code) for m in answer.members] == [("a", 25), ("b", 25)]
    old = peer.ask(LEAVE_GROUP, 2, LeaveGroupRequest(group_id="nowhere", member_id="a"))
    assert old.error_code == Code.UNKNOWN_MEMBER_ID
    assert peer.ask(LEAVE_GROUP, 5, LeaveGroupRequest(group_id="")).error_code == Code.INVALID_GROUP_ID


# ---- instances


def test_an_instance_that_starts_anew_keeps_its_share_without_a_rebalance(house: KafkaHouse) -> None:
    first, second = stable(house, None, "static")
    anew = KafkaMember(house.peer(), instance="static")
    joined = anew.joined(anew.begin_join())
    assert (joined.generation_id, joined.leader, joined.members) == (1, first.member, [])
    assert anew.sync().assignment == second.member.encode()
    assert first.heartbeat() == Code.NONE
    assert second.heartbeat() == Code.FENCED_INSTANCE_ID
    assert second.sync().error_code == Code.FENCED_INSTANCE_ID
    assert second.begin_join().body().error_code == Code.FENCED_INSTANCE_ID
    assert second.leave() == Code.FENCED_INSTANCE_ID


@pytest.mark.parametrize("version", versions(JOIN_GROUP)[5:])
def test_a_leading_instance_that_starts_anew_does_not_assign_anew(house: KafkaHouse, version: int) -> None:
    first, _ = stable(house, "static", None)
    anew = KafkaMember(house.peer(), instance="static")
    joined = anew.joined(anew.begin_join(version))
    if version >= 9:
        assert joined.skip_assignment
        assert joined.leader == anew.member
        assert len(joined.members) == 2
    else:
        assert joined.leader == first.member
        assert joined.members == []
    assert anew.sync().assignment == first.member.encode()


def test_an_instance_outlives_a_start_of_the_broker_and_nobody_joins_again(tmp_path: Path) -> None:
    house = KafkaHouse(tmp_path / "data")
    first, second = stable(house, None, "static")
    house.restart()
    for member in (first, second):
        member.peer = house.peer()
        assert member.heartbeat() == Code.NONE
    anew = KafkaMember(house.peer(), instance="static")
    assert anew.joined(anew.begin_join()).generation_id == 1
    assert anew.sync().assignment == second.member.encode()
    house.close()


# ---- OffsetCommit of members


def commit(member: KafkaMember, version: int = 8, **options: object) -> Code:
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topics = [OffsetCommitRequestTopic(name="orders", partitions=[part])]
    body = {
        "group_id": member.group,
        "generation_id_or_member_epoch": member.generation,
        "member_id": member.member,
        "group_instance_id": member.instance,
        **options,
    }
    answer = member.peer.ask(OFFSET_COMMIT, version, OffsetCommitRequest(topics=topics, **body))  # type: ignore[arg-type]  # of any field
    return Code(only(answer.topics, "partitions").error_code)


@pytest.mark.parametrize("version", versions(OFFSET_COMMIT)[:-1])
def test_a_member_commits_for_its_generation(house: KafkaHouse, version: int) -> None:
    create_topic(house.peer(), "orders")
    first, second = stable(house, None, None)
    assert commit(first, version) == Code.NONE
    assert commit(first, version, generation_id_or_member_epoch=0) == Code.ILLEGAL_GENERATION
    assert commit(first, version, member_id="nobody") == Code.UNKNOWN_MEMBER_ID
    assert commit(first, version, member_id="", generation_id_or_member_epoch=-1) == Code.UNKNOWN_MEMBER_ID
    first.begin_join()
    assert commit(second, version) == Code.NONE
    second.begin_join()
    second.generation += 1
    assert commit(second, version) == Code.REBALANCE_IN_PROGRESS


def test_an_instance_commits_under_its_name_of_now(house: KafkaHouse) -> None:
    create_topic(house.peer(), "orders")
    first, second = stable(house, None, "static")
    assert commit(second) == Code.NONE
    anew = KafkaMember(house.peer(), instance="static")
    anew.joined(anew.begin_join())
    assert commit(second) == Code.FENCED_INSTANCE_ID
    assert commit(anew) == Code.NONE
    assert commit(first) == Code.NONE


# ---- what consumers say


def test_the_topics_of_a_subscription_are_found_in_every_version() -> None:
    for version in range(4):
        assert topics_of(subscription("a", "b", version=version)) == frozenset({"a", "b"})
    assert topics_of(subscription()) == frozenset()


@pytest.mark.parametrize("said", [b"", b"\0", b"\0\0\0\0\0\1", b"\0\0\xff\xff\xff\xff", b"hello world"])
def test_what_is_no_subscription_names_no_topics(said: bytes) -> None:
    assert topics_of(said) is None


def test_what_a_member_says_is_handed_on_byte_by_byte(house: KafkaHouse) -> None:
    member = KafkaMember(house.peer())
    said = bytes(range(256))
    joined = member.join_alone(protocols={"range": said})
    assert joined.members[0].metadata == said
    member.sync(assignments={member.member: said})
    (group,) = member.peer.ask(DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=["g"])).groups
    assert (group.members[0].member_metadata, group.members[0].member_assignment) == (said, said)

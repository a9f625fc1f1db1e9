from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onelog.broker.broker import Commit
from onelog.model import NO_TOPIC_ID, OFFSET_MAX, POSITION_MAX, TopicName
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.groups import (
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from onelog.protocols.kafka.versions import APIS, FIND_COORDINATOR, OFFSET_COMMIT, OFFSET_FETCH
from tests.support.kafka_peer import ADVERTISED, KafkaHouse, KafkaPeer
from tests.support.kafka_talk import create_topic, only


def versions(key: int) -> range:
    return range(APIS[key].version_min, APIS[key].version_max + 1)


# FindCoordinator


def find(peer: KafkaPeer, *keys: str, key_type: int = 0, version: int = 4) -> list[Any]:
    body = FindCoordinatorRequest(key=keys[0], key_type=key_type, coordinator_keys=list(keys))
    answer = peer.ask(FIND_COORDINATOR, version, body)
    return list(answer.coordinators) if version >= 4 else [answer]


@pytest.mark.parametrize("version", versions(FIND_COORDINATOR))
@pytest.mark.parametrize("listener", ["shared", "kafka"])
def test_every_group_is_here_under_the_address_of_the_listener(
    house: KafkaHouse, listener: str, version: int
) -> None:
    (found,) = find(house.peer(listener), "g", version=version)
    address = ADVERTISED[listener]
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, address.host, address.port)


def test_many_groups_are_found_in_one_request(peer: KafkaPeer) -> None:
    assert [(one.key, one.node_id) for one in find(peer, "a", "b", "c")] == [("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.parametrize("version", versions(FIND_COORDINATOR)[1:])
def test_transactions_have_no_coordinator_and_clients_hear_that_it_is_final(
    peer: KafkaPeer, version: int
) -> None:
    (found,) = find(peer, "t", key_type=1, version=version)
    assert (found.error_code, found.node_id) == (Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)
    assert found.error_message


def test_other_kinds_of_coordinators_are_invalid_requests(peer: KafkaPeer) -> None:
    assert find(peer, "s", key_type=2, version=6)[0].error_code == Code.INVALID_REQUEST


# OffsetCommit and OffsetFetch


def commit(
    peer: KafkaPeer,
    offset: int,
    *,
    version: int = 8,
    topic: str = "orders",
    topic_id: UUID = NO_TOPIC_ID,
    partition: int = 0,
    note: str | None = "",
    **options: Any,
) -> Code:
    part = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_leader_epoch=3, committed_metadata=note
    )
    topics = [OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=[part])]
    body = OffsetCommitRequest(group_id="g", topics=topics, **options)
    return Code(only(peer.ask(OFFSET_COMMIT, version, body).topics, "partitions").error_code)


def fetch(
    peer: KafkaPeer,
    topics: list[tuple[str, list[int]]] | None,
    *,
    version: int = 8,
    group: str = "g",
    topic_id: UUID = NO_TOPIC_ID,
) -> Any:
    """(error code of the group, its topics)"""
    if version < 8:
        old = (
            None
            if topics is None
            else [OffsetFetchRequestTopic(name=name, partition_indexes=parts) for name, parts in topics]
        )
        answer = peer.ask(OFFSET_FETCH, version, OffsetFetchRequest(group_id=group, topics=old))
        return answer.error_code, answer.topics
    new = (
        None
        if topics is None
        else [
            OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=parts)
            for name, parts in topics
        ]
    )
    asked = OffsetFetchRequestGroup(group_id=group, topics=new)
    (found,) = peer.ask(OFFSET_FETCH, version, OffsetFetchRequest(groups=[asked])).groups
    assert found.group_id == group
    return found.error_code, found.topics


def position(peer: KafkaPeer, **options: Any) -> Any:
    code, topics = fetch(peer, [("orders", [0])], **options)
    assert code == 0
    return only(topics, "partitions")


@pytest.mark.parametrize("version", versions(OFFSET_COMMIT))
def test_a_position_is_committed_in_every_version(peer: KafkaPeer, version: int) -> None:
    topic_id = create_topic(peer, "orders")
    assert commit(peer, 42, version=version, topic_id=topic_id, note="here") == 0
    found = position(peer)
    assert (found.committed_offset, found.metadata, found.error_code) == (42, "here", 0)
    assert found.committed_leader_epoch == (3 if version >= 6 else -1)


@pytest.mark.parametrize("version", versions(OFFSET_FETCH))
def test_a_position_is_found_in_every_version(peer: KafkaPeer, version: int) -> None:
    topic_id = create_topic(peer, "orders")
    commit(peer, 42, note=None)
    found = position(peer, version=version, topic_id=topic_id)
    assert (found.committed_offset, found.metadata, found.error_code) == (42, "", 0)
    assert found.committed_leader_epoch == (3 if version >= 5 else -1)


@pytest.mark.parametrize("version", versions(OFFSET_FETCH)[1:])
def test_null_finds_all_positions_of_a_group(peer: KafkaPeer, version: int) -> None:
    ids = {create_topic(peer, name, partitions=2): name for name in ("a", "b")}
    for topic, partition in (("b", 1), ("a", 0), ("b", 0)):
        commit(peer, 7, topic=topic, partition=partition)
    code, topics = fetch(peer, None, version=version)
    found = [
        (
            topic.name if version < 10 else ids[topic.topic_id],
            [part.partition_index for part in topic.partitions],
        )
        for topic in topics
    ]
    assert (code, found) == (0, [("a", [0]), ("b", [0, 1])])


@pytest.mark.parametrize("version", [1, 7, 8, 9])
def test_where_nothing_was_committed_there_is_minus_1_and_no_error(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders")
    found = position(peer, version=version, group="never seen")
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata) == (-1, -1, "")
    assert found.error_code == 0
    code, topics = fetch(peer, [("nowhere", [0])], version=version)
    assert (code, only(topics, "partitions").committed_offset) == (0, -1)


def test_an_empty_list_finds_nothing(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    commit(peer, 1)
    assert fetch(peer, []) == (0, [])


def test_many_groups_are_asked_in_one_request(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    commit(peer, 5)
    asked = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in ("g", "other")]
    groups = peer.ask(OFFSET_FETCH, 8, OffsetFetchRequest(groups=asked)).groups
    assert [(group.group_id, group.error_code, len(group.topics)) for group in groups] == [
        ("g", 0, 1),
        ("other", 0, 0),
    ]


def test_an_id_that_nobody_has_is_unknown(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert commit(peer, 1, version=10, topic_id=UUID(int=9)) == Code.UNKNOWN_TOPIC_ID
    code, topics = fetch(peer, [("", [0])], version=10, topic_id=UUID(int=9))
    assert (code, only(topics, "partitions").error_code) == (0, Code.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("member", ["", "m"])
@pytest.mark.parametrize("version", versions(OFFSET_COMMIT))
def test_a_commit_with_a_generation_is_of_a_group_that_is_not_there(
    peer: KafkaPeer, version: int, member: str
) -> None:
    topic_id = create_topic(peer, "orders")
    code = commit(
        peer,
        1,
        version=version,
        topic_id=topic_id,
        member_id=member,
        generation_id_or_member_epoch=0,
    )
    assert code == (Code.GROUP_ID_NOT_FOUND if version >= 9 else Code.ILLEGAL_GENERATION)
    assert position(peer).committed_offset == -1


def test_a_commit_with_a_generation_to_a_group_without_members_is_of_an_unknown_member(
    peer: KafkaPeer,
) -> None:
    create_topic(peer, "orders")
    assert commit(peer, 1) == 0
    for version in versions(OFFSET_COMMIT)[:-1]:
        code = commit(peer, 2, version=version, member_id="m", generation_id_or_member_epoch=1)
        assert code == Code.UNKNOWN_MEMBER_ID
    assert position(peer).committed_offset == 1


def test_a_member_of_an_older_protocol_may_ask_as_anybody_may(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    commit(peer, 1)
    asked = OffsetFetchRequestGroup(group_id="g", member_id="m", member_epoch=1, topics=None)
    (group,) = peer.ask(OFFSET_FETCH, 9, OffsetFetchRequest(groups=[asked])).groups
    assert (group.error_code, len(group.topics)) == (0, 1)


def test_positions_of_one_request_are_judged_one_by_one(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    parts = [
        OffsetCommitRequestPartition(partition_index=0, committed_offset=9, committed_metadata="x" * 4096),
        OffsetCommitRequestPartition(partition_index=1, committed_offset=9),
        OffsetCommitRequestPartition(partition_index=0, committed_offset=-1),
    ]
    topics = [
        OffsetCommitRequestTopic(name="nowhere", partitions=parts[:1]),
        OffsetCommitRequestTopic(name="orders", partitions=parts),
    ]
    answer = peer.ask(OFFSET_COMMIT, 8, OffsetCommitRequest(group_id="g", topics=topics))
    codes = [Code(part.error_code) for topic in answer.topics for part in topic.partitions]
    unknown = Code.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [unknown, Code.NONE, unknown, Code.INVALID_REQUEST]
    assert position(peer).committed_offset == 9


def test_a_note_that_is_too_long_is_refused(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert commit(peer, 1, note="x" * 4096) == 0
    assert commit(peer, 2, note="x" * 4097) == Code.OFFSET_METADATA_TOO_LARGE
    assert position(peer).committed_offset == 1


def test_a_position_may_lie_anywhere_and_outlives_a_restart(tmp_path: Path) -> None:
    house = KafkaHouse(tmp_path / "data")
    create_topic(house.peer(), "orders")
    assert commit(house.peer(), OFFSET_MAX) == 0
    house.restart()
    assert position(house.peer()).committed_offset == OFFSET_MAX
    house.close()


def test_a_position_of_another_dialect_beyond_63_bits_is_shown_as_the_largest(house: KafkaHouse) -> None:
    create_topic(house.peer(), "orders")

    async def committed() -> None:
        await house.broker.commit_positions("g", [Commit(TopicName("orders"), 0, POSITION_MAX)])

    house.loop.run_until_complete(committed())
    assert position(house.peer()).committed_offset == OFFSET_MAX

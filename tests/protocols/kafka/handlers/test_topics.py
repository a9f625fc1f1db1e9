from typing import Any
from uuid import UUID

import pytest

from onelog.model import NO_TOPIC_ID
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    DeletableTopicResult,
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from onelog.protocols.kafka.versions import (
    APIS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    FETCH,
    PRODUCE,
)
from tests.support.kafka_peer import KafkaPeer
from tests.support.kafka_talk import batch, create_topic, fetch_request, list_offset, only, produce_request


def versions(key: int) -> range:
    return range(APIS[key].version_min, APIS[key].version_max + 1)


def create(peer: KafkaPeer, *topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> Any:
    body = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return peer.ask(CREATE_TOPICS, version, body).topics


def create_one(peer: KafkaPeer, *, version: int = 7, **fields: Any) -> CreatableTopicResult:
    asked: dict[str, Any] = {"name": "orders", "num_partitions": 1, "replication_factor": 1, **fields}
    (made,) = create(peer, CreatableTopic(**asked), version=version)
    assert isinstance(made, CreatableTopicResult)
    return made


def names(peer: KafkaPeer) -> list[str]:
    return [topic.name for topic in peer.house.broker.topics()]


@pytest.mark.parametrize("version", versions(CREATE_TOPICS))
def test_a_topic_is_made_in_every_version(peer: KafkaPeer, version: int) -> None:
    made = create_one(peer, num_partitions=3, version=version)
    assert (made.error_code, made.name) == (0, "orders")
    assert peer.house.broker.topic("orders").partition_count == 3
    if version >= 5:
        assert (made.num_partitions, made.replication_factor) == (3, 1)
        assert {config.name: config.value for config in made.configs or ()}["retention.ms"] == "604800000"
    assert made.topic_id == (peer.house.broker.topic("orders").id if version >= 7 else NO_TOPIC_ID)


def test_counts_of_minus_1_stand_for_the_defaults(peer: KafkaPeer) -> None:
    made = create_one(peer, num_partitions=-1, replication_factor=-1)
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 1, 1)


def test_before_version_4_counts_have_no_default(peer: KafkaPeer) -> None:
    assert create_one(peer, num_partitions=-1, version=3).error_code == Code.INVALID_PARTITIONS
    assert create_one(peer, replication_factor=-1, version=3).error_code == Code.INVALID_REPLICATION_FACTOR


def test_a_topic_that_exists_is_not_made_again(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    made = create_one(peer)
    assert made.error_code == Code.TOPIC_ALREADY_EXISTS
    assert "orders" in (made.error_message or "")


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "x" * 250, "__consumer_offsets"])
def test_what_cannot_be_a_name_is_an_invalid_topic(peer: KafkaPeer, name: str) -> None:
    assert create_one(peer, name=name).error_code == Code.INVALID_TOPIC_EXCEPTION


def test_names_that_differ_only_in_points_and_underscores_collide(peer: KafkaPeer) -> None:
    create_topic(peer, "a.b")
    assert create_one(peer, name="a_b").error_code == Code.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("count", [0, -2, 1 << 30])
def test_a_count_of_partitions_that_cannot_be_is_refused(peer: KafkaPeer, count: int) -> None:
    assert create_one(peer, num_partitions=count).error_code == Code.INVALID_PARTITIONS
    assert names(peer) == []


@pytest.mark.parametrize("replicas", [0, 2, -2])
def test_one_broker_has_one_replica_to_give(peer: KafkaPeer, replicas: int) -> None:
    assert create_one(peer, replication_factor=replicas).error_code == Code.INVALID_REPLICATION_FACTOR


def assigned(*partitions: tuple[int, list[int]]) -> list[CreatableReplicaAssignment]:
    return [CreatableReplicaAssignment(partition_index=n, broker_ids=brokers) for n, brokers in partitions]


def test_partitions_may_be_assigned_to_the_one_broker(peer: KafkaPeer) -> None:
    assignments = assigned((0, [1]), (1, [1]))
    made = create_one(peer, num_partitions=-1, replication_factor=-1, assignments=assignments)
    assert (made.error_code, made.num_partitions) == (0, 2)


@pytest.mark.parametrize(
    "assignments",
    [assigned((0, [2])), assigned((0, [1, 1])), assigned((1, [1])), assigned((0, [1]), (0, [1]))],
)
def test_an_assignment_that_cannot_be_is_refused(
    peer: KafkaPeer, assignments: list[CreatableReplicaAssignment]
) -> None:
    made = create_one(peer, num_partitions=-1, replication_factor=-1, assignments=assignments)
    assert made.error_code == Code.INVALID_REPLICA_ASSIGNMENT


def test_an_assignment_and_counts_beside_it_are_an_invalid_request(peer: KafkaPeer) -> None:
    made = create_one(peer, num_partitions=1, assignments=assigned((0, [1])))
    assert made.error_code == Code.INVALID_REQUEST


@pytest.mark.parametrize(
    ("name", "value"), [("no.such.setting", "1"), ("retention.ms", "soon"), ("retention.ms", None)]
)
def test_a_setting_that_cannot_be_is_refused(peer: KafkaPeer, name: str, value: str | None) -> None:
    made = create_one(peer, configs=[CreatableTopicConfig(name=name, value=value)])
    assert made.error_code == Code.INVALID_CONFIG
    assert names(peer) == []


def test_a_topic_that_stands_there_twice_is_an_invalid_request_once(peer: KafkaPeer) -> None:
    twice = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    other = CreatableTopic(name="other", num_partitions=1, replication_factor=1)
    results = {topic.name: topic.error_code for topic in create(peer, twice, other, twice)}
    assert results == {"orders": Code.INVALID_REQUEST, "other": 0}
    assert names(peer) == ["other"]


def test_only_to_validate_makes_nothing_and_checks_all(peer: KafkaPeer) -> None:
    fine = CreatableTopic(name="fine", num_partitions=2, replication_factor=1)
    bad = CreatableTopic(name="bad", num_partitions=0, replication_factor=1)
    results = {topic.name: topic for topic in create(peer, fine, bad, validate_only=True)}
    assert results["fine"].error_code == 0
    assert (results["fine"].topic_id, results["fine"].num_partitions) == (NO_TOPIC_ID, 2)
    assert results["bad"].error_code == Code.INVALID_PARTITIONS
    assert names(peer) == []


# DeleteTopics


@pytest.mark.parametrize("version", versions(DELETE_TOPICS))
def test_a_topic_is_removed_by_name_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders")
    if version >= 6:
        body = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders", topic_id=NO_TOPIC_ID)])
    else:
        body = DeleteTopicsRequest(topic_names=["orders"])
    (gone,) = peer.ask(DELETE_TOPICS, version, body).responses
    assert (gone.error_code, gone.name) == (0, "orders")
    assert names(peer) == []


def delete(peer: KafkaPeer, name: str | None, topic_id: UUID = NO_TOPIC_ID) -> DeletableTopicResult:
    body = DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=topic_id)])
    (gone,) = peer.ask(DELETE_TOPICS, 6, body).responses
    assert isinstance(gone, DeletableTopicResult)
    return gone


def test_a_topic_is_removed_by_its_id_and_its_name_is_free(peer: KafkaPeer) -> None:
    topic_id = create_topic(peer, "orders")
    gone = delete(peer, None, topic_id)
    assert (gone.error_code, gone.name, gone.topic_id) == (0, "orders", topic_id)
    assert create_topic(peer, "orders") != topic_id


def test_what_does_not_exist_cannot_be_removed(peer: KafkaPeer) -> None:
    assert delete(peer, "nowhere").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(peer, None, UUID(int=5)).error_code == Code.UNKNOWN_TOPIC_ID


def test_neither_a_name_nor_an_id_or_both_are_an_invalid_request(peer: KafkaPeer) -> None:
    topic_id = create_topic(peer, "orders")
    assert delete(peer, None).error_code == Code.INVALID_REQUEST
    assert delete(peer, "orders", topic_id).error_code == Code.INVALID_REQUEST
    assert names(peer) == ["orders"]


def test_a_topic_that_is_to_go_twice_stays_and_is_an_invalid_request_once(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    body = DeleteTopicsRequest(topic_names=["orders", "orders"])
    (answer,) = peer.ask(DELETE_TOPICS, 5, body).responses
    assert (answer.name, answer.error_code) == ("orders", Code.INVALID_REQUEST)
    assert names(peer) == ["orders"]


# CreatePartitions


def widen(
    peer: KafkaPeer,
    count: int,
    *,
    name: str = "orders",
    version: int = 3,
    assignments: list[CreatePartitionsAssignment] | None = None,
    validate_only: bool = False,
) -> CreatePartitionsTopicResult:
    topic = CreatePartitionsTopic(name=name, count=count, assignments=assignments)
    body = CreatePartitionsRequest(topics=[topic], validate_only=validate_only)
    (result,) = peer.ask(CREATE_PARTITIONS, version, body).results
    assert isinstance(result, CreatePartitionsTopicResult)
    return result


@pytest.mark.parametrize("version", versions(CREATE_PARTITIONS))
def test_a_topic_gets_more_partitions_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders")
    assert widen(peer, 3, version=version).error_code == 0
    assert peer.house.broker.topic("orders").partition_count == 3


@pytest.mark.parametrize("count", [2, 1, 0, -1])
def test_a_topic_gets_no_fewer_partitions(peer: KafkaPeer, count: int) -> None:
    create_topic(peer, "orders", partitions=2)
    result = widen(peer, count)
    assert result.error_code == Code.INVALID_PARTITIONS
    assert result.error_message


def test_an_unknown_topic_gets_no_partitions(peer: KafkaPeer) -> None:
    assert widen(peer, 2, name="nowhere").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION


def test_only_to_validate_adds_nothing(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert widen(peer, 2, validate_only=True).error_code == 0
    assert widen(peer, 1, validate_only=True).error_code == Code.INVALID_PARTITIONS
    assert peer.house.broker.topic("orders").partition_count == 1


@pytest.mark.parametrize(("assigned", "code"), [([[1], [1]], 0), ([[1]], 39), ([[1], [2]], 39)])
def test_new_partitions_may_be_assigned_to_the_one_broker(
    peer: KafkaPeer, assigned: list[list[int]], code: int
) -> None:
    create_topic(peer, "orders")
    assignments = [CreatePartitionsAssignment(broker_ids=brokers) for brokers in assigned]
    assert widen(peer, 3, assignments=assignments).error_code == code


def test_each_topic_has_one_result_in_the_order_of_the_request(peer: KafkaPeer) -> None:
    create_topic(peer, "a")
    asked = [CreatePartitionsTopic(name=name, count=2, assignments=None) for name in ("x", "a", "y")]
    results = peer.ask(CREATE_PARTITIONS, 3, CreatePartitionsRequest(topics=asked)).results
    assert [(result.name, result.error_code) for result in results] == [("x", 3), ("a", 0), ("y", 3)]


def test_a_topic_that_is_to_grow_twice_stays_and_is_an_invalid_request_once(peer: KafkaPeer) -> None:
    create_topic(peer, "a")
    asked = [CreatePartitionsTopic(name="a", count=count, assignments=None) for count in (2, 3)]
    (result,) = peer.ask(CREATE_PARTITIONS, 3, CreatePartitionsRequest(topics=asked)).results
    assert (result.name, result.error_code) == ("a", Code.INVALID_REQUEST)
    assert peer.house.broker.topic("a").partition_count == 1


# DeleteRecords


def fill(peer: KafkaPeer, count: int, *, partition: int = 0) -> None:
    for _ in range(count):
        body = produce_request(batch(), partition=partition)
        assert only(peer.ask(PRODUCE, 9, body).responses, "partition_responses").error_code == 0


def cut(
    peer: KafkaPeer, offset: int, *, topic: str = "orders", partition: int = 0, version: int = 2
) -> DeleteRecordsPartitionResult:
    part = DeleteRecordsPartition(partition_index=partition, offset=offset)
    body = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[part])])
    answer = only(peer.ask(DELETE_RECORDS, version, body).topics, "partitions")
    assert isinstance(answer, DeleteRecordsPartitionResult)
    return answer


@pytest.mark.parametrize("version", versions(DELETE_RECORDS))
def test_records_below_an_offset_are_gone_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders")
    fill(peer, 5)
    result = cut(peer, 3, version=version)
    assert (result.error_code, result.low_watermark) == (0, 3)
    assert list_offset(peer, -2).offset == 3
    below = only(peer.ask(FETCH, 12, fetch_request(2)).responses, "partitions")
    assert below.error_code == Code.OFFSET_OUT_OF_RANGE
    there = only(peer.ask(FETCH, 12, fetch_request(3)).responses, "partitions")
    assert (there.error_code, there.log_start_offset) == (0, 3)


def test_minus_1_empties_a_log_and_a_restart_brings_nothing_back(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    fill(peer, 4)
    assert cut(peer, -1).low_watermark == 4
    peer.house.restart()
    again = peer.house.peer()
    assert (list_offset(again, -2).offset, list_offset(again, -1).offset) == (4, 4)


def test_the_start_of_a_log_never_goes_back(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    fill(peer, 4)
    assert cut(peer, 3).low_watermark == 3
    result = cut(peer, 1)
    assert (result.error_code, result.low_watermark) == (0, 3)


@pytest.mark.parametrize("offset", [3, -2])
def test_where_no_record_is_a_log_cannot_begin(peer: KafkaPeer, offset: int) -> None:
    create_topic(peer, "orders")
    fill(peer, 2)
    result = cut(peer, offset)
    assert (result.error_code, result.low_watermark) == (Code.OFFSET_OUT_OF_RANGE, -1)
    assert list_offset(peer, -2).offset == 0


def test_each_partition_has_its_own_outcome_when_records_go(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", partitions=2)
    fill(peer, 2, partition=1)
    parts = [DeleteRecordsPartition(partition_index=index, offset=1) for index in (0, 1, 2)]
    asked = [
        DeleteRecordsTopic(name="nowhere", partitions=parts[:1]),
        DeleteRecordsTopic(name="orders", partitions=parts),
    ]
    nowhere, orders = peer.ask(DELETE_RECORDS, 2, DeleteRecordsRequest(topics=asked)).topics
    assert [(p.partition_index, p.error_code) for p in nowhere.partitions] == [(0, 3)]
    assert [(p.partition_index, p.error_code, p.low_watermark) for p in orders.partitions] == [
        (0, Code.OFFSET_OUT_OF_RANGE, -1),
        (1, 0, 1),
        (2, Code.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]

from pathlib import Path
from typing import Any

import pytest

from onelog.model import NO_TOPIC_ID
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.context import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from onelog.protocols.kafka.messages.topics import MetadataRequest, MetadataRequestTopic, MetadataResponse
from onelog.protocols.kafka.versions import APIS, METADATA
from tests.support.kafka_peer import ADVERTISED, KafkaHouse, KafkaPeer
from tests.support.kafka_talk import create_topic, delete_topic

VERSIONS = range(APIS[METADATA].version_min, APIS[METADATA].version_max + 1)


def ask(peer: KafkaPeer, *names: str, version: int = 9, **options: Any) -> MetadataResponse:
    topics = [MetadataRequestTopic(name=name) for name in names]
    answer = peer.ask(METADATA, version, MetadataRequest(topics=topics, **options))
    assert isinstance(answer, MetadataResponse)
    return answer


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_is_described_in_every_version(peer: KafkaPeer, version: int) -> None:
    topic_id = create_topic(peer, "orders", partitions=3)
    answer = ask(peer, "orders", version=version)
    (topic,) = answer.topics
    assert (topic.error_code, topic.name, len(topic.partitions)) == (0, "orders", 3)
    assert [part.partition_index for part in topic.partitions] == [0, 1, 2]
    assert {part.leader_id for part in topic.partitions} == {answer.brokers[0].node_id}
    assert all(part.isr_nodes == part.replica_nodes == [part.leader_id] for part in topic.partitions)
    assert topic.topic_id == (topic_id if version >= 10 else NO_TOPIC_ID)
    assert version < 7 or all(part.leader_epoch >= 0 for part in topic.partitions)
    assert version < 2 or answer.cluster_id


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("name", [None, "orders"])
def test_versions_that_cannot_answer_without_a_name_refuse_an_id(
    peer: KafkaPeer, version: int, name: str | None
) -> None:
    asked = MetadataRequestTopic(name=name, topic_id=create_topic(peer, "orders"))
    (topic,) = peer.ask(METADATA, version, MetadataRequest(topics=[asked])).topics
    assert (topic.error_code, topic.name) == (Code.INVALID_REQUEST, name or "")


def test_null_lists_all_and_empty_lists_none(peer: KafkaPeer) -> None:
    create_topic(peer, "a")
    create_topic(peer, "b")
    for version in VERSIONS[1:]:
        everything = peer.ask(METADATA, version, MetadataRequest(topics=None))
        assert [topic.name for topic in everything.topics] == ["a", "b"]
        assert ask(peer, version=version).topics == []


def test_in_version_0_empty_lists_all(peer: KafkaPeer) -> None:
    create_topic(peer, "a")
    assert [topic.name for topic in ask(peer, version=0).topics] == ["a"]


@pytest.mark.parametrize("listener", ["shared", "kafka"])
def test_a_client_is_told_the_address_of_the_listener_it_came_through(
    house: KafkaHouse, listener: str
) -> None:
    (broker,) = ask(house.peer(listener)).brokers
    assert (broker.host, broker.port) == (ADVERTISED[listener].host, ADVERTISED[listener].port)


def test_asking_for_a_topic_makes_it_where_that_is_allowed(peer: KafkaPeer) -> None:
    (topic,) = ask(peer, "fresh", allow_auto_topic_creation=True).topics
    assert (topic.error_code, len(topic.partitions)) == (0, 1)
    (again,) = ask(peer, "fresh", version=12, allow_auto_topic_creation=False).topics
    assert again.error_code == 0


@pytest.mark.parametrize("version", [0, 3])
def test_old_clients_cannot_forbid_that_a_topic_is_made(peer: KafkaPeer, version: int) -> None:
    assert ask(peer, "fresh", version=version).topics[0].error_code == 0


def test_a_topic_is_not_made_when_the_client_forbids_it(peer: KafkaPeer) -> None:
    (topic,) = ask(peer, "fresh", allow_auto_topic_creation=False).topics
    assert topic.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(peer).topics == []


def test_a_topic_is_not_made_when_the_broker_forbids_it(tmp_path: Path) -> None:
    house = KafkaHouse(tmp_path / "data", auto_create_topics=False)
    (topic,) = ask(house.peer(), "fresh", allow_auto_topic_creation=True).topics
    assert topic.error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    house.close()


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250, "a/b"])
def test_what_cannot_be_a_name_is_an_invalid_topic(peer: KafkaPeer, name: str) -> None:
    assert ask(peer, name).topics[0].error_code == Code.INVALID_TOPIC_EXCEPTION


def test_a_topic_is_found_by_its_id(peer: KafkaPeer) -> None:
    topic_id = create_topic(peer, "orders")
    body = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name=None)])
    (topic,) = peer.ask(METADATA, 12, body).topics
    assert (topic.error_code, topic.name, topic.topic_id) == (0, "orders", topic_id)


def test_an_id_that_nobody_has_is_an_unknown_id(peer: KafkaPeer) -> None:
    topic_id = create_topic(peer, "orders")
    wrong = type(topic_id)(int=topic_id.int ^ 1)
    body = MetadataRequest(topics=[MetadataRequestTopic(topic_id=wrong, name=None)])
    (topic,) = peer.ask(METADATA, 12, body).topics
    assert (topic.error_code, topic.name, topic.topic_id) == (Code.UNKNOWN_TOPIC_ID, None, wrong)


def test_a_topic_that_is_removed_while_the_answer_waits_is_unknown(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    asked = peer.begin(METADATA, 9, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]))
    delete_topic(peer, "orders")
    (topic,) = asked.body().topics
    assert (topic.error_code, topic.name) == (Code.UNKNOWN_TOPIC_OR_PARTITION, "orders")


def test_what_may_be_done_is_told_when_asked(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    answer = ask(peer, "orders", version=8)
    assert (answer.topics[0].topic_authorized_operations, answer.cluster_authorized_operations) == (
        NOT_ASKED,
        NOT_ASKED,
    )
    answer = ask(
        peer,
        "orders",
        version=8,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    assert answer.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS

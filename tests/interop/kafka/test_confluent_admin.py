"""librdkafka's administrator, as Python programs use it."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

pytestmark = pytest.mark.real
PATIENCE_S = 20.0


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def make(admin: AdminClient, topic: str, partitions: int = 1, config: dict[str, str] | None = None) -> None:
    admin.create_topics([NewTopic(topic, partitions, 1, config=config or {})])[topic].result(PATIENCE_S)


def write(bootstrap: str, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def settings(admin: AdminClient, kind: Any, name: str) -> dict[str, Any]:
    resource = ConfigResource(kind, name)
    found: dict[str, Any] = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    return found


def refused(future: "Future[Any]") -> int:
    with pytest.raises(KafkaException) as caught:
        future.result(PATIENCE_S)
    code: int = caught.value.args[0].code()
    return code


def test_the_cluster_and_its_topics_are_described(admin: AdminClient, topic: str) -> None:
    make(admin, topic, 3)
    cluster = admin.describe_cluster(request_timeout=PATIENCE_S).result(PATIENCE_S)
    (node,) = cluster.nodes
    assert (cluster.controller.id, node.id) == (1, 1)
    assert len(cluster.cluster_id) == 22
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(PATIENCE_S)
    assert [(part.id, part.leader.id) for part in described.partitions] == [(0, 1), (1, 1), (2, 1)]
    missing = admin.describe_topics(TopicCollection(["nowhere"]))["nowhere"]
    assert refused(missing) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_settings_of_a_topic_are_set_taken_back_and_replaced(admin: AdminClient, topic: str) -> None:
    make(admin, topic, config={"retention.ms": "1000"})
    changes = [
        ConfigEntry("segment.ms", "60000", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE),
        ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.APPEND),
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    found = settings(admin, ResourceType.TOPIC, topic)
    assert (found["segment.ms"].value, found["segment.ms"].is_default) == ("60000", False)
    assert (found["retention.ms"].value, found["retention.ms"].is_default) == ("604800000", True)
    whole = ConfigResource(ResourceType.TOPIC, topic, set_config={"max.message.bytes": "2000"})
    with pytest.warns(DeprecationWarning, match="alter_configs has been deprecated"):
        admin.alter_configs([whole])[whole].result(PATIENCE_S)
    found = settings(admin, ResourceType.TOPIC, topic)
    assert {name for name, entry in found.items() if not entry.is_default} >= {"max.message.bytes"}
    assert found["segment.ms"].value == "604800000"


def test_settings_that_cannot_be_are_refused_by_name(admin: AdminClient, topic: str) -> None:
    make(admin, topic)
    for name, value in (("no.such", "1"), ("retention.ms", "soon"), ("preallocate", "true")):
        change = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        assert refused(admin.incremental_alter_configs([resource])[resource]) == KafkaError.INVALID_CONFIG
    resource = ConfigResource(ResourceType.TOPIC, "nowhere")
    assert refused(admin.describe_configs([resource])[resource]) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_the_broker_is_described(admin: AdminClient) -> None:
    found = settings(admin, ResourceType.BROKER, "1")
    assert found["advertised.listeners"].value.startswith("PLAINTEXT://127.0.0.1:")
    assert found["message.max.bytes"].value == "1048588"
    assert all(entry.is_read_only for entry in found.values())


def test_records_are_deleted_and_offsets_listed(admin: AdminClient, bootstrap: str, topic: str) -> None:
    make(admin, topic)
    write(bootstrap, topic, b"a", b"b", b"c")
    place = TopicPartition(topic, 0, 2)
    deleted = admin.delete_records([place])[place].result(PATIENCE_S)
    assert deleted.low_watermark == 2
    for spec, offset in ((OffsetSpec.earliest(), 2), (OffsetSpec.latest(), 3)):
        at = TopicPartition(topic, 0)
        assert admin.list_offsets({at: spec})[at].result(PATIENCE_S).offset == offset
    beyond = TopicPartition(topic, 0, 9)
    assert refused(admin.delete_records([beyond])[beyond]) == KafkaError.OFFSET_OUT_OF_RANGE


def test_partitions_are_added_and_never_taken(admin: AdminClient, topic: str) -> None:
    make(admin, topic, 2)
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(PATIENCE_S)
    assert len(admin.list_topics(timeout=PATIENCE_S).topics[topic].partitions) == 4
    assert refused(admin.create_partitions([NewPartitions(topic, 4)])[topic]) == KafkaError.INVALID_PARTITIONS


def test_what_is_only_validated_is_not_made(admin: AdminClient, topic: str) -> None:
    admin.create_topics([NewTopic(topic, 1, 1)], validate_only=True)[topic].result(PATIENCE_S)
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics
    for new, code in (
        (NewTopic(topic, 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic(topic, 1, 2), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic(topic, 1, 1, config={"a": "b"}), KafkaError.INVALID_CONFIG),
        (NewTopic("a b", 1, 1), KafkaError.TOPIC_EXCEPTION),
    ):
        assert refused(admin.create_topics([new])[new.topic]) == code


def test_a_topic_is_removed_and_its_name_is_free_with_no_record(
    admin: AdminClient, bootstrap: str, topic: str
) -> None:
    make(admin, topic)
    write(bootstrap, topic, b"a")
    admin.delete_topics([topic])[topic].result(PATIENCE_S)
    assert refused(admin.delete_topics([topic])[topic]) == KafkaError.UNKNOWN_TOPIC_OR_PART
    make(admin, topic)
    at = TopicPartition(topic, 0)
    assert admin.list_offsets({at: OffsetSpec.latest()})[at].result(PATIENCE_S).offset == 0

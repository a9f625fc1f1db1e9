"""kafka-python's administrator, which takes the newest version of every request."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas the old way
    from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
    from kafka.admin import ConfigResource, ConfigResourceType, OffsetSpec
    from kafka.errors import InvalidPartitionsError, TopicAlreadyExistsError

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore:read_text is deprecated")]


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Any]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def make(admin: Any, topic: str, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
    admin.create_topics(
        {topic: {"num_partitions": partitions, "replication_factor": 1, "configs": configs or {}}}
    )


def write(bootstrap: str, topic: str, *values: bytes) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    try:
        for sent in [producer.send(topic, value, partition=0) for value in values]:
            sent.get(20)
    finally:
        producer.close()


def own(admin: Any, topic: str) -> dict[str, str]:
    """The settings that differ from their defaults."""
    found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    return {name: entry["value"] for name, entry in found["topic"][topic].items()}


def test_the_cluster_is_described(admin: Any) -> None:
    cluster = admin.describe_cluster()
    assert cluster["controller_id"] == 1
    assert [broker["broker_id"] for broker in cluster["brokers"]] == [1]
    assert len(cluster["cluster_id"]) == 22


def test_topics_are_made_widened_listed_and_removed(admin: Any, topic: str) -> None:
    make(admin, topic, 2)
    admin.wait_for_topics([topic])
    with pytest.raises(TopicAlreadyExistsError):
        make(admin, topic)
    admin.create_partitions({topic: 3})
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({topic: 3})
    (described,) = admin.describe_topics([topic])
    assert [part["partition_index"] for part in described["partitions"]] == [0, 1, 2]
    assert topic in admin.list_topics()
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()


@pytest.mark.parametrize("incremental", [True, False])
def test_settings_are_altered_and_reset_in_both_ways(admin: Any, topic: str, incremental: bool) -> None:
    make(admin, topic, configs={"retention.ms": "1000"})
    assert own(admin, topic) == {"retention.ms": "1000"}
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"segment.ms": "60000"})
    admin.alter_configs([resource], incremental=incremental)
    assert own(admin, topic) == {"retention.ms": "1000", "segment.ms": "60000"}
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, ["retention.ms"])
    admin.reset_configs([resource], incremental=incremental)
    assert own(admin, topic) == {"segment.ms": "60000"}


def test_a_setting_that_cannot_be_is_refused(admin: Any, topic: str) -> None:
    make(admin, topic)
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "soon"})
    outcome = admin.alter_configs([resource])["topic"][topic]
    assert outcome == (
        "[Error 40] InvalidConfigurationError: setting retention.ms = 'soon': expected a whole number."
    )


def test_every_setting_is_described_with_its_kind(admin: Any, topic: str) -> None:
    make(admin, topic)
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    found = admin.describe_configs([resource], include_synonyms=True, config_filter="all")["topic"][topic]
    assert len(found) == 34
    broker = ConfigResource(ConfigResourceType.BROKER, "1")
    found = admin.describe_configs([broker], config_filter="all")["broker"]["1"]
    assert found["advertised.listeners"]["value"].startswith("PLAINTEXT://127.0.0.1:")


def test_records_are_deleted_and_offsets_listed(admin: Any, bootstrap: str, topic: str) -> None:
    make(admin, topic)
    write(bootstrap, topic, b"a", b"b", b"c")
    at = TopicPartition(topic, 0)
    assert admin.delete_records({at: 2})[at]["low_watermark"] == 2
    assert admin.list_partition_offsets({at: OffsetSpec.EARLIEST})[at].offset == 2
    assert admin.list_partition_offsets({at: OffsetSpec.LATEST})[at].offset == 3


def test_the_directory_tells_what_a_topic_takes(admin: Any, bootstrap: str, topic: str) -> None:
    make(admin, topic, 2)
    write(bootstrap, topic, b"a" * 1000)
    (found,) = admin.describe_log_dirs([topic])
    (directory,) = found["log_dirs"]
    (one,) = directory["topics"]
    sizes = {part["partition_index"]: part["partition_size"] for part in one["partitions"]}
    assert sizes[0] > 1000
    assert sizes[1] == 0

"""librdkafka, as Python programs use it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from onelog.binary.compression import Codec
from onelog.protocols.kafka.messages.topics import MetadataRequest, MetadataRequestTopic
from onelog.protocols.kafka.versions import METADATA, PRODUCE
from tests.support.kafka_talk import batch, only, produce_request
from tests.support.kafka_wire import Wire

pytestmark = pytest.mark.real
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PATIENCE_S = 20.0


def produce(bootstrap: str, topic: str, values: list[bytes], **config: Any) -> list[Message]:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **config})
    delivered: list[Message] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        assert error is None
        delivered.append(message)

    for value in values:
        producer.produce(topic, value, key=b"k", headers=[("h", b"1")], partition=0, on_delivery=on_delivery)
    assert producer.flush(PATIENCE_S) == 0
    return delivered


@contextmanager
def consumer(bootstrap: str, **config: Any) -> Iterator[Consumer]:
    made = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "readers", "enable.auto.commit": False, **config}
    )
    try:
        yield made
    finally:
        made.close()


def consume(made: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    while len(messages) < count:
        found = made.consume(count - len(messages), timeout=PATIENCE_S)
        assert found, f"{len(messages)} of {count} came"
        messages += found
    assert all(message.error() is None for message in messages)
    return messages


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_produced_is_consumed_with_every_codec(bootstrap: str, topic: str, codec: str) -> None:
    values = [b"value %d" % number * 10 for number in range(200)]
    options = {"compression.type": codec, "enable.idempotence": True}
    delivered = produce(bootstrap, topic, values, **options)
    assert [message.offset() for message in delivered] == list(range(200))
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        messages = consume(reader, 200)
    assert [message.value() for message in messages] == values
    assert {(message.key(), tuple(message.headers() or ())) for message in messages} == {
        (b"k", (("h", b"1"),))
    }
    assert [message.timestamp() for message in messages] == [message.timestamp() for message in delivered]


@pytest.mark.parametrize("codec", list(Codec))
def test_it_reads_what_our_encoders_wrote(bootstrap: str, topic: str, codec: Codec) -> None:
    host, port = bootstrap.rsplit(":", 1)
    with Wire(host, int(port)) as wire:
        wire.ask(METADATA, 9, MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
        records = batch(b"a" * 5000, b"b", codec=codec, timestamp_ms=time.time_ns() // 1_000_000)
        answer = wire.ask(PRODUCE, 9, produce_request(records, topic=topic))
    assert only(answer.responses, "partition_responses").error_code == 0
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert [message.value() for message in consume(reader, 2)] == [b"a" * 5000, b"b"]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement_is_given(bootstrap: str, topic: str, acks: str) -> None:
    produce(bootstrap, topic, [b"a", b"b"], acks=acks, **{"enable.idempotence": False})
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert [message.value() for message in consume(reader, 2)] == [b"a", b"b"]


def test_a_reader_waits_at_the_end_and_hears_of_new_records(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"old"])
    with consumer(bootstrap) as reader:
        reader.assign([TopicPartition(topic, 0, OFFSET_END)])
        reader.poll(0.5)
        produce(bootstrap, topic, [b"new"])
        assert [message.value() for message in consume(reader, 1)] == [b"new"]


def test_committed_reads_see_what_others_see(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"a", b"b"])
    with consumer(bootstrap, **{"isolation.level": "read_committed"}) as reader:
        reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert len(consume(reader, 2)) == 2


def test_watermarks_and_times_lead_to_offsets(bootstrap: str, topic: str) -> None:
    delivered = produce(bootstrap, topic, [b"a", b"b", b"c"])
    with consumer(bootstrap) as reader:
        assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE_S) == (0, 3)
        _, timestamp_ms = delivered[0].timestamp()
        (found,) = reader.offsets_for_times([TopicPartition(topic, 0, timestamp_ms)], timeout=PATIENCE_S)
        assert found.offset == 0
        (none,) = reader.offsets_for_times(
            [TopicPartition(topic, 0, timestamp_ms + 10**9)], timeout=PATIENCE_S
        )
        assert none.offset == OFFSET_END


def test_a_position_is_committed_and_found_without_membership(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"a", b"b", b"c"])
    at = TopicPartition(topic, 0, 2)
    with consumer(bootstrap, **{"group.id": topic}) as reader:
        reader.assign([TopicPartition(topic, 0)])
        (committed,) = reader.commit(offsets=[at], asynchronous=False) or []
        assert committed.error is None
    with consumer(bootstrap, **{"group.id": topic}) as reader:
        (found,) = reader.committed([TopicPartition(topic, 0)], timeout=PATIENCE_S)
        assert found.offset == 2
        reader.assign([TopicPartition(topic, 0)])
        assert [message.value() for message in consume(reader, 1)] == [b"c"]


def test_an_administrator_makes_changes_and_removes_topics(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(topic, 2, 1, config={"retention.ms": "3600000"})])
    made[topic].result(PATIENCE_S)
    assert len(admin.list_topics(timeout=PATIENCE_S).topics[topic].partitions) == 2
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE_S)
    assert len(admin.list_topics(timeout=PATIENCE_S).topics[topic].partitions) == 3
    assert _setting(admin, topic, "retention.ms") == "3600000"
    change = ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    assert _setting(admin, topic, "retention.ms") == "7200000"
    admin.delete_topics([topic])[topic].result(PATIENCE_S)
    assert topic not in admin.list_topics(timeout=PATIENCE_S).topics


def _setting(admin: AdminClient, topic: str, name: str) -> str:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    found = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    assert len(found) > 30
    value: str = found[name].value
    return value


def test_what_exists_cannot_be_made_again(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_S)
    with pytest.raises(KafkaException) as caught:
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(PATIENCE_S)
    assert caught.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS


def test_a_transactional_producer_is_told_at_once_that_there_are_no_transactions(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
    with pytest.raises(KafkaException) as caught:
        producer.init_transactions(PATIENCE_S)
    assert caught.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

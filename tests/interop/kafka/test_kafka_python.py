"""kafka-python: a client in Python alone, which knows no topic ids."""

import warnings
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas the old way
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.structs import OffsetAndMetadata

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore:read_text is deprecated")]
# Its snappy needs a package of its own; what it would write is what our own encoder writes.
CODECS = [None, "gzip", "lz4", "zstd"]


def produce(bootstrap: str, topic: str, values: list[bytes], **config: Any) -> list[Any]:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, **config)
    try:
        futures = [
            producer.send(topic, value, key=b"k", headers=[("h", b"1")], partition=0) for value in values
        ]
        return [future.get(20) for future in futures]
    finally:
        producer.close()


def consume(bootstrap: str, topic: str, count: int, **config: Any) -> list[Any]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, **config)
    at = TopicPartition(topic, 0)
    try:
        consumer.assign([at])
        consumer.seek_to_beginning(at)
        records: list[Any] = []
        while len(records) < count:
            found = consumer.poll(timeout_ms=20_000, max_records=count)
            assert found, f"{len(records)} of {count} came"
            records += found[at]
        return records
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_produced_is_consumed_with_every_codec(bootstrap: str, topic: str, codec: str | None) -> None:
    values = [b"value %d" % number * 10 for number in range(100)]
    sent = produce(bootstrap, topic, values, compression_type=codec, enable_idempotence=True)
    assert [metadata.offset for metadata in sent] == list(range(100))
    records = consume(bootstrap, topic, 100)
    assert [record.value for record in records] == values
    assert {(record.key, tuple(record.headers)) for record in records} == {(b"k", (("h", b"1"),))}
    assert [record.timestamp for record in records] == [metadata.timestamp for metadata in sent]


def test_ends_and_times_lead_to_offsets(bootstrap: str, topic: str) -> None:
    sent = produce(bootstrap, topic, [b"a", b"b"])
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    at = TopicPartition(topic, 0)
    try:
        assert consumer.beginning_offsets([at]) == {at: 0}
        assert consumer.end_offsets([at]) == {at: 2}
        assert consumer.offsets_for_times({at: sent[0].timestamp})[at].offset == 0
        assert consumer.offsets_for_times({at: sent[0].timestamp + 10**9}) == {at: None}
    finally:
        consumer.close()


def test_a_position_is_committed_and_found_without_membership(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, [b"a", b"b"])
    at = TopicPartition(topic, 0)
    for turn in range(2):
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=topic, enable_auto_commit=False)
        try:
            consumer.assign([at])
            if turn == 0:
                consumer.commit({at: OffsetAndMetadata(1, "here", -1)})
            else:
                found = consumer.committed(at, metadata=True)
                assert (found.offset, found.metadata) == (1, "here")
                assert consumer.position(at) == 1
        finally:
            consumer.close()

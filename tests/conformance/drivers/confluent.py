"""Kafka through confluent-kafka, which is librdkafka."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conformance.driver import (
    Addresses,
    Expression,
    Feature,
    Hostility,
    Kind,
    Message,
    Read,
    Refusal,
    Refused,
)

TIMEOUT_S = 10.0
MESSAGE_BYTES_MAX = 64 << 20
MEANINGS = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: {Refusal.UNKNOWN_TOPIC, Refusal.UNKNOWN_PARTITION},
    KafkaError._UNKNOWN_TOPIC: {Refusal.UNKNOWN_TOPIC},
    KafkaError._UNKNOWN_PARTITION: {Refusal.UNKNOWN_PARTITION},
    KafkaError.OFFSET_OUT_OF_RANGE: {Refusal.OUT_OF_RANGE},
    KafkaError._AUTO_OFFSET_RESET: {Refusal.OUT_OF_RANGE},
    KafkaError.MSG_SIZE_TOO_LARGE: {Refusal.TOO_LARGE},
}


def _refused(error: KafkaError) -> Refused:
    return Refused(MEANINGS.get(error.code(), set()), error)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except KafkaException as raised:
        raise _refused(raised.args[0]) from raised


class Confluent:
    """A producer for each codec, and a consumer for each reading: an old one is slow to see a new topic."""

    name = "kafka-confluent"

    def __init__(self, addresses: Addresses) -> None:
        # Errors of a connection are told by the calls themselves.
        self._common = {
            "bootstrap.servers": addresses["shared"],
            "log_level": 0,
            # How long an unknown topic may be one that is not known yet.
            "topic.metadata.propagation.max.ms": 300,
        }
        self._producers: dict[str, Producer] = {}
        self._admin = AdminClient(self._common)

    def _open_consumer(self, group: str = "conformance", *, wait_ms: int = 15_000) -> Consumer:
        return Consumer(
            {
                **self._common,
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "check.crcs": True,
                "fetch.wait.max.ms": wait_ms,
                "fetch.message.max.bytes": MESSAGE_BYTES_MAX,
                "receive.message.max.bytes": 2 * MESSAGE_BYTES_MAX,
                "fetch.max.bytes": MESSAGE_BYTES_MAX,
            }
        )

    def _producer(self, codec: str) -> Producer:
        if codec not in self._producers:
            self._producers[codec] = Producer(
                {
                    **self._common,
                    "compression.type": codec,
                    "linger.ms": 20,
                    "enable.idempotence": True,
                    "message.max.bytes": MESSAGE_BYTES_MAX,
                    "message.timeout.ms": int(TIMEOUT_S * 1000),
                }
            )
        return self._producers[codec]

    def create_topic(
        self, topic: str, partition_count: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        wanted = NewTopic(topic, partition_count, 1, config=dict(config or {}))
        for made in self._admin.create_topics([wanted]).values():
            made.result(TIMEOUT_S)

    def topics(self) -> list[str]:
        return list(self._admin.list_topics(timeout=TIMEOUT_S).topics)

    def produce(
        self, topic: str, messages: Sequence[Message], *, partition: int = 0, codec: str = "none"
    ) -> list[int]:
        offsets: list[int] = []
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                errors.append(error)
            else:
                offsets.append(message.offset())

        producer = self._producer(codec)
        for m in messages:
            with _translated():
                producer.produce(
                    topic, m.value, m.key, partition, headers=list(m.headers) or None, on_delivery=delivered
                )
        assert producer.flush(TIMEOUT_S) == 0
        if errors:
            raise _refused(errors[0])
        return offsets

    def produce_pipelined(self, topic: str, values: Sequence[bytes]) -> None:
        self.produce(topic, [Message(v) for v in values])

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        found: list[Read] = []
        with closing(self._open_consumer(wait_ms=50)) as consumer:
            self._must_exist(topic, partition)
            consumer.assign([TopicPartition(topic, partition, offset)])
            while (read := self._next(consumer)) is not None:
                found.append(read)
        return found

    def _must_exist(self, topic: str, partition: int) -> None:
        """An assignment to what nobody knows would wait for its coming."""
        known = self._admin.list_topics(timeout=TIMEOUT_S).topics
        if topic not in known:
            raise Refused({Refusal.UNKNOWN_TOPIC}, topic)
        if partition not in known[topic].partitions:
            raise Refused({Refusal.UNKNOWN_PARTITION}, f"{topic}/{partition}")

    def wait(self, topic: str, offset: int) -> list[Read]:
        with closing(self._open_consumer()) as consumer:
            consumer.assign([TopicPartition(topic, 0, offset)])
            # The first answer is that there is nothing yet.
            read = self._next(consumer) or self._next(consumer)
        return [read] if read is not None else []

    def _next(self, consumer: Consumer) -> Read | None:
        """The next message, or None at the end."""
        with _translated():
            message = consumer.poll(TIMEOUT_S)
        assert message is not None, "nothing came, not even the end"
        error = message.error()
        if error is None:
            headers = tuple((name, value) for name, value in message.headers() or ())
            return Read(Message(message.value(), message.key(), headers), message.offset())
        if error.code() == KafkaError._PARTITION_EOF:
            return None
        raise _refused(error)

    def commit(self, group: str, topic: str, offset: int) -> None:
        with closing(self._open_consumer(group)) as consumer, _translated():
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)

    def position(self, group: str, topic: str) -> int | None:
        with closing(self._open_consumer(group)) as consumer, _translated():
            (found,) = consumer.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_S)
        return found.offset if found.offset >= 0 else None

    def prove_never(self, feature: Feature) -> None:
        raise AssertionError(f"Kafka has {feature.value}")

    def close(self) -> None:
        for producer in self._producers.values():
            producer.flush(TIMEOUT_S)


CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# ApiVersions, version 0, correlation 1, a null client id.
API_VERSIONS = bytes.fromhex("0000000a 0012 0000 00000001 ffff")
HOSTILITY = Hostility(
    listener="kafka",
    request=API_VERSIONS,
    oversize=b"\x7f\xff\xff\xff" + API_VERSIONS[4:],
    unknown=bytes.fromhex("0000000a 03e7 0000 00000001 ffff"),
)
KIND = Kind("kafka-confluent", "kafka", Confluent, Expression(), HOSTILITY, codecs=CODECS)

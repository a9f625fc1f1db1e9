"""Kafka through kafka-python, which shares no code with librdkafka."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from tests.conformance.driver import (
    Addresses,
    Expression,
    Feature,
    Kind,
    Message,
    Read,
    Refusal,
    Refused,
)
from tests.conformance.drivers.confluent import CODECS, HOSTILITY

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas the old way
    from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
    from kafka.admin import KafkaAdminClient, NewTopic

TIMEOUT_S = 20.0
TIMEOUT_MS = int(TIMEOUT_S * 1000)
MESSAGE_BYTES_MAX = 64 << 20
MEANINGS: list[tuple[type[Exception], Refusal]] = [
    (errors.UnknownTopicOrPartitionError, Refusal.UNKNOWN_TOPIC),
    (errors.OffsetOutOfRangeError, Refusal.OUT_OF_RANGE),
    (errors.MessageSizeTooLargeError, Refusal.TOO_LARGE),
]


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except errors.KafkaError as raised:
        raise Refused(
            {meaning for kind, meaning in MEANINGS if isinstance(raised, kind)}, repr(raised)
        ) from raised


class PythonKafka:
    """A producer for each codec, and one consumer without a group's membership."""

    name = "kafka-python"

    def __init__(self, addresses: Addresses) -> None:
        self._bootstrap = addresses["shared"]
        self._producers: dict[str, KafkaProducer] = {}
        self._consumer = self._open_consumer(None)
        self._admin = KafkaAdminClient(bootstrap_servers=self._bootstrap)

    def _open_consumer(self, group: str | None, *, wait_ms: int = 50) -> KafkaConsumer:
        return KafkaConsumer(
            bootstrap_servers=self._bootstrap,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            allow_auto_create_topics=False,
            fetch_max_wait_ms=wait_ms,
            fetch_max_bytes=MESSAGE_BYTES_MAX,
            max_partition_fetch_bytes=MESSAGE_BYTES_MAX,
        )

    def _producer(self, codec: str) -> KafkaProducer:
        if codec not in self._producers:
            self._producers[codec] = KafkaProducer(
                bootstrap_servers=self._bootstrap,
                compression_type=None if codec == "none" else codec,
                linger_ms=5,
                max_request_size=MESSAGE_BYTES_MAX,
                max_block_ms=TIMEOUT_MS,
            )
        return self._producers[codec]

    def create_topic(self, topic: str, partition_count: int = 1) -> None:
        self._admin.create_topics([NewTopic(topic, partition_count, 1)], timeout_ms=TIMEOUT_MS)

    def topics(self) -> list[str]:
        return list(self._admin.list_topics())

    def produce(
        self, topic: str, messages: Sequence[Message], *, partition: int = 0, codec: str = "none"
    ) -> list[int]:
        producer = self._producer(codec)
        if partition not in producer.partitions_for(topic):
            raise Refused({Refusal.UNKNOWN_PARTITION}, f"{topic}/{partition}")
        try:
            with _translated():
                sent = [
                    producer.send(topic, m.value, m.key, headers=list(m.headers), partition=partition)
                    for m in messages
                ]
                producer.flush(TIMEOUT_S)
                return [s.get(TIMEOUT_S).offset for s in sent]
        except Refused:
            # To an idempotent one of this library every refusal is its end.
            self._producers.pop(codec).close(TIMEOUT_S)
            raise

    def produce_pipelined(self, topic: str, values: Sequence[bytes]) -> None:
        self.produce(topic, [Message(v) for v in values])

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        place = TopicPartition(topic, partition)
        with _translated():
            self._must_exist(place)
            self._consumer.assign([place])
            end = self._consumer.end_offsets([place])[place]
            self._consumer.seek(place, offset)
            found: list[Read] = []
            while offset > end or self._consumer.position(place) < end:
                found += self._polled(self._consumer)
        return found

    def _must_exist(self, place: TopicPartition) -> None:
        known = self._consumer.partitions_for_topic(place.topic)
        if not known:
            raise Refused({Refusal.UNKNOWN_TOPIC}, place)
        if place.partition not in known:
            raise Refused({Refusal.UNKNOWN_PARTITION}, place)

    def wait(self, topic: str, offset: int) -> list[Read]:
        place = TopicPartition(topic, 0)
        with closing(self._open_consumer(None, wait_ms=15_000)) as consumer:
            consumer.assign([place])
            consumer.seek(place, offset)
            return self._polled(consumer)

    def _polled(self, consumer: KafkaConsumer) -> list[Read]:
        return [
            Read(Message(r.value, r.key, tuple(r.headers)), r.offset)
            for records in consumer.poll(TIMEOUT_MS).values()
            for r in records
        ]

    def commit(self, group: str, topic: str, offset: int) -> None:
        with closing(self._open_consumer(group)) as consumer, _translated():
            consumer.assign([TopicPartition(topic, 0)])
            consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)})

    def position(self, group: str, topic: str) -> int | None:
        with closing(self._open_consumer(group)) as consumer, _translated():
            found: int | None = consumer.committed(TopicPartition(topic, 0))
        return found

    def prove_never(self, feature: Feature) -> None:
        raise AssertionError(f"Kafka has {feature.value}")

    def close(self) -> None:
        self._consumer.close()
        self._admin.close()
        for producer in self._producers.values():
            producer.close(TIMEOUT_S)


KIND = Kind(
    "kafka-python",
    "kafka",
    PythonKafka,
    Expression(null_headers=False, nothing_at_all=False),
    HOSTILITY,
    codecs=CODECS,
    outlives_its_broker=False,
)

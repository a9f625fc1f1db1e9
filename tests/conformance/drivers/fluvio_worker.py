"""The process that holds Fluvio's wheel: one call a line as JSON on stdin, one answer a line on stdout.

The wheel keeps Python's lock while it waits, so a program with anything else to do gives it a process
of its own. Bytes travel as Base64.
"""

import base64
import json
import sys
from collections.abc import Callable
from typing import Any

import fluvio

COMPRESSION = {
    "none": fluvio.Compression.None_,
    "gzip": fluvio.Compression.Gzip,
    "snappy": fluvio.Compression.Snappy,
    "lz4": fluvio.Compression.Lz4,
    "zstd": fluvio.Compression.Zstd,
}
LOOK_UPS_MAX = 1000
REQUEST_BYTES_MAX = 64 << 20
# What the wheel shows of a record without a key.
NO_KEY = b"No key"


class Worker:
    """The calls, each by its name."""

    def __init__(self, address: str) -> None:
        config = fluvio.FluvioConfig.new(address)
        self._fluvio = fluvio.Fluvio.connect_with_config(config)
        self._admin = fluvio.FluvioAdmin.connect_with_config(config)
        self._producers: dict[tuple[str, int, str], Any] = {}

    def create_topic(self, topic: str, partition_count: int) -> None:
        spec = fluvio.TopicSpec.create().with_partitions(partition_count).build()
        self._admin.create_topic(topic, spec)

    def topics(self) -> list[str]:
        return [topic.name() for topic in self._admin.all_topics()]

    def produce(self, topic: str, partition: int, codec: str, records: list[list[str]]) -> list[int]:
        producer = self._producer(topic, partition, codec)
        sent = producer.send_all([(base64.b64decode(k), base64.b64decode(v)) for k, v in records])
        producer.flush()
        return [output.wait().offset() for output in sent]

    def produce_one_by_one(self, topic: str, values: list[str]) -> None:
        producer = self._producer(topic, 0, "none")
        sent = [producer.send(b"", base64.b64decode(v)) for v in values]
        producer.flush()
        for output in sent:
            output.wait()

    def _producer(self, topic: str, partition: int, codec: str) -> Any:
        place = topic, partition, codec
        if place not in self._producers:
            builder = fluvio.TopicProducerConfigBuilder()
            builder.compression(COMPRESSION[codec])
            builder.set_specific_partitioner(partition)
            builder.max_request_size(REQUEST_BYTES_MAX)
            config = builder.build()
            self._producers[place] = self._once_known(
                topic, partition, lambda: self._fluvio.topic_producer_with_config(topic, config)
            )
        return self._producers[place]

    def _once_known(self, topic: str, partition: int, look_up: Callable[[], Any]) -> Any:
        """The wheel goes by what it was pushed, which may be on its way: the controller knows for sure."""
        for _ in range(LOOK_UPS_MAX):
            known = {found.name() for found in self._admin.list_partitions([topic])}
            try:
                found = look_up()
            except fluvio.FluviorError as refused:
                if "not found" in str(refused) and f"{topic}-{partition}" in known:
                    continue
                raise
            if f"{topic}-{partition}" not in known:
                # A producer would wait for it without an end.
                raise LookupError(f"Partition not found: {topic}-{partition}")
            return found
        raise LookupError(f"{topic}-{partition} was never pushed to the wheel")

    def read(self, topic: str, partition: int, offset: int) -> list[list[Any]]:
        config = fluvio.ConsumerConfig()
        config.disable_continuous()
        consumer = self._fluvio.partition_consumer(topic, partition)
        stream = self._once_known(
            topic,
            partition,
            lambda: consumer._inner.stream_with_config(fluvio.Offset.absolute(offset), config._inner),
        )
        return [_shown(fluvio.Record(r)) for r in iter(stream.next, None)]

    def wait(self, topic: str, offset: int) -> list[list[Any]]:
        consumer = self._fluvio.partition_consumer(topic, 0)
        stream = self._once_known(topic, 0, lambda: consumer._inner.stream(fluvio.Offset.absolute(offset)))
        return [_shown(fluvio.Record(stream.next()))]

    def commit(self, group: str, topic: str, offset: int) -> None:
        """By reading up to there: the wheel commits what it has been given."""
        builder = fluvio.ConsumerConfigExtBuilder(topic)
        builder.partition(0)
        builder.offset_start(fluvio.Offset.absolute(offset - 1))
        builder.offset_consumer(group)
        builder.offset_strategy(fluvio.OffsetManagementStrategy.MANUAL)
        config = builder.build()
        stream = self._once_known(topic, 0, lambda: self._fluvio.consumer_with_config(config))
        record = next(stream)
        assert record.offset() == offset - 1, f"given {record.offset()} where {offset - 1} was asked for"
        stream.offset_commit()
        stream.offset_flush()

    def position(self, group: str, topic: str) -> int | None:
        """The offset of the last record that was taken, + 1."""
        for found in self._fluvio.consumer_offsets():
            if (found.consumer_id, found.topic, found.partition) == (group, topic, 0):
                return int(found.offset) + 1
        return None


def _shown(record: Any) -> list[Any]:
    key, value = bytes(record.key()), bytes(record.value())
    shown = None if key == NO_KEY else base64.b64encode(key).decode()
    return [record.offset(), shown, base64.b64encode(value).decode()]


def main(address: str) -> None:
    """Until the other end closes."""
    worker = Worker(address)
    sys.stdout.write('{"ready":true}\n')
    sys.stdout.flush()
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            answer: dict[str, Any] = {"result": getattr(worker, name)(*arguments)}
        except (Exception, AssertionError) as refused:  # the wheel raises a class for each of its kinds
            answer = {"refused": f"{type(refused).__name__}: {refused}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])

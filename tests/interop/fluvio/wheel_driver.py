"""Runs inside of a process that has the wheel `fluvio`: one line of JSON in, one or more out.

Not imported by tests: the wheel holds the interpreter while it waits, so it gets one of its own.
Bytes travel as text in Latin-1. Every answer ends with {"end": true}, or {"error": text}.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import fluvio
from fluvio import ConsumerConfig, Fluvio, FluvioAdmin, FluvioConfig, Isolation, Offset
from fluvio._fluvio_python import CommonCreateRequest, Compression, PartitionMap, TopicSpec

SPOTS = {
    "beginning": lambda number: Offset.beginning(),
    "from_beginning": Offset.from_beginning,
    "absolute": Offset.absolute,
    "from_end": Offset.from_end,
    "end": lambda number: Offset.end(),
}


class Driver:
    """One client of the wheel's, and what tests ask of it."""

    def __init__(self, address: str) -> None:
        # Without an address: by the profile that FLV_PROFILE_PATH names.
        self.config = FluvioConfig.new(address) if address else FluvioConfig.load()
        self.client = Fluvio.connect_with_config(self.config) if address else Fluvio.connect()
        self.admin = FluvioAdmin.connect_with_config(self.config) if address else FluvioAdmin.connect()

    # ---- topics

    def create(self, topic: str, is_dry_run: bool = False, **options: Any) -> None:
        self.admin._inner.create_topic(topic, is_dry_run, _spec(**options))

    def create_within(self, topic: str, timeout_ms: int) -> None:
        request = CommonCreateRequest.new(topic, False, timeout_ms)
        self.admin._inner.create_topic_with_config(request, _spec())  # the wrapper around it is broken

    def create_and_use(self, times: int) -> list[str]:
        """What went wrong with topics that one connection made and another one used at once."""
        failures = []
        for number in range(times):
            self.admin.create_topic(f"at-once-{number}")
            try:
                self.client.topic_producer(f"at-once-{number}")
                self.client.partition_consumer(f"at-once-{number}", 0)
            except Exception as error:
                failures.append(str(error))
        return failures

    def delete(self, topic: str) -> None:
        self.admin.delete_topic(topic)

    def topics(self, names: list[str] | None = None, is_summary: bool = False) -> list[str]:
        found = self.admin._inner.list_topics_with_params(names or [], is_summary)
        return sorted(each.name() for each in found)

    def partitions(self) -> list[str]:
        return sorted(each.name() for each in self.admin._inner.list_partitions([]))

    def smart_modules(self) -> list[str]:
        return [each.name() for each in self.admin._inner.list_smart_modules([])]

    def watch(self, frames: int) -> Iterator[Any]:
        """[all, updated, deleted] of each frame."""
        stream = self.admin.watch_topic()
        for _ in range(frames):
            frame = next(stream)
            changes = frame.changes()
            yield [
                sorted(each.name() for each in frame.all()),
                sorted(each.metadata_topic_spec().name() for each in changes if each.is_update()),
                sorted(each.metadata_topic_spec().name() for each in changes if each.is_delete()),
            ]

    # ---- records

    def produce(self, topic: str, records: list[list[Any]], **options: Any) -> list[list[int]]:
        """(partition, offset) of each [key, value]."""
        builder = fluvio.TopicProducerConfigBuilder()
        if "compression" in options:
            builder = builder.compression(getattr(Compression, options["compression"]))
        if "isolation" in options:
            builder = builder.isolation(getattr(Isolation, options["isolation"]))
        if "max_request_size" in options:
            builder = builder.max_request_size(options["max_request_size"])
        producer = self.client.topic_producer_with_config(topic, builder.build())
        pairs = [(key.encode("latin-1"), value.encode("latin-1")) for key, value in records]
        sent = producer.send_all(pairs)
        producer.flush()
        placed = [each.wait() for each in sent]
        return [[each.partition_id(), each.offset()] for each in placed]

    def consume(
        self,
        topic: str,
        spot: str = "beginning",
        number: int = 0,
        partition: int = 0,
        count: int | None = None,
        bytes_max: int | None = None,
        smartmodule: str | None = None,
    ) -> Iterator[Any]:
        """Records until there are so many; without a count, those that there are now."""
        config = ConsumerConfig()
        if count is None:
            config.disable_continuous()
        if bytes_max is not None:
            config._inner.max_bytes(bytes_max)
        if smartmodule is not None:
            config.smartmodule(name=smartmodule)
        consumer = self.client.partition_consumer(topic, partition)
        stream = consumer.stream_with_config(SPOTS[spot](number), config)
        if count == 0:
            yield "open"
        yield from _taken(stream, count or None)

    def managed(self, topic: str, consumer: str, count: int, spot: str = "beginning", number: int = 0) -> Any:
        """So many records as a consumer whose offset is kept: committed and flushed behind the last."""
        builder = fluvio.ConsumerConfigExtBuilder(topic)
        builder.partition(0)
        builder.disable_continuous()
        builder.offset_start(SPOTS[spot](number))
        builder.offset_consumer(consumer)
        builder.offset_strategy(fluvio.OffsetManagementStrategy.MANUAL)
        stream = self.client.consumer_with_config(builder.build())
        found = list(_taken(iter(stream), count))
        stream.offset_commit()
        stream.offset_flush()
        return found

    def follow(self, topic: str, count: int) -> Iterator[Any]:
        """So many records by the consumer that opens its streams again when they break."""
        builder = fluvio.ConsumerConfigExtBuilder(topic)
        builder.partition(0)
        builder.offset_start(Offset.beginning())
        yield from _taken(iter(self.client.consumer_with_config(builder.build())), count)

    def offsets(self) -> list[list[Any]]:
        """What is kept of all consumers."""
        return [
            [each.consumer_id, each.topic, each.partition, each.offset, each.modified_time]
            for each in self.client._inner.consumer_offsets()  # the wrapper around these is broken
        ]

    def forget(self, consumer: str, topic: str, partition: int = 0) -> None:
        self.client.delete_consumer_offset(consumer, topic, partition)

    def pair(self, topic: str, partitions: int) -> list[list[Any]]:
        """One record of each partition, from as many streams of one connection, all open at once."""
        streams = [
            self.client.partition_consumer(topic, partition).stream(Offset.beginning())
            for partition in range(partitions)
        ]
        return [_said(next(stream)) for stream in reversed(streams)]


def _spec(
    partitions: int = 1,
    replicas: int = 1,
    assigned: list[list[int]] | None = None,
    retention_s: int | None = None,
    storage: list[int] | None = None,
    compression: str | None = None,
    is_system: bool = False,
) -> Any:
    if assigned is not None:
        spec = TopicSpec.new_assigned([PartitionMap.new(n, units) for n, units in enumerate(assigned)])
    else:
        spec = TopicSpec.new_computed(partitions, replicas, True)
    if retention_s is not None:
        spec.set_retention_time(retention_s)
    if storage is not None:
        spec.set_storage(*storage)
    if compression is not None:
        spec.set_compression_type(getattr(Compression, compression))
    if is_system:
        spec.set_system(True)
    return spec


def _taken(stream: Iterator[Any], count: int | None) -> Iterator[list[Any]]:
    if count is None:
        for record in stream:
            yield _said(record)
        return
    for _ in range(count):
        try:
            yield _said(next(stream))
        except StopIteration:
            return


def _said(record: Any) -> list[Any]:
    key, value = bytes(record.key()), bytes(record.value())
    return [record.offset(), key.decode("latin-1"), value.decode("latin-1"), record.timestamp()]


def main() -> None:
    driver = Driver(sys.argv[1])
    say({"end": True})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(driver, asked.pop("do"))(**asked)
            if isinstance(answer, Iterator):
                for each in answer:
                    say({"said": each})
                answer = None
            say({"said": answer, "end": True})
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}", "end": True})


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


main()

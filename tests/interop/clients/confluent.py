"""confluent-kafka: librdkafka as Python programs use it."""

import logging
import re
from collections.abc import Iterable
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
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

from tests.interop.clients.harness import (
    CODECS,
    PATIENCE_S,
    VALUES,
    Feature,
    Member,
    eventually,
    expect,
    main,
    shared,
)


@cache
def _admin(bootstrap: str) -> AdminClient:
    """One for the whole cell: what it is asked ends with it."""
    return AdminClient({"bootstrap.servers": bootstrap})


def _create(bootstrap: str, name: str, partitions: int = 1, **config: str) -> None:
    topic = NewTopic(name, partitions, 1, config={key.replace("_", "."): v for key, v in config.items()})
    _admin(bootstrap).create_topics([topic])[name].result(PATIENCE_S)


def _produce(
    bootstrap: str, topic: str, values: Iterable[bytes] = VALUES, *, spread: bool = False, **config: Any
) -> None:
    options = {key.replace("_", "."): value for key, value in config.items()}
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **options})
    errors: list[Any] = []
    for value in values:
        producer.produce(
            topic,
            value,
            key=value if spread else b"k",
            headers=[("h", b"1")],
            partition=-1 if spread else 0,
            on_delivery=lambda error, _: errors.append(error),
        )
    expect(producer.flush(PATIENCE_S), 0)
    expect(set(errors), {None})


@contextmanager
def _consumer(bootstrap: str, group: str, **config: Any) -> Any:
    made = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **{key.replace("_", "."): value for key, value in config.items()},
        }
    )
    try:
        yield made
    finally:
        made.close()


def _read(bootstrap: str, topic: str, count: int, at: int = OFFSET_BEGINNING, **config: Any) -> list[Any]:
    with _consumer(bootstrap, f"{topic}-reader", **config) as consumer:
        consumer.assign([TopicPartition(topic, 0, at)])
        return _taken(consumer, count)


def _taken(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []

    def enough() -> bool:
        found.extend(m for m in consumer.consume(count - len(found), timeout=1) if m.error() is None)
        return len(found) == count

    eventually(enough, f"{count} records")
    return found


def _codec(codec: str, bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name, compression_type=codec)
    found = _read(bootstrap, name, len(VALUES))
    expect([message.value() for message in found], VALUES)
    expect({(m.key(), tuple(m.headers())) for m in found}, {(b"k", (("h", b"1"),))})


def _acks(acks: str, bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name, acks=acks, enable_idempotence=False)
    expect([message.value() for message in _read(bootstrap, name, len(VALUES))], VALUES)


def _idempotent(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name, enable_idempotence=True)
    expect([message.value() for message in _read(bootstrap, name, len(VALUES))], VALUES)


def _from_offset(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    expect(_read(bootstrap, name, 1, at=42)[0].value(), VALUES[42])


def _wait(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    with _consumer(bootstrap, name) as consumer:
        consumer.assign([TopicPartition(name, 0, OFFSET_END)])
        consumer.poll(0.5)
        _produce(bootstrap, name, [b"new"])
        expect(_taken(consumer, 1)[0].value(), b"new")


def _committed_reads(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    expect(len(_read(bootstrap, name, 100, isolation_level="read_committed")), 100)


def _ends(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    with _consumer(bootstrap, name) as consumer:
        expect(consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=PATIENCE_S), (0, 100))


def _by_time(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    (first,) = _read(bootstrap, name, 1, at=0)
    at_ms = first.timestamp()[1]
    with _consumer(bootstrap, name) as consumer:
        (found,) = consumer.offsets_for_times([TopicPartition(name, 0, at_ms)], timeout=PATIENCE_S)
        expect(found.offset, 0)
        (none,) = consumer.offsets_for_times([TopicPartition(name, 0, at_ms + 10**9)], timeout=PATIENCE_S)
        expect(none.offset, OFFSET_END)


def _max_time(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    found = _admin(bootstrap).list_offsets({at: OffsetSpec.max_timestamp()})[at].result(PATIENCE_S)
    last = _read(bootstrap, name, 1, at=found.offset)[0]
    expect(found.timestamp, last.timestamp()[1])


def _delete(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    admin = _admin(bootstrap)
    admin.delete_topics([name])[name].result(PATIENCE_S)
    eventually(lambda: name not in admin.list_topics(timeout=PATIENCE_S).topics, "the topic is gone")


def _describe(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 3)
    answers = _admin(bootstrap).describe_topics(TopicCollection([name]))
    found = answers[name].result(PATIENCE_S)
    expect([len(found.partitions), found.partitions[0].leader.id], [3, found.partitions[0].replicas[0].id])


def _grow(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 2)
    admin = _admin(bootstrap)
    admin.create_partitions([NewPartitions(name, 5)])[name].result(PATIENCE_S)
    eventually(lambda: len(admin.list_topics(timeout=5).topics[name].partitions) == 5, "five partitions")


def _setting(bootstrap: str, name: str, setting: str) -> Any:
    resource = ConfigResource(ResourceType.TOPIC, name)
    return _admin(bootstrap).describe_configs([resource])[resource].result(PATIENCE_S)[setting].value


def _configs(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, retention_ms="7200000")
    expect(_setting(bootstrap, name, "retention.ms"), "7200000")
    expect(_setting(bootstrap, name, "cleanup.policy"), "delete")


def _broker_configs(bootstrap: str, name: str) -> None:
    admin = _admin(bootstrap)
    node = next(iter(admin.list_topics(timeout=PATIENCE_S).brokers))
    resource = ConfigResource(ResourceType.BROKER, str(node))
    found = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    expect("message.max.bytes" in found, True)


def _alter(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    change = ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[change])
    _admin(bootstrap).incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    eventually(lambda: _setting(bootstrap, name, "retention.ms") == "7200000", "the new setting")


def _alter_whole(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, max_message_bytes="2000")
    resource = ConfigResource(ResourceType.TOPIC, name, set_config={"retention.ms": "7200000"})
    _admin(bootstrap).alter_configs([resource])[resource].result(PATIENCE_S)
    eventually(lambda: _setting(bootstrap, name, "retention.ms") == "7200000", "the new setting")
    expect(_setting(bootstrap, name, "max.message.bytes"), "1048588")


def _delete_records(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    at = TopicPartition(name, 0, 40)
    found = _admin(bootstrap).delete_records([at])[at].result(PATIENCE_S)
    expect(found.low_watermark, 40)
    with _consumer(bootstrap, name) as consumer:
        expect(consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=PATIENCE_S), (40, 100))


def _cluster(bootstrap: str, name: str) -> None:
    found = _admin(bootstrap).describe_cluster().result(PATIENCE_S)
    expect([len(found.nodes), bool(found.cluster_id)], [1, True])


def _positions(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    at = TopicPartition(name, 0, 7, "here")
    with _consumer(bootstrap, name) as consumer:
        consumer.commit(offsets=[at], asynchronous=False)
    with _consumer(bootstrap, name) as consumer:
        (found,) = consumer.committed([TopicPartition(name, 0)], timeout=PATIENCE_S)
        expect([found.offset, found.metadata], [7, "here"])


def _join(bootstrap: str, name: str, **config: Any) -> None:
    _create(bootstrap, name, 4)
    _produce(bootstrap, name, spread=True)
    with ExitStack() as stack:
        members = {
            member: stack.enter_context(_consumer(bootstrap, name, **config))
            for member in ("first", "second")
        }
        for consumer in members.values():
            consumer.subscribe([name])
        seen: list[bytes] = []

        def settled() -> bool:
            for consumer in members.values():
                seen.extend(m.value() for m in consumer.consume(100, timeout=0.2) if m.error() is None)
            owned = {m: {p.partition for p in c.assignment()} for m, c in members.items()}
            return shared(owned, 4) and set(seen) == set(VALUES)

        eventually(settled, "both members own partitions, and every record came")


def _resume(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        last = _taken(consumer, 30)[-1]
        consumer.commit(last, asynchronous=False)
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        expect(_taken(consumer, 1)[0].value(), VALUES[30])


def _static(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 2)
    options = {"session_timeout_ms": 30_000}
    generations: list[str] = []
    for _ in range(2):
        with _consumer(bootstrap, name, group_instance_id="one", **options) as consumer:
            consumer.subscribe([name])
            eventually(partial(_assigned, consumer, 2), "an assignment")
            generations.append(_members(bootstrap, name)[0].group_instance_id)
    expect(generations, ["one", "one"])


def _assigned(consumer: Any, count: int) -> bool:
    consumer.poll(0.2)
    return len(consumer.assignment()) == count


def _members(bootstrap: str, group: str) -> Any:
    found = _admin(bootstrap).describe_consumer_groups([group])[group].result(PATIENCE_S)
    return found.members


@contextmanager
def _one_member(bootstrap: str, name: str) -> Any:
    """A group with a member that has committed."""
    _create(bootstrap, name)
    _produce(bootstrap, name)
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        consumer.commit(_taken(consumer, 10)[-1], asynchronous=False)
        yield


def _group_list(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name):
        found = _admin(bootstrap).list_consumer_groups().result(PATIENCE_S)
        expect([g.state.name for g in found.valid if g.group_id == name], ["STABLE"])


def _group_describe(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name):
        (member,) = _members(bootstrap, name)
        expect([p.topic for p in member.assignment.topic_partitions], [name])
    unknown = _admin(bootstrap).describe_consumer_groups([f"{name}-unknown"])[f"{name}-unknown"]
    try:
        expect(unknown.result(PATIENCE_S).state.name, "DEAD")
    except KafkaException as error:
        expect(error.args[0].code(), KafkaError.GROUP_ID_NOT_FOUND)


def _group_delete(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name):
        try:
            _admin(bootstrap).delete_consumer_groups([name])[name].result(PATIENCE_S)
        except KafkaException as error:
            expect(error.args[0].code(), KafkaError.NON_EMPTY_GROUP)
        else:
            raise AssertionError("a group with a member was deleted")
    _admin(bootstrap).delete_consumer_groups([name])[name].result(PATIENCE_S)
    with _consumer(bootstrap, name) as consumer:
        (found,) = consumer.committed([TopicPartition(name, 0)], timeout=PATIENCE_S)
        expect(found.offset, -1001)


def _group_offsets(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name):
        asked = ConsumerGroupTopicPartitions(name, [TopicPartition(name, 0)])
        found = _admin(bootstrap).list_consumer_group_offsets([asked])[name].result(PATIENCE_S)
        expect([p.offset for p in found.topic_partitions], [10])


def _group_reset(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name):
        pass
    wanted = ConsumerGroupTopicPartitions(name, [TopicPartition(name, 0, 3)])
    _admin(bootstrap).alter_consumer_group_offsets([wanted])[name].result(PATIENCE_S)
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        expect(_taken(consumer, 1)[0].value(), VALUES[3])


class _Generations(logging.Handler):
    """librdkafka tells the generation of a group in its log alone."""

    def __init__(self) -> None:
        super().__init__()
        self.latest = -1

    def emit(self, record: logging.LogRecord) -> None:
        found = re.search(r"JoinGroup response: GenerationId (\d+)", record.getMessage())
        if found:
            self.latest = int(found[1])


def _member(bootstrap: str, name: str) -> None:
    """Until it is told to stop; see harness.Member."""
    member = Member.named(name)
    told = _Generations()
    logger = logging.Logger("generations", logging.DEBUG)
    logger.addHandler(told)
    static = {"group_instance_id": member.instance} if member.instance else {}
    options = {
        "partition_assignment_strategy": member.protocol,
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 500,
        "topic_metadata_refresh_interval_ms": 2000,
        "debug": "cgrp",
        "logger": logger,
        **static,
    }

    def on_assign(consumer: Any, partitions: list[TopicPartition]) -> None:
        is_whole = member.protocol != "cooperative-sticky"
        new = {at.partition for at in partitions}
        member.assigned(told.latest, new if is_whole else member.owned | new)

    def on_revoke(consumer: Any, partitions: list[TopicPartition]) -> None:
        member.revoked(at.partition for at in partitions)

    with _consumer(bootstrap, f"{member.topic}-group", **options) as consumer:
        consumer.subscribe([member.topic], on_assign=on_assign, on_revoke=on_revoke, on_lost=on_revoke)
        while not member.stopped:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                member.processed(message.partition(), message.offset())
                with suppress(KafkaException):
                    consumer.commit(message, asynchronous=False)


FEATURES: dict[str, Feature] = {
    "member": _member,
    **{f"produce-{codec}": partial(_codec, codec) for codec in CODECS},
    **{f"acks-{acks}": partial(_acks, acks) for acks in ("0", "1", "all")},
    "idempotent": _idempotent,
    "fetch-from": _from_offset,
    "fetch-wait": _wait,
    "fetch-committed": _committed_reads,
    "offsets-ends": _ends,
    "offsets-time": _by_time,
    "offsets-max-time": _max_time,
    "topic-create": _create,
    "topic-delete": _delete,
    "topic-describe": _describe,
    "topic-grow": _grow,
    "configs-describe": _configs,
    "configs-broker": _broker_configs,
    "configs-alter": _alter,
    "configs-replace": _alter_whole,
    "delete-records": _delete_records,
    "cluster": _cluster,
    "positions": _positions,
    "group-join": _join,
    "group-cooperative": partial(_join, partition_assignment_strategy="cooperative-sticky"),
    "group-static": _static,
    "group-resume": _resume,
    "group-list": _group_list,
    "group-describe": _group_describe,
    "group-offsets": _group_offsets,
    "group-reset": _group_reset,
    "group-delete": _group_delete,
}

if __name__ == "__main__":
    main(FEATURES)

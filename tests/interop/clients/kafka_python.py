"""kafka-python: a client in Python alone, which knows no topic ids."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

warnings.simplefilter("ignore")

from kafka import (  # noqa: E402  # after the filter
    ConsumerRebalanceListener,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    TopicPartition,
)
from kafka.admin import (  # noqa: E402  # after the filter
    ConfigResource,
    ConfigResourceType,
    OffsetSpec,  # after the filter
)
from kafka.coordinator.assignors.cooperative_sticky import (  # noqa: E402  # after the filter
    CooperativeStickyAssignor,
)
from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: E402  # after the filter
from kafka.errors import KafkaError  # noqa: E402  # after the filter
from kafka.structs import OffsetAndMetadata  # noqa: E402  # after the filter

from tests.interop.clients.harness import (  # noqa: E402  # after the filter
    CODECS,
    VALUES,
    Feature,
    Member,
    eventually,
    expect,
    main,
    shared,
)


@contextmanager
def _admin(bootstrap: str) -> Iterator[Any]:
    made = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        yield made
    finally:
        made.close()


def _create(bootstrap: str, name: str, partitions: int = 1, **config: str) -> None:
    configs = {key.replace("_", "."): value for key, value in config.items()}
    wanted = {"num_partitions": partitions, "replication_factor": 1, "configs": configs}
    with _admin(bootstrap) as admin:
        admin.create_topics({name: wanted})


def _produce(
    bootstrap: str, topic: str, values: Iterable[bytes] = VALUES, *, spread: bool = False, **config: Any
) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, **config)
    try:
        futures = [
            producer.send(
                topic,
                value,
                key=value if spread else b"k",
                headers=[("h", b"1")],
                partition=None if spread else 0,
            )
            for value in values
        ]
        for future in futures:
            future.get(20)
    finally:
        producer.close()


@contextmanager
def _consumer(bootstrap: str, group: str | None = None, **config: Any) -> Iterator[Any]:
    made = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **config,
    )
    try:
        yield made
    finally:
        made.close()


def _taken(consumer: Any, count: int) -> list[Any]:
    found: list[Any] = []

    def enough() -> bool:
        for records in consumer.poll(timeout_ms=500, max_records=count - len(found)).values():
            found.extend(records)
        return len(found) == count

    eventually(enough, f"{count} records")
    return found


def _read(bootstrap: str, topic: str, count: int, at: int = 0, **config: Any) -> list[Any]:
    with _consumer(bootstrap, **config) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), at)
        return _taken(consumer, count)


def _codec(codec: str, bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name, compression_type=None if codec == "none" else codec)
    found = _read(bootstrap, name, len(VALUES))
    expect([record.value for record in found], VALUES)
    expect({(r.key, tuple(r.headers)) for r in found}, {(b"k", (("h", b"1"),))})


def _acks(acks: Any, bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name, acks=acks, enable_idempotence=False)
    expect([record.value for record in _read(bootstrap, name, len(VALUES))], VALUES)


def _idempotent(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name, enable_idempotence=True)
    expect([record.value for record in _read(bootstrap, name, len(VALUES))], VALUES)


def _from_offset(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    expect(_read(bootstrap, name, 1, at=42)[0].value, VALUES[42])


def _wait(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    with _consumer(bootstrap) as consumer:
        consumer.assign([TopicPartition(name, 0)])
        consumer.seek_to_end()
        consumer.poll(timeout_ms=500)
        _produce(bootstrap, name, [b"new"])
        expect(_taken(consumer, 1)[0].value, b"new")


def _committed_reads(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    expect(len(_read(bootstrap, name, 100, isolation_level="read_committed")), 100)


def _ends(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    with _consumer(bootstrap) as consumer:
        expect([consumer.beginning_offsets([at]), consumer.end_offsets([at])], [{at: 0}, {at: 100}])


def _by_time(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    (first,) = _read(bootstrap, name, 1)
    at = TopicPartition(name, 0)
    with _consumer(bootstrap) as consumer:
        expect(consumer.offsets_for_times({at: first.timestamp})[at].offset, 0)
        expect(consumer.offsets_for_times({at: first.timestamp + 10**9}), {at: None})


def _delete(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    with _admin(bootstrap) as admin:
        admin.delete_topics([name])
        eventually(lambda: name not in admin.list_topics(), "the topic is gone")


def _describe(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 3)
    with _admin(bootstrap) as admin:
        (found,) = admin.describe_topics([name])
        expect(len(found["partitions"]), 3)


def _grow(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 2)
    with _admin(bootstrap) as admin:
        admin.create_partitions({name: 5})
        eventually(lambda: len(admin.describe_topics([name])[0]["partitions"]) == 5, "five partitions")


def _group_list(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name), _admin(bootstrap) as admin:
        found = [group for group in admin.list_groups() if name in str(group)]
        expect(len(found), 1)


@contextmanager
def _one_member(bootstrap: str, name: str) -> Iterator[None]:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        _taken(consumer, 10)
        consumer.commit({TopicPartition(name, 0): OffsetAndMetadata(10, "", -1)})
        yield


def _group_describe(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name), _admin(bootstrap) as admin:
        found = admin.describe_groups([name])
        expect("Stable" in str(found), True)


def _group_offsets(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name), _admin(bootstrap) as admin:
        expect("offset=10" in str(admin.list_group_offsets([name])), True)


def _group_delete(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name):
        pass
    with _admin(bootstrap) as admin:
        admin.delete_groups([name])
    with _consumer(bootstrap, name) as consumer:
        expect(consumer.committed(TopicPartition(name, 0)), None)


def _delete_records(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    with _admin(bootstrap) as admin:
        admin.delete_records({at: 40})
    with _consumer(bootstrap) as consumer:
        expect(consumer.beginning_offsets([at]), {at: 40})


def _log_dirs(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    with _admin(bootstrap) as admin:
        expect(name in str(admin.describe_log_dirs()), True)


def _cluster(bootstrap: str, name: str) -> None:
    with _admin(bootstrap) as admin:
        expect(len(admin.describe_cluster()["brokers"]), 1)


def _positions(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    with _consumer(bootstrap, name) as consumer:
        consumer.assign([at])
        consumer.commit({at: OffsetAndMetadata(7, "here", -1)})
    with _consumer(bootstrap, name) as consumer:
        found = consumer.committed(at, metadata=True)
        expect([found.offset, found.metadata], [7, "here"])


def _join(bootstrap: str, name: str, **config: Any) -> None:
    _create(bootstrap, name, 4)
    _produce(bootstrap, name, spread=True)
    with ExitStack() as stack:
        members = {m: stack.enter_context(_consumer(bootstrap, name, **config)) for m in ("first", "second")}
        for consumer in members.values():
            consumer.subscribe([name])
        seen: set[bytes] = set()

        def settled() -> bool:
            for consumer in members.values():
                for records in consumer.poll(timeout_ms=200).values():
                    seen.update(record.value for record in records)
            owned = {m: {p.partition for p in c.assignment()} for m, c in members.items()}
            return shared(owned, 4) and seen == set(VALUES)

        eventually(settled, "both members own partitions, and every record came")


def _resume(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        _taken(consumer, 30)
        consumer.commit()
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        expect(_taken(consumer, 1)[0].value, VALUES[30])


def _setting(bootstrap: str, name: str, setting: str) -> str:
    with _admin(bootstrap) as admin:
        found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)], config_filter="all")
    return str(found["topic"][name][setting]["value"])


def _configs(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, retention_ms="7200000")
    expect(_setting(bootstrap, name, "retention.ms"), "7200000")
    expect(_setting(bootstrap, name, "compression.type"), "producer")


def _alter(incremental: bool, bootstrap: str, name: str) -> None:
    _create(bootstrap, name, max_message_bytes="2000")
    wanted = ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": "7200000"})
    with _admin(bootstrap) as admin:
        admin.alter_configs([wanted], incremental=incremental)
    eventually(lambda: _setting(bootstrap, name, "retention.ms") == "7200000", "the new setting")
    # It looks up what is set already and sends that along, so neither call takes anything away.
    expect(_setting(bootstrap, name, "max.message.bytes"), "2000")


def _max_time(bootstrap: str, name: str) -> None:
    _create(bootstrap, name)
    _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    with _admin(bootstrap) as admin:
        found = admin.list_partition_offsets({at: OffsetSpec.MAX_TIMESTAMP})[at]
    (last,) = _read(bootstrap, name, 1, at=found.offset)
    expect(found.timestamp, last.timestamp)


def _static(bootstrap: str, name: str) -> None:
    _create(bootstrap, name, 2)
    for _ in range(2):
        with _consumer(bootstrap, name, group_instance_id="one", session_timeout_ms=30_000) as consumer:
            consumer.subscribe([name])
            eventually(partial(_assigned, consumer, 2), "an assignment")


def _assigned(consumer: Any, count: int) -> bool:
    consumer.poll(timeout_ms=200)
    return len(consumer.assignment()) == count


def _group_reset(bootstrap: str, name: str) -> None:
    with _one_member(bootstrap, name):
        pass
    with _admin(bootstrap) as admin:
        admin.alter_group_offsets(name, {TopicPartition(name, 0): OffsetAndMetadata(3, "", -1)})
    with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        expect(_taken(consumer, 1)[0].value, VALUES[3])


def _group_delete_offsets(bootstrap: str, name: str) -> None:
    at = TopicPartition(name, 0)
    with _one_member(bootstrap, name):
        pass
    with _admin(bootstrap) as admin:
        admin.delete_group_offsets(name, [at])
    with _consumer(bootstrap, name) as consumer:
        expect(consumer.committed(at), None)


class _Listener(ConsumerRebalanceListener):
    """Tells the member what the consumer was given and has lost."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.consumer: Any = None

    def on_partitions_assigned(self, assigned: Any) -> None:
        generation = self.consumer.group_metadata().generation_id
        new = {at.partition for at in assigned}
        is_whole = self.member.protocol != "cooperative-sticky"
        self.member.assigned(generation, new if is_whole else self.member.owned | new)

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.member.revoked(at.partition for at in revoked)


def _member(bootstrap: str, name: str) -> None:
    """Until it is told to stop; see harness.Member."""
    member = Member.named(name)
    assignor = (
        CooperativeStickyAssignor if member.protocol == "cooperative-sticky" else RangePartitionAssignor
    )
    options = {
        "partition_assignment_strategy": (assignor,),
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 500,
        "group_instance_id": member.instance or None,
    }
    listener = _Listener(member)
    with _consumer(bootstrap, f"{member.topic}-group", **options) as consumer:
        listener.consumer = consumer
        consumer.subscribe([member.topic], listener=listener)
        while not member.stopped:
            found = consumer.poll(timeout_ms=200, max_records=1)
            for records in found.values():
                for record in records:
                    member.processed(record.partition, record.offset)
            if found:
                with suppress(KafkaError):
                    consumer.commit()


FEATURES: dict[str, Feature] = {
    "member": _member,
    **{f"produce-{codec}": partial(_codec, codec) for codec in CODECS},
    **{f"acks-{acks}": partial(_acks, acks) for acks in (0, 1, "all")},
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
    "configs-alter": partial(_alter, True),
    "configs-replace": partial(_alter, False),
    "delete-records": _delete_records,
    "log-dirs": _log_dirs,
    "cluster": _cluster,
    "positions": _positions,
    "group-join": _join,
    "group-resume": _resume,
    "group-list": _group_list,
    "group-describe": _group_describe,
    "group-offsets": _group_offsets,
    "group-cooperative": partial(_join, partition_assignment_strategy=(CooperativeStickyAssignor,)),
    "group-static": _static,
    "group-reset": _group_reset,
    "group-delete-offsets": _group_delete_offsets,
    "group-delete": _group_delete,
}

if __name__ == "__main__":
    main(FEATURES)

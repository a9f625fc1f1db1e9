"""aiokafka: non-flexible versions only, ApiVersions 0."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

from tests.interop.clients.harness import CODECS, PATIENCE_S, VALUES, Feature, Member, expect, main, shared


@asynccontextmanager
async def _admin(bootstrap: str) -> AsyncIterator[Any]:
    made = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await made.start()
    try:
        yield made
    finally:
        await made.close()


async def _create(bootstrap: str, name: str, partitions: int = 1, **config: str) -> None:
    configs = {key.replace("_", "."): value for key, value in config.items()}
    topic = NewTopic(name, partitions, 1, topic_configs=configs)
    async with _admin(bootstrap) as admin:
        answer = await admin.create_topics([topic])
        expect([error[1] for error in answer.topic_errors], [0])


async def _produce(
    bootstrap: str, topic: str, values: Iterable[bytes] = VALUES, *, spread: bool = False, **config: Any
) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=20, **config) as producer:
        sent = [
            await producer.send(
                topic,
                value,
                key=value if spread else b"k",
                headers=[("h", b"1")],
                partition=None if spread else 0,
            )
            for value in values
        ]
        await asyncio.gather(*sent)


@asynccontextmanager
async def _consumer(bootstrap: str, group: str | None = None, **config: Any) -> AsyncIterator[Any]:
    options = {"enable_auto_commit": False, "auto_offset_reset": "earliest", **config}
    made = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, **options)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


async def _taken(consumer: Any, count: int) -> list[Any]:
    async with asyncio.timeout(PATIENCE_S):
        return [await consumer.getone() for _ in range(count)]


async def _read(bootstrap: str, topic: str, count: int, at: int = 0, **config: Any) -> list[Any]:
    async with _consumer(bootstrap, **config) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), at)
        return await _taken(consumer, count)


async def _codec(codec: str, bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name, compression_type=None if codec == "none" else codec)
    found = await _read(bootstrap, name, len(VALUES))
    expect([record.value for record in found], VALUES)
    expect({(r.key, tuple(r.headers)) for r in found}, {(b"k", (("h", b"1"),))})


async def _acks(acks: Any, bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name, acks=acks)
    expect([record.value for record in await _read(bootstrap, name, len(VALUES))], VALUES)


async def _idempotent(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name, enable_idempotence=True)
    expect([record.value for record in await _read(bootstrap, name, len(VALUES))], VALUES)


async def _from_offset(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    expect((await _read(bootstrap, name, 1, at=42))[0].value, VALUES[42])


async def _wait(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    async with _consumer(bootstrap) as consumer:
        consumer.assign([TopicPartition(name, 0)])
        await consumer.seek_to_end()
        waiting = asyncio.create_task(_taken(consumer, 1))
        await asyncio.sleep(0.5)
        await _produce(bootstrap, name, [b"new"])
        expect((await waiting)[0].value, b"new")


async def _committed_reads(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    expect(len(await _read(bootstrap, name, 100, isolation_level="read_committed")), 100)


async def _ends(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    async with _consumer(bootstrap) as consumer:
        found = [await consumer.beginning_offsets([at]), await consumer.end_offsets([at])]
    expect(found, [{at: 0}, {at: 100}])


async def _by_time(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    (first,) = await _read(bootstrap, name, 1)
    at = TopicPartition(name, 0)
    async with _consumer(bootstrap) as consumer:
        expect((await consumer.offsets_for_times({at: first.timestamp}))[at].offset, 0)
        expect(await consumer.offsets_for_times({at: first.timestamp + 10**9}), {at: None})


async def _delete(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    async with _admin(bootstrap) as admin:
        await admin.delete_topics([name])

        async def gone() -> bool:
            return name not in await admin.list_topics()

        await _eventually(gone, "the topic is gone")


async def _describe(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name, 3)
    async with _admin(bootstrap) as admin:
        (found,) = await admin.describe_topics([name])
        expect(len(found["partitions"]), 3)


async def _grow(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name, 2)
    async with _admin(bootstrap) as admin:
        await admin.create_partitions({name: NewPartitions(5)})

        async def grown() -> bool:
            return len((await admin.describe_topics([name]))[0]["partitions"]) == 5

        await _eventually(grown, "five partitions")


async def _setting(bootstrap: str, name: str, setting: str) -> str:
    async with _admin(bootstrap) as admin:
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
    (resource,) = answer.resources
    expect(resource[0], 0)
    return next(str(entry[1]) for entry in resource[4] if entry[0] == setting)


async def _configs(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name, retention_ms="7200000")
    expect(await _setting(bootstrap, name, "retention.ms"), "7200000")
    expect(await _setting(bootstrap, name, "cleanup.policy"), "delete")


async def _replace(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name, max_message_bytes="2000")
    wanted = ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": "7200000"})
    async with _admin(bootstrap) as admin:
        await admin.alter_configs([wanted])

    async def changed() -> bool:
        return await _setting(bootstrap, name, "retention.ms") == "7200000"

    await _eventually(changed, "the new setting")
    expect(await _setting(bootstrap, name, "max.message.bytes"), "1048588")


async def _delete_records(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    async with _admin(bootstrap) as admin:
        expect(await admin.delete_records({at: RecordsToDelete(40)}), {at: 40})
    async with _consumer(bootstrap) as consumer:
        expect(await consumer.beginning_offsets([at]), {at: 40})


async def _cluster(bootstrap: str, name: str) -> None:
    async with _admin(bootstrap) as admin:
        expect(len((await admin.describe_cluster())["brokers"]), 1)


async def _positions(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    at = TopicPartition(name, 0)
    async with _consumer(bootstrap, name) as consumer:
        consumer.assign([at])
        await consumer.commit({at: OffsetAndMetadata(7, "here")})
    async with _consumer(bootstrap, name) as consumer:
        consumer.assign([at])
        expect(await consumer.committed(at), 7)


async def _join(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name, 4)
    await _produce(bootstrap, name, spread=True)
    async with AsyncExitStack() as stack:
        members = {}
        for member in ("first", "second"):
            members[member] = await stack.enter_async_context(_consumer(bootstrap, name))
            members[member].subscribe([name])
        seen: set[bytes] = set()

        async def settled() -> bool:
            for consumer in members.values():
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    seen.update(record.value for record in records)
            owned = {m: {p.partition for p in c.assignment()} for m, c in members.items()}
            return shared(owned, 4) and seen == set(VALUES)

        await _eventually(settled, "both members own partitions, and every record came")


async def _resume(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    async with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        await _taken(consumer, 30)
        await consumer.commit({TopicPartition(name, 0): 30})
    async with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        expect((await _taken(consumer, 1))[0].value, VALUES[30])


@asynccontextmanager
async def _one_member(bootstrap: str, name: str) -> AsyncIterator[None]:
    await _create(bootstrap, name)
    await _produce(bootstrap, name)
    async with _consumer(bootstrap, name) as consumer:
        consumer.subscribe([name])
        await _taken(consumer, 10)
        await consumer.commit({TopicPartition(name, 0): 10})
        yield


async def _group_list(bootstrap: str, name: str) -> None:
    async with _one_member(bootstrap, name), _admin(bootstrap) as admin:
        expect(name in {group[0] for group in await admin.list_consumer_groups()}, True)


async def _group_describe(bootstrap: str, name: str) -> None:
    async with _one_member(bootstrap, name), _admin(bootstrap) as admin:
        (answer,) = await admin.describe_consumer_groups([name])
        (group,) = answer.groups
        expect([group[0], group[2], len(group[5])], [0, "Stable", 1])


async def _group_offsets(bootstrap: str, name: str) -> None:
    async with _one_member(bootstrap, name), _admin(bootstrap) as admin:
        found = await admin.list_consumer_group_offsets(name)
        expect([at.offset for at in found.values()], [10])


async def _static(bootstrap: str, name: str) -> None:
    await _create(bootstrap, name, 2)
    for _ in range(2):
        options = {"group_instance_id": "one", "session_timeout_ms": 30_000}
        async with _consumer(bootstrap, name, **options) as consumer:
            consumer.subscribe([name])

            async def assigned(one: Any = consumer) -> bool:
                await one.getmany(timeout_ms=200)
                return len(one.assignment()) == 2

            await _eventually(assigned, "an assignment")


class _Listener(ConsumerRebalanceListener):
    """Tells the member what the consumer was given and has lost."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.consumer: Any = None

    def on_partitions_assigned(self, assigned: Any) -> None:
        # The client has no other way to tell it.
        generation = self.consumer._coordinator.generation
        self.member.assigned(generation, (at.partition for at in assigned))

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.member.revoked(at.partition for at in revoked)


async def _member(bootstrap: str, name: str) -> None:
    """Until it is told to stop; see harness.Member."""
    member = Member.named(name)
    listener = _Listener(member)
    options = {
        "partition_assignment_strategy": (RangePartitionAssignor,),
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 500,
        "group_instance_id": member.instance or None,
    }
    async with _consumer(bootstrap, f"{member.topic}-group", **options) as consumer:
        listener.consumer = consumer
        consumer.subscribe([member.topic], listener=listener)
        while not member.stopped:
            found = await consumer.getmany(timeout_ms=200, max_records=1)
            for records in found.values():
                for record in records:
                    member.processed(record.partition, record.offset)
            if found:
                with suppress(KafkaError):
                    await consumer.commit()


async def _eventually(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await holds():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not within {PATIENCE_S:g} s: {what}") from None


def _run(feature: Callable[[str, str], Awaitable[None]], bootstrap: str, name: str) -> None:
    async def body() -> None:
        await feature(bootstrap, name)

    asyncio.run(body())


_FEATURES: dict[str, Callable[[str, str], Awaitable[None]]] = {
    "member": _member,
    **{f"produce-{codec}": partial(_codec, codec) for codec in CODECS},
    **{f"acks-{acks}": partial(_acks, acks) for acks in (0, 1, "all")},
    "idempotent": _idempotent,
    "fetch-from": _from_offset,
    "fetch-wait": _wait,
    "fetch-committed": _committed_reads,
    "offsets-ends": _ends,
    "offsets-time": _by_time,
    "topic-create": _create,
    "topic-delete": _delete,
    "topic-describe": _describe,
    "topic-grow": _grow,
    "configs-describe": _configs,
    "configs-replace": _replace,
    "delete-records": _delete_records,
    "cluster": _cluster,
    "positions": _positions,
    "group-join": _join,
    "group-static": _static,
    "group-resume": _resume,
    "group-list": _group_list,
    "group-describe": _group_describe,
    "group-offsets": _group_offsets,
}
FEATURES: dict[str, Feature] = {name: partial(_run, feature) for name, feature in _FEATURES.items()}

if __name__ == "__main__":
    main(FEATURES)

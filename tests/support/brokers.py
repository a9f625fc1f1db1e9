"""An open broker over a real directory, on a virtual clock, with gates before its syncs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from onelog.binary.compression import Codec
from onelog.broker.broker import (
    Append,
    AppendResult,
    Broker,
    BrokerSettings,
    NewTopic,
    ProduceRules,
    Read,
    ReadResult,
)
from onelog.broker.catalog import MIGRATIONS
from onelog.errors import OnelogError
from onelog.metrics import Metrics
from onelog.model import Isolation, TopicName
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage.store import Store
from onelog.ticket import Ticket
from tests.support.gates import Gate, GatedCatalog, GatedDisk
from tests.support.virtual_clock import VirtualClock, virtual_clock

DIALECT = "test"
RULES = ProduceRules(dialect=DIALECT, batch_bytes_max=10 << 20)
KAFKA_RULES = ProduceRules(dialect=DIALECT, batch_bytes_max=1_048_588, kafka_rules=True)
ORDERS = TopicName("orders")
MIB = 1 << 20
SMALL_FILES = BrokerSettings(commit_log_file_bytes=MIB)


@dataclass
class Desk:
    """A broker and everything that a test may turn around it."""

    broker: Broker
    clock: VirtualClock
    disk: GatedDisk
    transactions: Gate
    failures: list[OnelogError] = field(default_factory=list)

    @property
    def syncs(self) -> Gate:
        return self.disk.syncs

    async def topic(
        self, name: str = "orders", partition_count: int = 1, settings: Mapping[str, str] | None = None
    ) -> TopicName:
        """A topic with these settings of its own."""
        (made,) = await self.broker.create_topics([NewTopic(name, partition_count, settings or {})])
        assert not isinstance(made, OnelogError), made
        return made.name

    async def settle(self) -> None:
        """What is durable gets to the segments now, and not when it was left alone for a while."""
        await self.broker._parts.settler.round()

    def append(
        self,
        *batches: Batch,
        topic: str = "orders",
        partition: int = 0,
        rules: ProduceRules = RULES,
    ) -> Ticket[AppendResult]:
        (ticket,) = self.broker.produce([Append(TopicName(topic), partition, batches)], rules=rules)
        return ticket

    def read(
        self, offset: int = 0, *, topic: str = "orders", partition: int = 0, bytes_max: int = MIB
    ) -> ReadResult:
        """What is visible; a refusal is raised."""
        return answered(
            self.broker.fetch(
                [read(offset, topic=topic, partition=partition)],
                bytes_max=bytes_max,
                isolation=Isolation.READ_UNCOMMITTED,
                dialect=DIALECT,
            )
        )

    def wait_read(
        self, *reads: Read, bytes_min: int = 1, wait_ms: int = 1000, bytes_max: int = MIB
    ) -> Ticket[list[ReadResult | OnelogError]]:
        return self.broker.wait_fetch(
            reads, bytes_max=bytes_max, bytes_min=bytes_min, wait_ms=wait_ms, dialect=DIALECT
        )


@asynccontextmanager
async def open_desk(path: Path, *, settings: BrokerSettings | None = None) -> AsyncIterator[Desk]:
    """A broker over this directory, closed at the end of the block, its gates opened first."""
    clock = virtual_clock()
    disk, transactions = GatedDisk(), Gate()
    failures: list[OnelogError] = []
    store = Store.open(
        disk,
        str(path),
        migrations=MIGRATIONS,
        open_catalog=partial(GatedCatalog.behind, transactions),
    )
    broker = await Broker.open(
        store=store,
        clock=clock,
        metrics=Metrics(),
        settings=settings or SMALL_FILES,
        on_failure=failures.append,
    )
    try:
        yield Desk(broker, clock, disk, transactions, failures)
    finally:
        for gate in (disk.syncs, disk.settling, disk.removals, transactions):
            gate.open()
        await broker.close()


def batch(
    *values: str | bytes,
    timestamp_ms: int | Sequence[int] = 1_800_000_000_000,
    codec: Codec = Codec.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> Batch:
    """One batch of these values."""
    times = [timestamp_ms] * len(values) if isinstance(timestamp_ms, int) else timestamp_ms
    records = [
        Record(key=None, value=v.encode() if isinstance(v, str) else v, timestamp_ms=t)
        for v, t in zip(values, times, strict=True)
    ]
    return Batch.build(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
    )


def numbered(sequence: int, *values: str, producer_id: int = 7, epoch: int = 0) -> Batch:
    """A batch of an idempotent producer."""
    return batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def read(offset: int = 0, *, topic: str = "orders", partition: int = 0, bytes_max: int = MIB) -> Read:
    return Read(TopicName(topic), partition, offset, bytes_max)


def answered(results: list[ReadResult | OnelogError]) -> ReadResult:
    """The only result, or its refusal raised."""
    (result,) = results
    if isinstance(result, OnelogError):
        raise result
    return result


def values(result: ReadResult) -> list[str]:
    """What the records say, those before the offset asked for included."""
    return [(record.value or b"").decode() for found in result.batches for record in found.records()]

"""Logs of small batches for the tests of storage, on any disk."""

from collections.abc import Sequence
from uuid import UUID

from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage.catalog import IN_MEMORY, CatalogFile
from onelog.storage.disk import Disk
from onelog.storage.log import LogSettings, PartitionLog
from onelog.storage.store import Store

ROOT = "data"
TOPIC = "orders"
TOPIC_ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
SMALL = LogSettings(segment_bytes=400, index_interval_bytes=100)


def batch_of(
    *values: str,
    timestamp_ms: int = 1000,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> Batch:
    """One batch; its records are a millisecond apart."""
    records = [Record(None, v.encode(), timestamp_ms + i) for i, v in enumerate(values)]
    return Batch.build(
        records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence
    )


def open_store(disk: Disk, path: str = ROOT) -> Store:
    """A store whose catalog is in memory."""
    return Store.open(disk, path, migrations=(), open_catalog=lambda _, m: CatalogFile.open(IN_MEMORY, m))


def open_log(
    store: Store,
    *,
    topic: str = TOPIC,
    topic_id: UUID = TOPIC_ID,
    partition: int = 0,
    settings: LogSettings = SMALL,
    start: int = 0,
) -> PartitionLog:
    """A partition's log."""
    return store.open_log(topic, topic_id, partition, settings=settings, start=start)


def write(log: PartitionLog) -> None:
    """Everything that is in the tail becomes durable."""
    job = log.begin_write()
    if job is not None:
        job.run()
        log.end_write(job)


def fill(log: PartitionLog, count: int, *, first: int = 0, now_ms: int = 0) -> None:
    """Batches of one record each, "0", "1", ..., each record a millisecond later; durable."""
    for number in range(first, first + count):
        log.append([batch_of(str(number), timestamp_ms=1000 + number)], leader_epoch=0, now_ms=now_ms)
    write(log)


def values_of(batches: Sequence[Batch]) -> list[str]:
    """The records' values as text."""
    return [(record.value or b"").decode() for batch in batches for record in batch.records()]


def read_all(log: PartitionLog, *, bytes_max: int = 1 << 20) -> list[str]:
    """What a reader sees from the start to the durable end."""
    found: list[str] = []
    offset = log.marks.start
    while offset < log.marks.durable:
        batches = log.read(offset, bytes_max=bytes_max, offset_max=log.marks.durable)
        found += values_of(batches)
        offset = batches[-1].offset_end
    return found

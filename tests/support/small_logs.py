"""Logs of small batches for the tests of storage, on any disk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID
from weakref import WeakKeyDictionary

from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage import ends as roots
from onelog.storage.adoption import adopt
from onelog.storage.catalog import IN_MEMORY, CatalogFile
from onelog.storage.commit_log import CommitLogSettings
from onelog.storage.disk import Disk
from onelog.storage.frames import LogKey
from onelog.storage.handles import Handles
from onelog.storage.home import Home
from onelog.storage.log import LogSettings, PartitionLog, SettleJob
from onelog.storage.recovery import Known, LogFacts, Recovered
from onelog.storage.store import Store

ROOT = "data"
TOPIC = "orders"
TOPIC_ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
SMALL = LogSettings(segment_bytes=400, index_interval_bytes=100)
DIRECTORY_ID = UUID(int=77)
KEY = LogKey(TOPIC_ID, 0)
RING = CommitLogSettings(file_bytes=8 * 256, bytes_max=64 * 256, block_bytes=256)


@dataclass
class Book:
    """What a catalog would know of a directory."""

    epochs: list[int] = field(default_factory=list)
    transaction: int = 0


_BOOKS: "WeakKeyDictionary[Disk, Book]" = WeakKeyDictionary()


def book_of(disk: Disk) -> Book:
    """The book of the only directory on this disk."""
    return _BOOKS.setdefault(disk, Book())


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


def recover(
    store: Store,
    logs: Mapping[LogKey, LogFacts] | None = None,
    *,
    removed: Sequence[UUID] = (),
    settings: CommitLogSettings = RING,
    epochs: frozenset[int] = frozenset(),
) -> Recovered:
    """What a broker's start does. Without a word about logs: the one that all tests use.

    epochs: those that another disk object knew of.
    """
    book = book_of(store.disk)
    noted = epochs | frozenset(book.epochs)
    known = Known(
        directory=DIRECTORY_ID,
        epoch=len(noted) + 1,
        epochs=noted,
        transaction=book.transaction,
        logs={KEY: LogFacts(TOPIC, SMALL)} if logs is None else logs,
        removed=frozenset(removed),
    )

    def note(_: Recovered) -> int:
        book.epochs.append(known.epoch)
        return book.transaction

    return store.recover(known, note, settings=settings)


def open_log(
    store: Store,
    *,
    topic: str = TOPIC,
    topic_id: UUID = TOPIC_ID,
    partition: int = 0,
    settings: LogSettings = SMALL,
    start: int = 0,
) -> PartitionLog:
    """A partition's log. The first one of a store is recovered, others are new."""
    if not store.is_recovered:
        recover(store, {LogKey(topic_id, partition): LogFacts(topic, settings, start)})
    return store.open_log(topic, topic_id, partition, settings=settings)


def adopted(
    disk: Disk, *, settings: LogSettings = SMALL, start: int = 0, was_clean: bool = False
) -> tuple[PartitionLog, int]:
    """The log of a directory that no root speaks of, and how much of it was cut."""
    home = Home(disk, ROOT, topic=TOPIC, partition=0, topic_id=TOPIC_ID)
    handles = Handles(disk)
    found = adopt(home, handles, settings=settings, start=start, was_clean=was_clean)
    log = PartitionLog(
        home,
        handles,
        settings=settings,
        segments=found.standing.segments,
        producers=found.standing.producers,
        start=start,
        has_home=found.has_home,
    )
    return log, found.bytes_cut


def job_of(log: PartitionLog) -> SettleJob | None:
    """What a worker is to do so that all that was appended is settled."""
    if log.marks.appended > log.marks.written:
        log.note_written(log.marks.appended, lsn=0, before=0)
    planning = log.begin_settle()
    while True:
        try:
            next(planning)
        except StopIteration as done:
            job: SettleJob | None = done.value
            return job


def write(log: PartitionLog) -> None:
    """Everything that is in the tail is settled, though no root says so."""
    job = job_of(log)
    if job is not None:
        job.run()
        log.end_settle(job)


def keep(store: Store, *logs: PartitionLog) -> None:
    """The root says that what these logs have in their segments counts."""
    ends = replace(store.ends, logs={log.key: log.said for log in logs})
    roots.write(store.disk, store.path, roots.encoded(ends))
    store.root_is(ends)


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

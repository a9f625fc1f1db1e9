"""A small world of logs on a simulated disk, lived through by a seed, and what it is owed.

A driver does what the broker does around storage: appends, turns, rolls, retention, topics
that go and come again under one name, clean stops. Somewhere the power goes, the process is
killed, a sync fails or the disk is full. After each start everything is read back:

    acknowledged or served: there, at its offset, byte for byte, exactly once
    anything else: what was appended, up to some point, and nothing behind it
    nothing of a deleted topic in its successor; no log start goes back; nothing is refused

The catalog is a store of its own: its transactions are whole and durable, or absent.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from unittest.mock import patch
from uuid import UUID

from onelog.errors import DiskFailed, DiskFull
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage import recovery
from onelog.storage.catalog import IN_MEMORY, CatalogFile
from onelog.storage.log import Appended, LogSettings, PartitionLog, Repeated, WriteJob
from onelog.storage.producers import BATCHES_KEPT
from onelog.storage.store import Store
from tests.support.simulated_disk import PowerCutError, SimulatedDisk

ROOT = "data"
NAMES = ("orders", "clicks")
PARTITIONS = 2
GENERATIONS = 6
WALKED_BYTES = 400
SETTINGS = LogSettings(segment_bytes=700, index_interval_bytes=150)

Place = tuple[str, int]


class ViolatedError(AssertionError):
    """A promise was broken; says which."""


@dataclass
class Entry:
    """A batch that was appended, as it has to be found again."""

    base: int
    next: int
    data: bytes
    sequence: int
    original: Batch


@dataclass
class History:
    """What one log was told, and what it has promised."""

    entries: list[Entry] = field(default_factory=list)
    promised: int = 0

    @property
    def next_sequence(self) -> int:
        return self.entries[-1].sequence + self.entries[-1].original.record_count if self.entries else 0


@dataclass
class Rows:
    """The catalog's durable rows."""

    alive: dict[str, UUID] = field(default_factory=dict)
    removed: set[UUID] = field(default_factory=set)
    starts: dict[Place, int] = field(default_factory=dict)


class World:
    """One seed's world. Mutants override what they do wrong."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.disk = SimulatedDisk(
            self.rng,
            page_bytes=self.rng.choice((64, 256)),
            sector_bytes=16,
            ordered_names=self.rng.random() < 0.5,
        )
        self.rows = Rows()
        self.histories: dict[Place, History] = {}
        self.logs: dict[Place, PartitionLog] = {}
        self.now_ms = 1_000_000
        self.store: Store | None = None

    def live(self) -> None:
        """All generations, one after the other."""
        # So little is walked at a start that snapshots have to be right.
        with patch.object(recovery, "WALKED_BYTES_MIN", WALKED_BYTES):
            self._live()

    def _live(self) -> None:
        for _ in range(GENERATIONS):
            self._arm()
            try:
                self._start()
                for _ in range(self.rng.randint(0, 30)):
                    self._do_something()
                if self.rng.random() < 0.4:
                    self._stop_cleanly()
            except PowerCutError:
                self.disk.power_cut()
            except (DiskFailed, DiskFull):
                if self.disk.fail_sync_at is None and self.disk.full_at is None:
                    raise
            self._end()
        self._start()

    # Turns of fate

    def _arm(self) -> None:
        """Choose what will go wrong in this generation, if anything."""
        at = self.disk.calls + self.rng.randint(1, 80)
        fate = self.rng.random()
        if fate < 0.6:
            self.disk.cut_at = at
        elif fate < 0.7:
            self.disk.fail_sync_at = at
        elif fate < 0.75:
            self.disk.full_at = at

    def _end(self) -> None:
        """The process is gone; the power may go too."""
        self.logs = {}
        self.store = None
        if self.rng.random() < 0.6:
            self.disk.power_cut()
        else:
            self.disk.kill()

    # What a broker does

    def _start(self) -> None:
        self.store = Store.open(
            self.disk,
            ROOT,
            migrations=(),
            open_catalog=lambda path, migrations: CatalogFile.open(IN_MEMORY, ()),
        )
        alive = {name: (topic_id, PARTITIONS) for name, topic_id in self.rows.alive.items()}
        found = self.store.sort_out(alive, self.rows.removed)
        self._require(not found.strays, f"set aside: {found.strays}")
        self.rows.removed = set()
        for name in self.rows.alive:
            self._open(name)
        for place, log in self.logs.items():
            self._judge(place, log)

    def _open(self, name: str) -> None:
        assert self.store is not None
        for partition in range(PARTITIONS):
            start = self.rows.starts.get((name, partition), 0)
            topic_id = self.rows.alive[name]
            self.logs[name, partition] = self.store.open_log(
                name, topic_id, partition, settings=SETTINGS, start=start
            )

    def _do_something(self) -> None:
        choice = self.rng.random()
        if choice < 0.42:
            self._append()
        elif choice < 0.45:
            # Enough for several segments in one job.
            for _ in range(12):
                self._append()
        elif choice < 0.8:
            self._turn()
        elif choice < 0.84:
            self._each(lambda log: log.ask_to_roll(self.now_ms))
        elif choice < 0.92:
            self._forget_old()
        elif choice < 0.96:
            self._create()
        else:
            self._delete()

    def _append(self) -> None:
        if not self.logs:
            self._create()
        place = self.rng.choice(list(self.logs))
        log, history = self.logs[place], self.histories[place]
        self.now_ms += 1
        known = [e for e in history.entries[-BATCHES_KEPT:] if e.base >= log.marks.start]
        if known and self.rng.random() < 0.15:
            again = self.rng.choice(known)
            outcome = log.append([again.original], leader_epoch=0, now_ms=self.now_ms)
            self._require(
                isinstance(outcome, Repeated) and (outcome.base, outcome.next) == (again.base, again.next),
                f"{place}: sequence {again.sequence} again gave {outcome}",
            )
            return
        batch = self._batch(place, history)
        outcome = log.append([batch], leader_epoch=0, now_ms=self.now_ms)
        self._require(isinstance(outcome, Appended), f"{place}: a new batch gave {outcome}")
        assert isinstance(outcome, Appended)
        data = bytes(outcome.buffers[0])
        history.entries.append(Entry(outcome.base, outcome.next, data, batch.base_sequence, batch))

    def _batch(self, place: Place, history: History) -> Batch:
        value = self.rng.randbytes(self.rng.randint(0, 90))
        records = [Record(None, value, self.now_ms)] * self.rng.randint(1, 3)
        return Batch.build(records, producer_id=7, producer_epoch=0, base_sequence=history.next_sequence)

    def _turn(self) -> None:
        """What the committer does: all logs' jobs, and each one's answers when its job is done."""
        jobs = [(place, log, log.begin_write()) for place, log in self.logs.items()]
        self.rng.shuffle(jobs)
        if self.rng.random() < 0.1:
            self._each(lambda log: log.ask_to_roll(self.now_ms))
        if self.rng.random() < 0.3:
            self._append()
        for place, log, job in jobs:
            if job is not None:
                self._write(place, log, job)

    def _write(self, place: Place, log: PartitionLog, job: WriteJob) -> None:
        job.run()
        log.end_write(job)
        self._promise(place, log)

    def _promise(self, place: Place, log: PartitionLog) -> None:
        """Answers leave, readers see it."""
        self.histories[place].promised = log.marks.durable

    def _forget_old(self) -> None:
        if self.logs:
            place = self.rng.choice(list(self.logs))
            log = self.logs[place]
            offset = self.rng.randint(log.marks.start, log.marks.durable)
            self.rows.starts[place] = offset
            log.raise_start(offset)
            log.remove_segments().run()

    def _create(self) -> None:
        for name in NAMES:
            if name not in self.rows.alive:
                self.rows.alive[name] = UUID(int=self.rng.getrandbits(128))
                for partition in range(PARTITIONS):
                    self.histories[name, partition] = History()
                self._open(name)
                return

    def _delete(self) -> None:
        if not self.rows.alive or self.rng.random() < 0.5:
            return
        assert self.store is not None
        name = self.rng.choice(list(self.rows.alive))
        topic_id = self.rows.alive.pop(name)
        self.rows.removed.add(topic_id)
        places = [(name, partition) for partition in range(PARTITIONS)]
        for place in places:
            self.rows.starts.pop(place, None)
            del self.histories[place]
        for place in places:
            self.logs.pop(place).close()
        for partition in range(PARTITIONS):
            self.store.remove_log(name, topic_id, partition).run()
        self.rows.removed.discard(topic_id)

    def _stop_cleanly(self) -> None:
        self._turn()
        self._turn()
        self._each(lambda log: log.close())
        assert self.store is not None
        self.store.close(clean=True)

    # What it is owed

    def _judge(self, place: Place, log: PartitionLog) -> None:
        history = self.histories[place]
        marks = log.marks
        self._require(marks.start == self.rows.starts.get(place, 0), f"{place}: begins at {marks.start}")
        self._require(
            marks.durable >= history.promised,
            f"{place}: ends at {marks.durable}; {history.promised} promised",
        )
        history.entries = [e for e in history.entries if e.next <= marks.durable]
        end = history.entries[-1].next if history.entries else 0
        self._require(end == marks.durable, f"{place}: ends at {marks.durable}, in no batch's end")
        offset = marks.start
        expected = [e for e in history.entries if e.next > offset]
        found: list[Batch] = []
        while offset < marks.durable:
            part = log.read(offset, bytes_max=self.rng.choice((1, 300, 10_000)), offset_max=marks.durable)
            self._require(bool(part), f"{place}: nothing to read at {offset}")
            found += part
            offset = part[-1].offset_end
        self._require([bytes(b.data) for b in found] == [e.data for e in expected], f"{place}: other records")
        # It is visible now, so no cut may take it back.
        history.promised = marks.durable

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise ViolatedError(what)

    def _each(self, act: Callable[[PartitionLog], None]) -> None:
        for log in self.logs.values():
            act(log)

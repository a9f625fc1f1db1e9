"""A small world: a broker's committer, settler and partitions on a simulated disk, lived through by a seed.

The loop's turns, the threads' jobs, the catalog's transactions and all that clients ask for come
in an order that the seed chooses; while a thread is in the middle of a call, the loop goes on.
Somewhere the power goes, the process is killed, a sync fails or the disk is full, at a start
too. After each start everything is read back:

    acknowledged or served by a `sync` log: there, at its offset, byte for byte, exactly once
    by an `os` log: there after a kill; after a power cut a prefix of what was appended
    anything else: what was appended, up to some point, and nothing behind it
    nothing of a deleted topic in its successor; no log start goes back; nothing is refused
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from random import Random
from unittest.mock import patch
from uuid import UUID

from onelog.broker.committer import Committer
from onelog.broker.partition import Partition
from onelog.broker.settler import Settler
from onelog.broker.space import Space
from onelog.broker.topics.settings import Durability, TopicPolicy, policy_of
from onelog.broker.values import AppendResult
from onelog.errors import DiskFailed, DiskFull, OnelogError, OutOfOrderSequence, PartitionClosed, UnknownTopic
from onelog.metrics import Metrics
from onelog.model import Isolation, TopicName
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage import ends as roots
from onelog.storage import kept_tails, layout, standing
from onelog.storage.catalog import IN_MEMORY, CatalogFile
from onelog.storage.commit_log import CommitLogSettings
from onelog.storage.disk import StoreRefused
from onelog.storage.ends import Ends
from onelog.storage.frames import FRAME_HEADER_BYTES, Frame, LogKey
from onelog.storage.log import LogSettings
from onelog.storage.producers import BATCHES_KEPT
from onelog.storage.recovery import Known, LogFacts, Recovered
from onelog.storage.replay import Found, Replay, commit_files, frames_in
from onelog.storage.store import Store
from onelog.ticket import Ticket
from tests.crash.book import Book, Place, Rows
from tests.crash.machine import SimulatedWork
from tests.support.simulated_disk import ROOM_BYTES, PowerCutError, SimulatedDisk

ROOT = "data"
DIRECTORY_ID = UUID(int=77)
NAMES = ("orders", "clicks")
PARTITIONS = 2
GENERATIONS = 6
WALKED_BYTES = 0
LOG_SETTINGS = LogSettings(segment_bytes=700, index_interval_bytes=150)
BLOCK = 256
RING = CommitLogSettings(file_bytes=8 * BLOCK, bytes_max=32 * BLOCK, block_bytes=BLOCK)
TAIL_BYTES_MAX = 12_000
NESTED_MAX = 2


class ViolatedError(AssertionError):
    """A promise was broken; says which."""


@dataclass
class Entry:
    """A batch that was appended, as it has to be found again."""

    base: int
    next: int
    data: bytes
    original: Batch


@dataclass
class History:
    """What one log was told, and what it has promised."""

    is_os: bool
    entries: list[Entry] = field(default_factory=list)
    base: int = 0
    promised: int = 0
    start: int = 0
    leader_epoch: int = 0

    @property
    def next_sequence(self) -> int:
        if not self.entries:
            return 0
        last = self.entries[-1].original
        return last.base_sequence + last.record_count


class World:
    """One seed's world. Mutants override what they do wrong."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.disk = SimulatedDisk(
            self.rng, page_bytes=BLOCK, sector_bytes=32, ordered_names=self.rng.random() < 0.5
        )
        self.histories: dict[Place, History] = {}
        self.now_ms = 1_000_000
        self.was_power_cut = False
        self.was_clean = False
        self._epoch = 0
        self._forget_process()

    def _forget_process(self) -> None:
        self.store: Store | None = None
        self.partitions: dict[Place, Partition] = {}
        self.names: dict[str, tuple[UUID, bool]] = {}
        self.busy_names: set[str] = set()
        self.changes: list[tuple[Callable[[Rows], None], Callable[[], None]]] = []
        self.failed: OnelogError | None = None
        self._is_writing = False

    def live(self) -> None:
        """All generations, one after the other."""
        with ExitStack() as stack:
            # So little is walked at a start that snapshots have to be right.
            stack.enter_context(patch.object(standing, "WALKED_BYTES_MIN", WALKED_BYTES))
            stack.enter_context(patch.object(kept_tails, "BLOCK_BYTES", BLOCK))
            for _ in range(GENERATIONS):
                self._generation()
            self.disk.kill()
            self._start()
            self._judge_all()

    def _generation(self) -> None:
        self._arm()
        try:
            self._start()
            self._judge_all()
            for _ in range(self.rng.randint(0, 120)):
                self._do_something()
                if self.failed is not None:
                    break
            if self.failed is None and self.rng.random() < 0.3:
                self._stop_cleanly()
        except PowerCutError:
            self.was_power_cut = True
            self.disk.power_cut()
        except (DiskFailed, DiskFull):
            if not self._is_faulty():
                raise
        if self.failed is not None:
            self._require(self._is_faulty(), f"stopped: {self.failed}")
        self._end()

    # Turns of fate

    def _arm(self) -> None:
        """Choose what will go wrong in this generation, if anything."""
        self._faulty = False
        at = self.disk.calls + int(self.rng.paretovariate(0.6) * 8)
        fate = self.rng.random()
        if fate < 0.1:
            # Where the old root and the new one are both near.
            self.disk.cut_behind = layout.ENDS + layout.ASIDE_SUFFIX
        elif fate < 0.55:
            self.disk.cut_at = at
        elif fate < 0.7:
            self.disk.fail_sync_at = at
        elif fate < 0.8:
            self.disk.full_at = at
        self._faulty = 0.55 <= fate < 0.8

    def _is_faulty(self) -> bool:
        return self._faulty

    def _end(self) -> None:
        """The process is gone; the power may go too."""
        self.disk.meanwhile = None
        # What a failed sync has dropped is not in the cache either, once that is needed elsewhere.
        self.was_power_cut |= self.disk.has_failed
        if self.rng.random() < 0.5:
            self.was_power_cut = True
            self.disk.power_cut()
        else:
            self.disk.kill()
            if self.rng.random() < 0.5:
                self.disk.evict()
        self._forget_process()
        if self.rng.random() < 0.05:
            self._rot()

    def _rot(self) -> None:
        """A bit flips in a frame that a later one knows to be durable: the start has to refuse, and repairs nothing."""
        ends = self._root()
        if ends is None:
            return
        frames = list(Replay(self.disk, ROOT, ends, block_bytes=BLOCK).frames())
        known = [frame for frame in frames if any(other.durable >= frame.end for other in frames)]
        if not known:
            return
        frame = self.rng.choice(known)
        files = commit_files(self.disk, ROOT, block_bytes=BLOCK)
        # A file that was made ready and not used may claim the same place.
        found = next(f for f in files if f.header.epoch == ends.epoch and self._stands_in(frame, f))
        file = self.disk.open(found.path)
        position = frame.lsn - found.header.start + self.rng.randrange(8, FRAME_HEADER_BYTES + 8)
        byte = file.pread(position, 1)
        file.write_at(position, [bytes([byte[0] ^ 4])])
        file.sync()
        try:
            self._start()
        except StoreRefused:
            pass
        else:
            self._require(False, f"{found.path} at byte {position}: a flipped bit was not noticed")
        self.disk.kill()
        self._forget_process()
        file = self.disk.open(found.path)
        file.write_at(position, [byte])
        file.sync()

    def _stands_in(self, frame: Frame, found: Found) -> bool:
        return any(
            other.crc == frame.crc and position == frame.lsn - found.header.start
            for position, other in frames_in(self.disk, found.path, block_bytes=BLOCK)
        )

    def _root(self) -> Ends | None:
        return roots.load(self.disk, ROOT) if self.disk.exists(ROOT) else None

    # A start

    def _start(self) -> None:
        self._faults_of_catalog: list[OnelogError] = []
        self.store = Store.open(self.disk, ROOT, migrations=(), open_catalog=self._open_catalog)
        rows = self.book.rows
        self._epoch += 1
        known = Known(
            directory=DIRECTORY_ID,
            epoch=self._epoch,
            epochs=frozenset(rows.epochs),
            transaction=rows.transaction,
            logs={
                LogKey(topic_id, partition): self._facts(name, (topic_id, partition), is_os=is_os)
                for name, (topic_id, is_os) in rows.alive.items()
                for partition in range(PARTITIONS)
            },
            removed=frozenset(rows.removed),
        )
        recovered = self.store.recover(known, lambda found: self._note(found, known.epoch), settings=RING)
        self.was_clean = recovered.was_clean
        self._require(not recovered.refused, f"refused: {recovered.refused}")
        self._forget_old_epochs(known.epoch)
        alive = {name: (topic_id, PARTITIONS) for name, (topic_id, _) in rows.alive.items()}
        found = self.store.sort_out(alive, rows.removed)
        self._require(not found.strays, f"set aside: {found.strays}")
        self._write_now(lambda rows: rows.removed.clear())
        self._open_broker()

    def _open_catalog(self, path: str, migrations: object) -> CatalogFile:
        self.book = Book(self.disk, ROOT)
        return CatalogFile.open(IN_MEMORY, ())

    def _facts(self, name: str, place: Place, *, is_os: bool) -> LogFacts:
        return LogFacts(name, LOG_SETTINGS, self.book.rows.starts.get(place, 0), is_os)

    def _note(self, recovered: Recovered, epoch: int) -> int:
        def change(rows: Rows) -> None:
            rows.epochs.add(epoch)
            for place, end in recovered.unsure_ends().items():
                rows.leader_epochs[place] = rows.leader_epochs.get(place, 0) + 1
                rows.positions[place] = min(rows.positions.get(place, 0), end)

        self._write_now(change)
        return self.book.rows.transaction

    def _forget_old_epochs(self, epoch: int) -> None:
        self._write_now(lambda rows: rows.epochs.intersection_update({epoch}))

    def _write_now(self, change: Callable[[Rows], None]) -> None:
        rows = self.book.rows.copy()
        change(rows)
        self.book.write(rows)

    def _open_broker(self) -> None:
        assert self.store is not None
        self.work = SimulatedWork(self.rng)
        self.settler = Settler(
            self.store,
            work=self.work,
            transaction=lambda: self.book.rows.transaction,
            metrics=Metrics(),
            on_failure=self._fail,
        )
        self.committer = Committer(
            self.store.commit_log,
            settler=self.settler,
            space=Space(self.disk, ROOT, work=self.work, tail_bytes_max=0),
            work=self.work,
            metrics=Metrics(),
            on_failure=self._fail,
            tail_bytes_max=TAIL_BYTES_MAX,
        )
        self.names = dict(self.book.rows.alive)
        for name in self.names:
            self._open_topic(name)

    def _fail(self, error: OnelogError) -> None:
        if self.failed is None:
            self.failed = error
            self.committer.fail(error)
            self.settler.fail(error)

    def _open_topic(self, name: str) -> None:
        assert self.store is not None
        topic_id, is_os = self.names[name]
        policy = self._policy(is_os=is_os)
        for index in range(PARTITIONS):
            place = (topic_id, index)
            self.histories.setdefault(place, History(is_os))
            log = self.store.open_log(name, topic_id, index, settings=LOG_SETTINGS, is_os=is_os)
            self.partitions[place] = Partition(
                TopicName(name),
                index,
                log=log,
                leader_epoch=self.book.rows.leader_epochs.get(place, 0),
                policy=policy,
                committer=self.committer,
            )
            self.partitions[place].watch(_Watcher(self, place))

    def _policy(self, *, is_os: bool) -> TopicPolicy:
        return replace(
            policy_of({}), log=LOG_SETTINGS, durability=Durability.OS if is_os else Durability.SYNC
        )

    # What happens while it runs

    def _do_something(self) -> None:
        choice = self.rng.random()
        if choice < 0.25:
            self._append()
        elif choice < 0.27:
            # Enough for several segments in one round.
            for _ in range(12):
                self._append()
        elif choice < 0.52:
            self.work.turn()
        elif choice < 0.8:
            self._let_a_thread_run()
        elif choice < 0.84:
            self._read()
        elif choice < 0.88:
            self._write_catalog()
        elif choice < 0.9:
            self.work.fire()
        elif choice < 0.91:
            self._make_room()
        elif choice < 0.92:
            self.settler.round()
        elif choice < 0.935:
            self._roll()
        elif choice < 0.95:
            self._forget_old()
        elif choice < 0.96:
            self._commit_position()
        elif choice < 0.963:
            self._close_damaged()
        elif choice < 0.985:
            self._create()
        else:
            self._delete()

    def _let_a_thread_run(self) -> None:
        if not self.work.jobs:
            return
        self.work.run_one(self._around)

    def _around(self, job: Callable[[], None]) -> None:
        before = self.disk.meanwhile
        self.disk.meanwhile = self._meanwhile
        try:
            job()
        finally:
            self.disk.meanwhile = before

    def _meanwhile(self) -> None:
        """A thread is in the middle of a call: the loop, or another thread, goes on."""
        if self.work.in_threads > NESTED_MAX or self.rng.random() > 0.2 or self.failed is not None:
            return
        before, self.disk.meanwhile = self.disk.meanwhile, None
        try:
            for _ in range(self.rng.randint(1, 3)):
                self._do_something()
        finally:
            self.disk.meanwhile = before

    def _append(self) -> None:
        if not self.partitions:
            self._create()
            return
        place = self.rng.choice(list(self.partitions))
        partition, history = self.partitions[place], self.histories[place]
        self.now_ms += 1
        known = [e for e in history.entries[-BATCHES_KEPT:] if e.base >= partition.marks.start]
        if known and self.rng.random() < 0.15:
            again = self.rng.choice(known)
            ticket = partition.append([again.original], now_ms=self.now_ms)
            ticket.add_callback(lambda done: self._answered_again(place, again, done))
            return
        if self.committer.is_full:
            return  # who is held back gets no offset, so nothing is known of it
        batch = self._batch(history)
        base = partition.log.marks.appended
        ticket = partition.append([batch], now_ms=self.now_ms)
        if ticket.done and ticket.error is not None:
            return
        data = bytes(batch.renumbered(base_offset=base, leader_epoch=partition.leader_epoch).data)
        history.entries.append(Entry(base, base + batch.record_count, data, batch))
        ticket.add_callback(lambda done: self._answered(place, done))

    def _batch(self, history: History) -> Batch:
        size = self.rng.choice((0, 30, 90, 90, 90, 600))
        records = [Record(None, self.rng.randbytes(self.rng.randint(0, size)), self.now_ms)]
        return Batch.build(
            records * self.rng.randint(1, 3),
            producer_id=7,
            producer_epoch=0,
            base_sequence=history.next_sequence,
        )

    def _answered(self, place: Place, done: Ticket[AppendResult]) -> None:
        """An answer leaves."""
        if done.error is None:
            self._promise(place, done.result().end)

    def _answered_again(self, place: Place, again: Entry, done: Ticket[AppendResult]) -> None:
        self._require(
            not isinstance(done.error, OutOfOrderSequence),
            f"{place}: the batch of offset {again.base} again gave {done.error}",
        )
        if done.error is None:
            result = done.result()
            self._require(
                (result.first, result.end) == (again.base, again.next),
                f"{place}: the batch of offset {again.base} again gave {result}",
            )
            self._promise(place, result.end)

    def _promise(self, place: Place, offset: int) -> None:
        history = self.histories[place]
        history.promised = max(history.promised, offset)

    def _make_room(self) -> None:
        """Somebody has removed something else from a disk that was full."""
        if self.disk.full_at is not None and self.disk.calls > self.disk.full_at:
            self.disk.full_at, self.disk.room_bytes = None, ROOM_BYTES

    def _read(self) -> None:
        if not self.partitions:
            return
        place = self.rng.choice(list(self.partitions))
        partition, history = self.partitions[place], self.histories[place]
        marks = partition.marks
        if marks.start > marks.durable:
            return
        offset = self.rng.randint(marks.start, marks.durable)
        isolation = self.rng.choice(list(Isolation))
        found = partition.read(offset, bytes_max=self.rng.choice((1, 300, 10_000)), isolation=isolation)
        expected = [e.data for e in history.entries if e.next > offset][: len(found)]
        self._require([bytes(b.data) for b in found] == expected, f"{place}: other records at {offset}")
        if found:
            self._promise(place, found[-1].offset_end)

    def _roll(self) -> None:
        if self.partitions:
            self.rng.choice(list(self.partitions.values())).log.ask_to_roll(self.now_ms)

    # The catalog

    def _change(self, change: Callable[[Rows], None], then: Callable[[], None]) -> None:
        self.changes.append((change, then))

    def _write_catalog(self) -> None:
        """A thread writes all that was changed, in one transaction; then it is told."""
        if not self.changes or self._is_writing:
            return
        changes, self.changes = self.changes, []
        rows = self.book.rows.copy()
        for change, _ in changes:
            change(rows)

        def done(error: BaseException | None) -> None:
            self._is_writing = False
            if isinstance(error, DiskFull):
                self.changes = [*changes, *self.changes]
                return
            if isinstance(error, OnelogError):
                self._fail(error)
            if self.failed is None:
                for _, then in changes:
                    then()

        self._is_writing = True
        self.work.jobs.append((lambda: self.book.write(rows), done))

    def _forget_old(self) -> None:
        if not self.partitions:
            return
        place = self.rng.choice(list(self.partitions))
        partition = self.partitions[place]
        marks = partition.marks
        if marks.durable < marks.start:
            return
        offset = self.rng.randint(marks.start, marks.durable)
        if not partition.decide_start(offset):
            return

        def change(rows: Rows) -> None:
            if place[0] not in rows.removed:
                rows.starts[place] = offset

        def then() -> None:
            if partition.is_open:
                self.histories[place].start = max(self.histories[place].start, offset)
                partition.raise_start(offset)
                removal = partition.log.remove_segments()
                self.work.run_in_turn(lambda: _ignore(removal.run()), self._heard)

        self._change(change, then)

    def _heard(self, error: BaseException | None) -> None:
        if isinstance(error, DiskFailed):
            self._fail(error)

    def _commit_position(self) -> None:
        if self.partitions:
            place = self.rng.choice(list(self.partitions))
            offset = self.partitions[place].marks.durable

            def change(rows: Rows) -> None:
                if place[0] not in rows.removed:
                    rows.positions[place] = offset

            self._change(change, lambda: None)

    def _create(self) -> None:
        free = [name for name in NAMES if name not in self.names and name not in self.busy_names]
        if not free:
            return
        name = free[0]
        topic = (UUID(int=self.rng.getrandbits(128)), self.rng.random() < 0.3)
        self.busy_names.add(name)

        def change(rows: Rows) -> None:
            rows.alive[name] = topic

        def then() -> None:
            self.busy_names.discard(name)
            self.names[name] = topic
            self._open_topic(name)

        for partition in range(PARTITIONS):
            self.histories[topic[0], partition] = History(topic[1])
        self._change(change, then)

    def _delete(self) -> None:
        if not self.names or self.rng.random() < 0.5:
            return
        name = self.rng.choice(list(self.names))
        topic_id, _ = self.names[name]
        if name in self.busy_names:
            return
        self.busy_names.add(name)

        def change(rows: Rows) -> None:
            del rows.alive[name]
            rows.removed.add(topic_id)
            for partition in range(PARTITIONS):
                rows.starts.pop((topic_id, partition), None)

        self._change(change, lambda: self._deleted(name, topic_id))

    def _deleted(self, name: str, topic_id: UUID) -> None:
        """The row is durable: the logs are let go, then their files go, one after the other."""
        del self.names[name]
        gone = UnknownTopic(topic=name)
        leaving = [self.partitions.pop((topic_id, index), None) for index in range(PARTITIONS)]
        releasing = [partition.close(gone) for partition in leaving if partition is not None]
        if not releasing:
            releasing = [self.settler.round()]
        left = len(releasing)

        def released(_: Ticket[None]) -> None:
            nonlocal left
            left -= 1
            if not left:
                self._remove(name, topic_id, 0)

        for ticket in releasing:
            ticket.add_callback(released)

    def _remove(self, name: str, topic_id: UUID, index: int) -> None:
        assert self.store is not None
        if index == PARTITIONS:
            self.busy_names.discard(name)
            self.committer.forget(topic_id)
            self.committer.behind().add_callback(lambda done: self._forget_id(topic_id, done))
            return
        job = self.store.remove_log(name, topic_id, index)

        def done(error: BaseException | None) -> None:
            self._heard(error)
            if error is None:
                self._remove(name, topic_id, index + 1)

        self.work.run_in_turn(lambda: _ignore(job.run()), done)

    def _close_damaged(self) -> None:
        """A reader meets damage in a log: it is closed, and what it promised is kept until the next start."""
        if self.partitions and self.rng.random() < 0.3:
            place = self.rng.choice(list(self.partitions))
            reason = PartitionClosed(topic="any", partition=place[1], reason="damaged")
            self.partitions.pop(place).close(reason, keeps_tail=True)

    def _forget_id(self, topic_id: UUID, done: Ticket[None]) -> None:
        if done.error is None:
            self._change(lambda rows: rows.removed.discard(topic_id), lambda: None)

    # A clean stop

    def _stop_cleanly(self) -> None:
        """What the assembly does: everything staged is answered, settled, and said to be at rest."""
        assert self.store is not None
        self._drain()
        if self.failed is None and not self._is_faulty():
            waiting = [lane.log.name for lane in self.committer._lanes.values() if lane.waiting]
            self._require(not waiting, f"nothing is to be done, and {waiting} wait for an answer")
        if self.failed is None:
            settling = self.settler.round()
            self._drain()
            self._require(settling.done or self.failed is not None, "a round does not come to an end")
        if self.failed is not None:
            return
        logs = [partition.log for partition in self.partitions.values()]
        is_said = self.store.ends.first == self.store.commit_log.end
        if not is_said or any(log.marks.settled < log.marks.appended for log in logs):
            self._require(self._is_faulty(), "a round has left a tail")
            return
        if len(logs) < len(self.names) * PARTITIONS:
            return  # a log that is closed has something to say at the next start
        for log in logs:
            log.close()
        self.store.close(at_rest=logs)

    def _drain(self) -> None:
        for number in range(2000):
            if self.failed is not None:
                return
            if number > 200:
                self._make_room()
            self._write_catalog()
            if self.work.jobs:
                self.work.run_one(lambda job: job())
            if self.work.is_idle and not self.changes and not self.committer.is_busy:
                return
            if self.work.is_idle:
                self._make_room()
                self.work.fire()
            self.work.turn()
        self._require(False, "the broker does not come to rest")

    # What it is owed

    def _judge_all(self) -> None:
        self._judge_files()
        for place, partition in self.partitions.items():
            self._judge(place, partition)
        self.was_power_cut = False

    def _judge(self, place: Place, partition: Partition) -> None:
        history, marks, rows = self.histories[place], partition.log.marks, self.book.rows
        self._require(marks.start == rows.starts.get(place, 0), f"{place}: begins at {marks.start}")
        self._require(
            marks.start >= history.start, f"{place}: begins at {marks.start}; {history.start} was said"
        )
        history.start = marks.start
        may_lose = history.is_os and self.was_power_cut
        if may_lose:
            self._judge_loss(place, partition)
        else:
            self._require(
                marks.durable >= history.promised,
                f"{place}: ends at {marks.durable}; {history.promised} promised",
            )
        history.entries = [e for e in history.entries if e.next <= marks.durable]
        end = history.entries[-1].next if history.entries else history.base
        is_emptied = may_lose and marks.start == marks.durable >= end
        self._require(
            end == marks.durable or is_emptied, f"{place}: ends at {marks.durable}, in no batch's end"
        )
        if is_emptied and end < marks.durable:
            self._begin_anew(place, marks.durable)
            return
        self._judge_records(place, partition)
        # It is visible now, so no cut may take it back.
        history.promised = marks.durable
        history.leader_epoch = partition.leader_epoch

    def _judge_files(self) -> None:
        """Nothing lies behind the end of a log, for others to take it for a part of it."""
        for partition in self.partitions.values():
            log = partition.log
            if log.has_segments:
                active = log.said.base
                for name in self.disk.names(log.home.path):
                    found = layout.segment_of(name)
                    self._require(
                        found is None or found[0] <= active, f"{log.home.path}/{name} behind {active}"
                    )

    def _judge_loss(self, place: Place, partition: Partition) -> None:
        """An `os` log after a power cut: clients are to notice, and nothing is beyond the end."""
        history, marks = self.histories[place], partition.log.marks
        if marks.durable < history.promised:
            self._require(
                partition.leader_epoch > history.leader_epoch,
                f"{place}: lost records, and its leader epoch is still {partition.leader_epoch}",
            )
        position = self.book.rows.positions.get(place, 0)
        self._require(position <= marks.durable, f"{place}: a position {position} beyond {marks.durable}")
        history.promised = min(history.promised, marks.durable)

    def _begin_anew(self, place: Place, end: int) -> None:
        """Everything below its start was lost: it goes on there, and its producers begin again."""
        topic = self.histories[place]
        self.histories[place] = History(topic.is_os, base=end, promised=end, start=end)
        self.histories[place].leader_epoch = self.partitions[place].leader_epoch

    def _judge_records(self, place: Place, partition: Partition) -> None:
        history, log = self.histories[place], partition.log
        offset = log.marks.start
        expected = [e for e in history.entries if e.next > offset]
        found: list[Batch] = []
        while offset < log.marks.durable:
            part = log.read(offset, bytes_max=self.rng.choice((1, 300, 10_000)), offset_max=log.marks.durable)
            self._require(bool(part), f"{place}: nothing to read at {offset}")
            found += part
            offset = part[-1].offset_end
        self._require([bytes(b.data) for b in found] == [e.data for e in expected], f"{place}: other records")

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise ViolatedError(what)


class _Watcher:
    """A long poll that never has enough: woken by what is visible, and by nothing else."""

    def __init__(self, world: World, place: Place) -> None:
        self._world = world
        self._place = place
        self._first = world.partitions[place].marks.durable
        self._seen = 0

    def seen(self, size: int) -> None:
        partition = self._world.partitions.get(self._place)
        if partition is None or not partition.is_open:
            return
        self._seen += size
        marks, history = partition.log.marks, self._world.histories[self._place]
        visible = marks.written if history.is_os else marks.durable
        there = sum(len(e.data) for e in history.entries if e.base >= self._first and e.next <= visible)
        self._world._require(
            self._seen <= there, f"{self._place}: woken by {self._seen} bytes; {there} are visible"
        )

    def wake(self) -> None:
        pass


def _ignore(_: object) -> None:
    pass

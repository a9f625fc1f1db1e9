"""Ways to be wrong, as patches of the real thing; each has to be caught by some seed.

A mutant says what it leaves out. None is a switch in the product.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from onelog.model import OFFSET_MAX
from onelog.records.batch import Batch
from onelog.storage import layout, recovery, removal, store, writing
from onelog.storage.home import Home
from onelog.storage.log import PartitionLog, WriteJob
from onelog.storage.producers import BATCHES_KEPT, Producer, Seen
from tests.crash.world import ROOT, Place, World
from tests.support.simulated_disk import SimulatedDisk, SimulatedFile

Patches = Callable[[ExitStack], None]


@dataclass(frozen=True)
class Mutant:
    """What is left out, and how. A world of its own where the driver is what is wrong."""

    name: str
    patches: Patches
    world: type[World] = World

    @contextmanager
    def at_work(self) -> Iterator[type[World]]:
        with ExitStack() as stack:
            self.patches(stack)
            yield self.world


def _nothing(stack: ExitStack) -> None:
    """The world itself is what is wrong."""


def _replaced(owner: Any, name: str, wrong: Any) -> Patches:
    def patches(stack: ExitStack) -> None:
        stack.enter_context(patch.object(owner, name, wrong))

    return patches


def _no_sync(stack: ExitStack) -> None:
    real = SimulatedFile.sync

    def wrong(self: SimulatedFile) -> None:
        if not self.path.endswith(layout.LOG_SUFFIX):
            real(self)

    stack.enter_context(patch.object(SimulatedFile, "sync", wrong))


def _no_directory_sync(suffix: str) -> Patches:
    def patches(stack: ExitStack) -> None:
        real = SimulatedDisk.sync_dir

        def wrong(self: SimulatedDisk, path: str) -> None:
            if not path.endswith(suffix):
                real(self, path)

        stack.enter_context(patch.object(SimulatedDisk, "sync_dir", wrong))

    return patches


def _home_without(call: str) -> Patches:
    """Home.make, with one of its syncs left out."""

    def make(self: Home) -> None:
        self.disk.make_dir(self.path)
        path = layout.join(self.path, layout.METADATA)
        file = self.disk.open(path, create=True)
        text = layout.metadata_text(self.topic_id)
        file.write_at(0, [text])
        if call != "metadata":
            file.sync()
        if call != "directory":
            self.disk.sync_dir(self.path)
        if call != "parent":
            self.disk.sync_dir(self.root)

    return _replaced(Home, "make", make)


def _all_written_then_synced(self: WriteJob) -> None:
    """Every segment of the job is written before any is synced."""
    if self.makes_home:
        self._home.make()
    disk = self._home.disk
    files = []
    for piece in self.pieces:
        if piece.is_new:
            piece.file = disk.open(piece.segment.path, create=True)
        file = piece.file or (piece.handle.file if piece.handle else None)
        assert file is not None
        file.write_at(piece.position, piece.buffers)
        files.append(file)
        if piece.files is not None:
            writing.write_files(disk, piece.files)
    for file in files:
        file.sync()
    disk.sync_dir(self._home.path)


def _names_synced_at_the_end(self: WriteJob) -> None:
    """Each segment is whole before the next is made, but its name may not be known."""
    if self.makes_home:
        self._home.make()
    disk = self._home.disk
    with patch.object(SimulatedDisk, "sync_dir", lambda self, path: None):
        for piece in self.pieces:
            self._write(piece)
    disk.sync_dir(self._home.path)


def _active_not_synced(stack: ExitStack) -> None:
    """What a killed process left in the cache is believed, and served."""
    real = SimulatedFile.sync

    def wrong(self: SimulatedFile) -> None:
        if not (self.path.endswith(layout.LOG_SUFFIX) and recovering):
            real(self)

    recovering: list[bool] = []
    recover = recovery.recover

    def marked(*args: Any, **named: Any) -> Any:
        recovering.append(True)
        try:
            return recover(*args, **named)
        finally:
            recovering.clear()

    stack.enter_context(patch.object(SimulatedFile, "sync", wrong))
    stack.enter_context(patch.object(store, "recover", marked))


def _clean_mark_stays(stack: ExitStack) -> None:
    real = SimulatedDisk.unlink

    def wrong(self: SimulatedDisk, path: str) -> None:
        if not path.endswith(layout.CLEAN_STOP):
            real(self, path)

    stack.enter_context(patch.object(SimulatedDisk, "unlink", wrong))


def _clean_mark_removed_in_the_cache_only(stack: ExitStack) -> None:
    """The directory is not synced until the first log has to have a name in it."""
    real_open, real_sync = store.Store.open, SimulatedDisk.sync_dir
    opening: list[bool] = []

    def wrong_open(*args: Any, **named: Any) -> store.Store:
        opening.append(True)
        try:
            return real_open(*args, **named)
        finally:
            opening.clear()

    def wrong_sync(self: SimulatedDisk, path: str) -> None:
        if not opening or path != ROOT:
            real_sync(self, path)

    stack.enter_context(patch.object(store.Store, "open", wrong_open))
    stack.enter_context(patch.object(SimulatedDisk, "sync_dir", wrong_sync))


def _removal_before_its_name(stack: ExitStack) -> None:
    def run(self: removal.LogRemoval) -> int:
        home = self._home
        if not home.disk.exists(home.path):
            return 0
        meaning = layout.LogDir(home.topic, home.partition, layout.Role.DELETE)
        return removal.remove_tree(
            home.disk, removal.move_away(home.disk, home.root, home.path, meaning, home.topic_id)
        )

    stack.enter_context(patch.object(removal.LogRemoval, "run", run))


def _identity_by_path(stack: ExitStack) -> None:
    """A directory belongs to whatever topic has its name now; nothing is sorted out."""
    stack.enter_context(patch.object(store.Store, "_judge", lambda *args: None))


def _snapshot_of_last_batches(stack: ExitStack) -> None:
    """As Kafka writes it: what came before each producer's last batch may come again."""
    real = Producer.last

    def wrong(self: Producer, *, below: int = OFFSET_MAX) -> list[Seen]:
        found = real(self, below=below)
        return found if below == OFFSET_MAX else found[-1:]

    stack.enter_context(patch.object(Producer, "last", wrong))


def _pending_batches_push_out_written_ones(stack: ExitStack) -> None:
    real = Producer.note

    def wrong(self: Producer, batch: Batch, **named: int) -> None:
        real(self, batch, **named)
        self.seen = deque(self.seen, maxlen=BATCHES_KEPT)

    stack.enter_context(patch.object(Producer, "note", wrong))


class AnswersBeforeSync(World):
    """Answers leave when the write begins."""

    def _write(self, place: Place, log: PartitionLog, job: WriteJob) -> None:
        self.histories[place].promised = log.marks.appended
        super()._write(place, log, job)


class ForgetsBeforeTheRow(World):
    """Files go before the catalog knows that the log begins later."""

    def _forget_old(self) -> None:
        if self.logs:
            place = self.rng.choice(list(self.logs))
            log = self.logs[place]
            offset = self.rng.randint(log.marks.start, log.marks.durable)
            log.raise_start(offset)
            log.remove_segments().run()
            self.rows.starts[place] = offset


class ForgetsTheIdEarly(World):
    """A removed id is forgotten before its directories are gone."""

    def _start(self) -> None:
        self.rows.removed = set()
        super()._start()


class StopsCleanWithoutClosing(World):
    """The clean mark is set though not everything was written."""

    def _stop_cleanly(self) -> None:
        jobs = [log.begin_write() for log in self.logs.values()]
        for job in jobs:
            if job is not None:
                for piece in job.pieces:
                    if piece.handle is not None:
                        piece.handle.file.write_at(piece.position, piece.buffers)
        assert self.store is not None
        self.store.close(clean=True)


MUTANTS = (
    Mutant("no sync of segments", _no_sync),
    Mutant("answers before the sync", _nothing, AnswersBeforeSync),
    Mutant("directory of a log never synced", _no_directory_sync("-0")),
    Mutant("data directory never synced", _no_directory_sync("data")),
    Mutant("metadata not synced", _home_without("metadata")),
    Mutant("new directory's parent not synced", _home_without("parent")),
    Mutant("new directory not synced", _home_without("directory")),
    Mutant("torn batch believed", _replaced(recovery, "is_intact", lambda batch: True)),
    Mutant(
        "newer segment made before the older is synced", _replaced(WriteJob, "run", _all_written_then_synced)
    ),
    Mutant(
        "names of a job's segments synced at its end", _replaced(WriteJob, "run", _names_synced_at_the_end)
    ),
    Mutant("active segment not synced at a start", _active_not_synced),
    Mutant("cache believed after a failed sync", _replaced(SimulatedFile, "drop_cache", lambda self: None)),
    Mutant("clean mark not taken away", _clean_mark_stays),
    Mutant("clean mark taken away in the cache only", _clean_mark_removed_in_the_cache_only),
    Mutant("clean mark with writes that are not synced", _nothing, StopsCleanWithoutClosing),
    Mutant("removed directory emptied before its new name is durable", _removal_before_its_name),
    Mutant("identity by path", _identity_by_path),
    Mutant("log start's files gone before its row", _nothing, ForgetsBeforeTheRow),
    Mutant("removed id forgotten early", _nothing, ForgetsTheIdEarly),
    Mutant("snapshot of each producer's last batch only", _snapshot_of_last_batches),
    Mutant("pending batches push written ones out of a snapshot", _pending_batches_push_out_written_ones),
)

"""Ways to be wrong, as patches of the real thing; each has to be caught by some seed.

A mutant says what it leaves out. None is a switch in the product. Those of the list that nothing
can tell from the right thing are named in EQUIVALENT, with the reason.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from onelog.broker.committer import Committer
from onelog.broker.partition import Partition
from onelog.broker.settler import Settler
from onelog.errors import DiskFailed
from onelog.model import OFFSET_MAX
from onelog.records.batch import Batch, split
from onelog.storage import ends as roots
from onelog.storage import frames, layout, leftovers, recovery, removal, replay, store, writing
from onelog.storage.commit_log import CommitLog, SyncJob
from onelog.storage.ends import Ends
from onelog.storage.frames import Entry, Frame
from onelog.storage.home import Home
from onelog.storage.log import PartitionLog
from onelog.storage.producers import BATCHES_KEPT, Producer, Seen
from onelog.storage.recovery import Recovered, Recovery
from onelog.storage.replay import Replay
from onelog.storage.settle import Round
from onelog.storage.writing import SettleJob
from onelog.ticket import Ticket
from tests.crash.world import BLOCK, ROOT, World
from tests.support.simulated_disk import SimulatedDisk, SimulatedFile

Patches = Callable[[ExitStack], None]

EQUIVALENT = {
    "acknowledged block rewritten unpadded": "a tear falls between sectors, and both versions of a rewritten "
    "sector have the same old bytes; only a device that damages a sector in flight could tell",
    "epoch not renewed": "LSNs that go on above everything seen suffice, until somebody restores a copy",
}


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


def _around(owner: Any, name: str, make: Callable[[Any], Any]) -> Patches:
    """The real thing is known to the wrong one."""

    def patches(stack: ExitStack) -> None:
        stack.enter_context(patch.object(owner, name, make(getattr(owner, name))))

    return patches


def _without_sync(of: Callable[[str], bool]) -> Patches:
    def make(real: Any) -> Any:
        return lambda self: None if of(self.path) else real(self)

    return _around(SimulatedFile, "sync", make)


def _without_directory_sync(of: Callable[[str], bool]) -> Patches:
    def make(real: Any) -> Any:
        return lambda self, path: None if of(path) else real(self, path)

    return _around(SimulatedDisk, "sync_dir", make)


def _only_while(owner: Any, name: str, inner: Patches) -> Patches:
    """Wrong only while this call lasts."""

    def make(real: Any) -> Any:
        def wrong(*args: Any, **named: Any) -> Any:
            with ExitStack() as stack:
                inner(stack)
                return real(*args, **named)

        return wrong

    return _around(owner, name, make)


# The commit log


def _answers_when_written(real: Any) -> Any:
    def wrong(self: PartitionLog, offset: int, **place: int) -> None:
        real(self, offset, **place)
        self.note_durable(offset)

    return wrong


def _tells_all(real: Any) -> Any:
    def wrong(self: Committer) -> None:
        real(self)
        self._tell(list(self._lanes.values()))

    return wrong


def _ticket_before_sync(stack: ExitStack) -> None:
    _around(PartitionLog, "note_written", _answers_when_written)(stack)
    _around(Committer, "_write", _tells_all)(stack)


def _only_the_last_frame(self: SyncJob) -> None:
    """What RWF_DSYNC would cover: the bytes of one write."""
    file = self.files[-1]
    real = file.file
    assert isinstance(real, SimulatedFile)
    disk, node = real._disk, real._node
    first = (self.end - file.start - BLOCK) // BLOCK
    last = disk.begin_sync()
    disk.step(real.path, "syncing", size=1)
    kept = {page: versions for page, versions in node.dirty.items() if page < first}
    for page in kept:
        del node.dirty[page]
    disk.sync(node, real.path, last)
    node.dirty.update(kept)
    disk.after_step(real.path, "syncing")


def _only_the_newest_file(self: SyncJob) -> None:
    self.files[-1].file.sync()


def _retried(self: SyncJob) -> None:
    for file in self.files:
        try:
            file.file.sync()
        except DiskFailed:
            file.file.sync()


def _torn_bodies_believed(stack: ExitStack) -> None:
    def wrong(data: Any, at: int = 0, *, block_bytes: int) -> Frame | None:
        found = frames.parsed_frame_header(data, at)
        if found is None:
            return None
        header, crc = found
        first = at + frames.FRAME_HEADER_BYTES
        body = memoryview(data)[first : first + header.length]
        if len(body) < header.length:
            return None
        size = -(-(frames.FRAME_HEADER_BYTES + header.length) // block_bytes) * block_bytes
        entries = list(frames._entries(body, header.entry_count))
        place = (header.lsn, header.lsn + size, header.epoch, header.durable)
        return Frame(*place, before=header.before, crc=crc, entries=entries)

    stack.enter_context(patch.object(replay, "parsed_frame", wrong))


def _chain_unchecked(stack: ExitStack) -> None:
    """Neither the frame before nor the place is asked for: an LSN that begins at 0 in each file says as much."""

    def wrong(self: Replay, file: Any, found: Any) -> Frame | None:
        start, end = found.header.start, self.stopped.end
        position = BLOCK if start >= end else end - start
        if end >= found.end:
            return None
        frame = replay._frame_at(file, position, block_bytes=BLOCK)
        if frame is None:
            return None
        size = frame.end - frame.lsn
        return frame._replace(lsn=start + position, end=start + position + size)

    stack.enter_context(patch.object(Replay, "_frame_in", wrong))
    stack.enter_context(patch.object(Replay, "_check_nothing_behind", lambda self: None))


def _durable_ahead(real: Any) -> Any:
    def wrong(self: CommitLog, entries: Any) -> Any:
        truth, self.durable = self.durable, self.end
        try:
            return real(self, entries)
        finally:
            self.durable = truth

    return wrong


def _recycled_before_the_root(stack: ExitStack) -> None:
    def begin(commit_log: CommitLog) -> Round:
        round_ = Round(first=commit_log.end, before=commit_log.before)
        round_.commit_log = commit_log  # type: ignore[attr-defined]  # for root() below
        return round_

    real = Round.root

    def root(self: Round, *args: Any, **named: Any) -> Ends:
        ends = real(self, *args, **named)
        self.commit_log.recycle(ends.first)  # type: ignore[attr-defined]  # from begin() above
        return ends

    stack.enter_context(patch.object(Round, "begin", begin))
    stack.enter_context(patch.object(Round, "root", root))


def _newest_recycled(self: CommitLog, first: int) -> None:
    while len(self._files) > 1 and self._files[0].end <= first:
        self._free.append(self._files.popleft())
    last = self._files[-1]
    if last.written <= first and self._next is None and last.position > BLOCK:
        # Nothing in it matters: it goes on with a new header, at once.
        header = frames.FileHeader(
            magic=frames.FILE_MAGIC,
            format=frames.FORMAT,
            directory=self.directory,
            epoch=self.epoch,
            number=last.number + 1,
            size=last.size,
            start=last.end,
        )
        last.file.write_at(0, [frames.encoded_file_header(header, block_bytes=BLOCK)])
        last.number, last.start, last.position = last.number + 1, last.end, BLOCK
        self.end = self.durable = last.written


def _batch_split(real: Any) -> Any:
    """The two halves of a frame's last entry go into frames of their own."""

    def wrong(self: CommitLog, entries: list[Entry]) -> Any:
        *whole_ones, last = entries
        data = b"".join(bytes(b) for b in last.buffers)
        half = len(data) // 2
        first = Entry(last.key, last.base, last.next, [data[:half]], half)
        second = Entry(last.key, last.base, last.next, [data[half:]], len(data) - half)
        if not self.has_room([*whole_ones, first, second]):
            return real(self, entries)
        real(self, [*whole_ones, first])
        return real(self, [second]) if self.has_room([second]) else real(self, entries)

    return wrong


# Rounds and the root


def _first_after_the_tails(stack: ExitStack) -> None:
    logs: list[CommitLog] = []

    def begin(commit_log: CommitLog) -> Round:
        logs[:] = [commit_log]
        return Round(first=commit_log.end, before=commit_log.before)

    real = Round.root

    def root(self: Round, *args: Any, **named: Any) -> Ends:
        ends = real(self, *args, **named)
        return replace(ends, first=logs[0].end, before=logs[0].before)

    stack.enter_context(patch.object(Round, "begin", begin))
    stack.enter_context(patch.object(Round, "root", root))


def _not_held_back(real: Any) -> Any:
    def wrong(self: Round, *args: Any, **named: Any) -> Ends:
        ends: Ends = real(self, *args, **named)
        return replace(ends, first=self.first, before=self.before)

    return wrong


def _left_out_of_the_table(real: Any) -> Any:
    def wrong(self: Round, *args: Any, **named: Any) -> Ends:
        ends: Ends = real(self, *args, **named)
        rows = dict(list(ends.logs.items())[1:])
        return replace(ends, logs=rows)

    return wrong


def _published_before_the_root(real: Any) -> Any:
    def wrong(self: Round, *args: Any, **named: Any) -> Ends:
        ends: Ends = real(self, *args, **named)
        self.publish()
        self.parts = []
        return ends

    return wrong


def _two_at_once(real: Any) -> Any:
    def wrong(self: Settler) -> Ticket[None]:
        self._steps = None
        ticket: Ticket[None] = real(self)
        return ticket

    return wrong


def _dead_settler_not_awaited(self: Settler, log: PartitionLog, *, keeps_tail: bool) -> Ticket[None]:
    del self._logs[log]
    if keeps_tail:
        self._closed.append(log)
    return Ticket.resolved(None)


def _closed_log_holds(stack: ExitStack) -> None:
    def wrong(self: Settler) -> Any:
        yield from ()
        return []

    stack.enter_context(patch.object(Settler, "_keep_tails", wrong))


def _roll_over_leftovers(real: Any) -> Any:
    def wrong(self: SettleJob, *args: Any, **named: Any) -> None:
        named["has_leftovers"] = False
        real(self, *args, **named)

    return wrong


def _new_segments_over_leftovers(stack: ExitStack) -> None:
    _around(SettleJob, "__init__", _roll_over_leftovers)(stack)

    def write(self: SettleJob, file: Any, piece: writing.Piece) -> None:
        if piece.buffers:
            file.write_at(piece.position, piece.buffers)
        file.sync()

    stack.enter_context(patch.object(SettleJob, "_write_to", write))


def _home_without(call: str) -> Patches:
    """Home.make, with one of its syncs left out."""

    def make(self: Home) -> None:
        self.disk.make_dir(self.path)
        path = layout.join(self.path, layout.METADATA)
        file = self.disk.open(path, create=True)
        text = layout.metadata_text(self.topic_id)
        if call != "looks right" or file.pread(0, 100) != text:
            file.write_at(0, [text])
            if call != "metadata":
                file.sync()
        if call != "directory":
            self.disk.sync_dir(self.path)
        if call != "parent":
            self.disk.sync_dir(self.root)

    return _replaced(Home, "make", make)


# Starts


def _leftovers_believed(real: Any) -> Any:
    def wrong(self: Recovery, found: Recovered, home: Home, facts: Any, said: Any) -> PartitionLog:
        log: PartitionLog = real(self, found, home, facts, None)
        return log

    return wrong


def _longer_file_appended_to(stack: ExitStack) -> None:
    stack.enter_context(patch.object(recovery, "remove_leftovers", lambda home, said: None))
    real = SettleJob._write_to

    def write(self: SettleJob, file: Any, piece: writing.Piece) -> None:
        piece.position = max(piece.position, file.size())
        real(self, file, piece)

    stack.enter_context(patch.object(SettleJob, "_write_to", write))


def _applied_again(log: PartitionLog, entry: Entry, place: Any) -> None:
    for batch in split(b"".join(entry.buffers), where="", whole=True):
        following = batch.renumbered(base_offset=log.marks.appended, leader_epoch=0)
        log.restore(following, place=place)


def _old_log_removed_first(real: Any) -> Any:
    def wrong(self: Recovery, *args: Any, **named: Any) -> Any:
        for path in replay.commit_paths(self._disk, self._root):
            self._disk.unlink(path)
        self._disk.sync_dir(self._root)
        return real(self, *args, **named)

    return wrong


class ServesBeforeTheRoot(World):
    """What a start has settled is served before the root says so."""

    def _note(self, recovered: Recovered, epoch: int) -> int:
        for key, log in recovered.logs.items():
            if key in self.histories and not self.histories[key].is_os:
                self._promise(key, log.marks.appended)
        return super()._note(recovered, epoch)


def _cut_not_synced(disk: Any, path: str, length: int) -> None:
    file = disk.open(path)
    if file.size() > length:
        file.truncate(length)


def _existing_taken_for_synced(real: Any) -> Any:
    def wrong(self: PartitionLog, home: Home, *args: Any, **named: Any) -> None:
        real(self, home, *args, **named)
        self._has_home = home.disk.exists(home.path)

    return wrong


def _clean_mark_stays(real: Any) -> Any:
    def wrong(self: Recovery, found: Recovered, *args: Any, **named: Any) -> Any:
        if not found.was_clean:
            return real(self, found, *args, **named)
        with patch.object(roots, "encoded", lambda ends: encoded(replace(ends, is_clean=True))):
            return real(self, found, *args, **named)

    encoded = roots.encoded
    return wrong


def _snapshots_stay(stack: ExitStack) -> None:
    kept = tuple(suffix for suffix in removal.SUFFIXES if suffix != layout.SNAPSHOT_SUFFIX)
    stack.enter_context(patch.object(leftovers, "SUFFIXES", kept))


class EpochNotRaised(World):
    """Clients of an `os` log are not told that it may have lost records."""

    def _note(self, recovered: Recovered, epoch: int) -> int:
        before = dict(self.book.rows.leader_epochs)
        transaction = super()._note(recovered, epoch)
        self._write_now(lambda rows: rows.leader_epochs.update(before))
        for place in recovered.unsure_ends():
            if place not in before:
                self._write_now(lambda rows, place=place: _without(rows.leader_epochs, place))  # type: ignore[misc]  # bound early
        return transaction


def _without(rows: dict[Any, Any], key: Any) -> None:
    rows.pop(key, None)


class PositionsStay(World):
    """Positions beyond the end of an `os` log stay as they are."""

    def _note(self, recovered: Recovered, epoch: int) -> int:
        before = dict(self.book.rows.positions)
        transaction = super()._note(recovered, epoch)
        self._write_now(lambda rows: rows.positions.update(before))
        return transaction


class EpochNotedLate(World):
    """The root with a new epoch is written before the catalog knows it."""

    def _note(self, recovered: Recovered, epoch: int) -> int:
        return self.book.rows.transaction

    def _forget_old_epochs(self, epoch: int) -> None:
        self._write_now(lambda rows: rows.epochs.add(epoch))


class OldEpochsForgottenEarly(World):
    """The epoch of the standing root is forgotten before there is a new one."""

    def _note(self, recovered: Recovered, epoch: int) -> int:
        super()._note(recovered, epoch)
        self._write_now(lambda rows: rows.epochs.intersection_update({epoch}))
        return self.book.rows.transaction


# Removal, and the catalog


class ForgetsTheIdEarly(World):
    """A removed id is forgotten before its directories are gone."""

    def _deleted(self, name: str, topic_id: Any) -> None:
        self._write_now(lambda rows: rows.removed.discard(topic_id))
        super()._deleted(name, topic_id)


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


class DropsTheTailEarly(World):
    """Logs are let go before the deletion is durable."""

    def _delete(self) -> None:
        before = set(self.busy_names)
        super()._delete()
        for name in self.busy_names - before:
            if name in self.names:
                (change, _) = self.changes.pop()
                topic_id = self.names[name][0]
                self._deleted(name, topic_id)
                self.changes.append((change, lambda: None))


class AppendsBeforeTheRow(World):
    """A topic takes records before its row is durable."""

    def _create(self) -> None:
        count = len(self.changes)
        super()._create()
        if len(self.changes) > count:
            change, then = self.changes.pop()
            then()
            self.changes.append((change, lambda: None))


class ForgetsBeforeTheRow(World):
    """Files go before the catalog knows that the log begins later."""

    def _forget_old(self) -> None:
        count = len(self.changes)
        super()._forget_old()
        if len(self.changes) > count:
            change, then = self.changes.pop()
            then()
            self.changes.append((change, lambda: None))


# Answers and readers


def _answered_at_once(self: Committer, log: PartitionLog, next: int, outcome: Any) -> Ticket[Any]:
    return Ticket.refused(outcome) if isinstance(outcome, Exception) else Ticket.resolved(outcome)


def _written_is_visible(stack: ExitStack) -> None:
    stack.enter_context(patch.object(Partition, "marks", property(_written_marks)))


def _written_marks(self: Partition) -> Any:
    return self.log.marks._replace(durable=self.log.marks.written)


def _written_is_stable(real: Any) -> Any:
    def wrong(self: PartitionLog, offset: int, **place: int) -> None:
        real(self, offset, **place)
        self.marks = self.marks._replace(stable=self.marks.written)

    return wrong


def _woken_by_written(stack: ExitStack) -> None:
    def tell(real: Any) -> Any:
        def wrong(self: Committer) -> None:
            real(self)
            for lane in list(self._lanes.values()):
                with patch.object(PartitionLog, "visible", property(lambda log: log.marks.written)):
                    lane.on_visible()

        return wrong

    _around(Committer, "_write", tell)(stack)


def _snapshot_of_last_batches(real: Any) -> Any:
    def wrong(self: Producer, *, below: int = OFFSET_MAX) -> list[Seen]:
        found: list[Seen] = real(self, below=below)
        return found if below == OFFSET_MAX else found[-1:]

    return wrong


def _pending_push_out_written(real: Any) -> Any:
    def wrong(self: Producer, batch: Batch, **named: int) -> None:
        real(self, batch, **named)
        self.seen = deque(self.seen, maxlen=BATCHES_KEPT)

    return wrong


def _is_commit_log(path: str) -> bool:
    return path.startswith(f"{ROOT}/{layout.COMMIT_PREFIX}") and not path.endswith(layout.ASIDE_SUFFIX)


def _is_segment(path: str) -> bool:
    return path.endswith(layout.LOG_SUFFIX)


def _is_root_aside(path: str) -> bool:
    return path.endswith(layout.ENDS + layout.ASIDE_SUFFIX)


def _is_log_directory(path: str) -> bool:
    return path.startswith(f"{ROOT}/")


def _is_root(path: str) -> bool:
    return path == ROOT


MUTANTS = (
    Mutant("no log sync", _replaced(SyncJob, "run", lambda self: None)),
    Mutant("ticket before sync", _ticket_before_sync),
    Mutant("RWF_DSYNC while earlier frames are unsynced", _replaced(SyncJob, "run", _only_the_last_frame)),
    Mutant("newer file synced, older not", _replaced(SyncJob, "run", _only_the_newest_file)),
    Mutant("body CRC unchecked", _torn_bodies_believed),
    Mutant("no previous-CRC check and LSN from 0 per file", _chain_unchecked),
    Mutant("recycled before the ends file is durable", _recycled_before_the_root),
    Mutant("newest file recycled", _replaced(CommitLog, "recycle", _newest_recycled)),
    Mutant("ends file without sync", _without_sync(_is_root_aside)),
    Mutant(
        "ends file without directory sync",
        _only_while(roots, "replace_whole", _without_directory_sync(_is_root)),
    ),
    Mutant("F taken after the tails instead of before", _first_after_the_tails),
    Mutant("a log left out of the round not holding F back", _around(Round, "root", _not_held_back)),
    Mutant("a log left out of the table", _around(Round, "root", _left_out_of_the_table)),
    Mutant("segment not synced before the ends file", _without_sync(_is_segment)),
    Mutant("new segment's directory not synced", _without_directory_sync(_is_log_directory)),
    Mutant("new directory not synced", _home_without("directory")),
    Mutant("new directory's parent not synced", _home_without("parent")),
    Mutant("metadata not synced", _home_without("metadata")),
    Mutant("metadata only synced when it looks right", _home_without("looks right")),
    Mutant(
        "settled mark moved before the root is durable", _around(Round, "root", _published_before_the_root)
    ),
    Mutant("leftovers believed", _around(Recovery, "_opened", _leftovers_believed)),
    Mutant("longer file kept as it is and appended at its end", _longer_file_appended_to),
    Mutant("two rounds at once", _around(Settler, "round", _two_at_once)),
    Mutant("records below settled applied again", _replaced(recovery, "_joined", _applied_again)),
    Mutant("failed sync retried and believed", _replaced(SyncJob, "run", _retried)),
    Mutant("serving before the new root", _nothing, ServesBeforeTheRoot),
    Mutant("old commit log removed before the new root", _around(Recovery, "_begin", _old_log_removed_first)),
    Mutant("D ahead of the truth", _around(CommitLog, "write", _durable_ahead)),
    Mutant("D ignored", _replaced(Replay, "_check_nothing_behind", lambda self: None)),
    Mutant("identity by path", _replaced(store.Store, "_judge", lambda *args: None)),
    Mutant("removed id forgotten early", _nothing, ForgetsTheIdEarly),
    Mutant("removed directory unlinked before its rename is durable", _removal_before_its_name),
    Mutant(
        "catalog not written again after a failed sync", _replaced(store, "_write_again", lambda *_: None)
    ),
    Mutant("snapshot beyond the end kept", _snapshots_stay),
    Mutant(
        "snapshot of each producer's last batch only", _around(Producer, "last", _snapshot_of_last_batches)
    ),
    Mutant(
        "pending batches push written ones out of a snapshot",
        _around(Producer, "note", _pending_push_out_written),
    ),
    Mutant("duplicate answered at once", _replaced(Committer, "follow", _answered_at_once)),
    Mutant("fetch on written for sync", _written_is_visible),
    Mutant("stable on written for sync", _around(PartitionLog, "note_written", _written_is_stable)),
    Mutant("long poll on written for sync", _woken_by_written),
    Mutant("clean mark not undone", _around(Recovery, "_begin", _clean_mark_stays)),
    Mutant("batch split between frames", _around(CommitLog, "write", _batch_split)),
    Mutant("roll over leftovers", _new_segments_over_leftovers),
    Mutant("cut not synced", _replaced(leftovers, "_cut", _cut_not_synced)),
    Mutant("existing file taken for synced", _around(PartitionLog, "__init__", _existing_taken_for_synced)),
    Mutant("dead log's settler not awaited", _replaced(Settler, "detach", _dead_settler_not_awaited)),
    Mutant("tail dropped before the deletion is durable", _nothing, DropsTheTailEarly),
    Mutant("record appended before its topic's row is durable", _nothing, AppendsBeforeTheRow),
    Mutant("log start's files gone before its row is durable", _nothing, ForgetsBeforeTheRow),
    Mutant("leader epoch not raised", _nothing, EpochNotRaised),
    Mutant("position beyond the end kept", _nothing, PositionsStay),
    Mutant("epoch not noted in the catalog first", _nothing, EpochNotedLate),
    Mutant("older epochs forgotten before the new root is durable", _nothing, OldEpochsForgottenEarly),
    Mutant("closed log holds F", _closed_log_holds),
)

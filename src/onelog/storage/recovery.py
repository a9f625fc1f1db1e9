"""A start, always the same, and it may itself be cut off at any call.

    root read -> frames followed -> each log's files looked at -> tails joined -> all settled,
    leftovers removed, everything synced -> the catalog notes it -> first commit log file ->
    new root -> only then the old files go

Until the new root is durable the old one stands, and the next start does all of this again.
What is wrong with one log refuses that log; what is wrong with the whole, the directory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from onelog.errors import CorruptBatch, DiskFailed, InvalidRecord
from onelog.records.batch import split
from onelog.storage import ends as roots
from onelog.storage import layout
from onelog.storage.adoption import adopt
from onelog.storage.commit_log import CommitLog, CommitLogSettings
from onelog.storage.disk import READING, Disk, StoreRefused
from onelog.storage.ends import UNSAID, Ends, Said
from onelog.storage.frames import Entry, LogKey
from onelog.storage.handles import Handles
from onelog.storage.home import Home
from onelog.storage.kept_tails import keep_tail, kept_keys, kept_tail, path_of
from onelog.storage.leftovers import remove_leftovers
from onelog.storage.log import FramePlace, PartitionLog, SettleJob
from onelog.storage.replay import Replay, commit_files, commit_paths, has_frames, seen_end
from onelog.storage.segment import LogRefused
from onelog.storage.standing import Standing, Walker, bases_of, check_identity, file_size, require
from onelog.storage.writing import LogSettings


@dataclass(frozen=True)
class LogFacts:
    """What the catalog says of a living log."""

    topic: str
    settings: LogSettings
    start: int = 0
    is_os: bool = False


@dataclass(frozen=True)
class Known:
    """What the catalog says of the directory. epoch: that of this open, which nobody had before."""

    directory: UUID
    epoch: int
    epochs: frozenset[int]
    transaction: int
    logs: Mapping[LogKey, LogFacts] = field(default_factory=dict)
    removed: frozenset[UUID] = frozenset()


@dataclass
class Recovered:
    """What a start has found. The catalog may still have to note some of it (rule 20)."""

    was_clean: bool
    is_adopted: bool
    logs: dict[LogKey, PartitionLog] = field(default_factory=dict)
    refused: dict[LogKey, LogRefused] = field(default_factory=dict)
    bytes_cut: int = 0
    bytes_settled: int = 0

    def unsure_ends(self) -> dict[tuple[UUID, int], int]:
        """Where `os` logs end, when a power cut may have taken back what they said."""
        if self.was_clean:
            return {}
        return {key: log.marks.appended for key, log in self.logs.items() if log.is_os}


Act = Callable[[], None]
# Does all of these, each in any thread, and raises what one of them has raised.
RunAll = Callable[[Sequence[Act]], None]
# Makes durable in the catalog what a start changes, the new epoch with it; the transaction's number.
Note = Callable[[Recovered], int]


class Recovery:
    """One start of one directory. `claim` moves a dead directory out of the way of a log's own."""

    def __init__(
        self,
        disk: Disk,
        root: str,
        handles: Handles,
        known: Known,
        *,
        settings: CommitLogSettings,
        claim: Callable[[Home], None],
        kafka_was_clean: bool,
        run_all: RunAll,
    ) -> None:
        self._disk = disk
        self._root = root
        self._handles = handles
        self._known = known
        self._settings = settings
        self._claim = claim
        self._kafka_was_clean = kafka_was_clean
        self._run_all = run_all
        self._kept: dict[LogKey, list[Entry]] = {}
        self._jobs: list[tuple[PartitionLog, SettleJob]] = []
        self._unsaid: set[LogKey] = set()
        self._emptied: dict[LogKey, Said | None] = {}

    def run(self, note: Note) -> tuple[Recovered, CommitLog, Ends]:
        """Everything that counts is in the logs' segments, and the new root says so."""
        last = roots.load(self._disk, self._root)
        found = Recovered(was_clean=last is not None and last.is_clean, is_adopted=last is None)
        if last is None:
            self._check_no_frames()
        else:
            self._check_halves(last)
        self._open_logs(found, last)
        if last is not None:
            self._join_tails(found, last)
            self._check_starts(found)
        self._settle(found, last)
        transaction = note(found)
        commit_log, ends = self._begin(found, last, transaction)
        for log, job in self._jobs:
            log.end_settle(job)
        for log in found.logs.values():
            log.marks.check()
        self._remove_old(found, commit_log)
        return found, commit_log, ends

    def _check_no_frames(self) -> None:
        if has_frames(self._disk, self._root, block_bytes=self._settings.block_bytes):
            raise StoreRefused(
                f"{layout.join(self._root, layout.ENDS)}: not there, and the commit log has records; expected "
                "the ends file that says which of them matter. Restore the directory from a backup."
            )

    def _check_halves(self, last: Ends) -> None:
        """Catalog and root have to be of one time, and of one directory (rule 21)."""
        where, known = layout.join(self._root, layout.ENDS), self._known
        if last.directory != known.directory:
            found, expected = f"directory {last.directory}", f"{known.directory}, as the catalog says"
        elif last.epoch not in known.epochs:
            found, expected = f"epoch {last.epoch:016x}", "one that the catalog has noted"
        elif last.transaction > known.transaction:
            found = f"a catalog with {known.transaction} transactions"
            expected = f"{last.transaction} at least, as the root says"
        else:
            return
        raise StoreRefused(
            f"{where}: found {found}; expected {expected}. Catalog and records are of different times: "
            "restore both from the same backup."
        )

    # Each log's files

    def _open_logs(self, found: Recovered, last: Ends | None) -> None:
        for key, facts in self._known.logs.items():
            home = Home(
                self._disk, self._root, topic=facts.topic, partition=key.partition, topic_id=key.topic_id
            )
            said = None if last is None else last.logs.get(key, Said(0, 0, 0))
            try:
                self._claim(home)
                found.logs[key] = self._opened(found, home, facts, said)
            except LogRefused as refusal:
                found.refused[key] = refusal
            except DiskFailed as error:
                if error.doing not in READING:
                    raise
                found.refused[key] = LogRefused(f"{error.path}: {error.found} while {error.doing}")

    def _opened(self, found: Recovered, home: Home, facts: LogFacts, said: Said | None) -> PartitionLog:
        is_unsaid = said is None or said == UNSAID
        if said is None or is_unsaid or (found.was_clean and self._was_written_by_others(home, said)):
            # Refused here, it is to be adopted at the next start, and never cut.
            self._unsaid.add(LogKey(home.topic_id, home.partition))
            adopted = adopt(
                home,
                self._handles,
                settings=facts.settings,
                start=facts.start,
                was_clean=self._kafka_was_clean,
            )
            found.bytes_cut += adopted.bytes_cut
            return self._log(home, facts, adopted.standing, has_home=adopted.has_home, end=facts.start)
        if self._disk.exists(home.path):
            check_identity(home)
        standing = _standing(home, self._handles, facts, said)
        # Only segments that count prove that directory and id were synced.
        return self._log(home, facts, standing, has_home=bool(standing.segments), end=said.next)

    def _log(
        self,
        home: Home,
        facts: LogFacts,
        standing: Standing,
        *,
        has_home: bool,
        end: int,
        has_leftovers: bool = False,
    ) -> PartitionLog:
        return PartitionLog(
            home,
            self._handles,
            settings=facts.settings,
            segments=standing.segments,
            producers=standing.producers,
            start=facts.start,
            end=end,
            is_os=facts.is_os,
            has_home=has_home,
            has_leftovers=has_leftovers,
        )

    def _was_written_by_others(self, home: Home, said: Said) -> bool:
        """Whether a log that was at rest at our clean stop looks otherwise now."""
        if not self._disk.exists(home.path):
            return False
        names = [found for found in map(layout.segment_of, self._disk.names(home.path)) if found is not None]
        if any(base > said.base and suffix == layout.LOG_SUFFIX for base, suffix in names):
            return True
        path = layout.join(home.path, layout.segment_file(said.base))
        return self._disk.exists(path) and file_size(self._handles, path) > said.length

    # The tails

    def _join_tails(self, found: Recovered, last: Ends) -> None:
        for key in kept_keys(self._disk, self._root):
            if key in self._known.logs:
                place = FramePlace(0, last.first, last.before)
                for entry in kept_tail(self._disk, self._root, key):
                    self._join(found, entry, place)
        replay = Replay(self._disk, self._root, last, block_bytes=self._settings.block_bytes)
        for frame in replay.frames():
            for entry in frame.entries:
                if entry.key.topic_id in self._known.removed:
                    continue
                if entry.key not in self._known.logs:
                    raise StoreRefused(
                        f"{self._root}: the commit log has records of log {entry.key.partition} of topic "
                        f"{entry.key.topic_id}; expected a topic that the catalog knows, or knows to be "
                        "removed. Catalog and records are of different times: restore both from the same backup."
                    )
                self._join(found, entry, FramePlace(0, frame.lsn, frame.before))

    def _join(self, found: Recovered, entry: Entry, place: FramePlace) -> None:
        log = found.logs.get(entry.key)
        if log is not None:
            try:
                _joined(log, entry, place)
                return
            except LogRefused as refusal:
                found.refused[entry.key] = refusal
                del found.logs[entry.key]
                self._kept[entry.key] = log.tail_entries()
        kept = self._kept.setdefault(entry.key, [])
        if not kept or entry.next > kept[-1].next:
            kept.append(entry)

    def _check_starts(self, found: Recovered) -> None:
        """A log begins where its records are; an `os` log may have lost those up to there."""
        for key, log in list(found.logs.items()):
            marks = log.marks
            if marks.start <= marks.appended:
                continue
            if log.is_os and not found.was_clean:
                self._emptied[key] = _counting(log)
                facts = self._known.logs[key]
                # Its old segments go with the first round: until there is a new root, the old one needs them.
                found.logs[key] = self._log(
                    log.home, facts, Standing(), has_home=False, end=marks.start, has_leftovers=True
                )
            else:
                found.refused[key] = LogRefused(
                    f"{log.home.path}: found records up to offset {marks.appended}; expected {marks.start} "
                    "among them, where the log begins. Restore the directory from a backup, or delete and "
                    "create the topic to accept the loss"
                )
                self._kept[key] = log.tail_entries()
                del found.logs[key]

    # Everything into its place

    def _settle(self, found: Recovered, last: Ends | None) -> None:
        is_unsure = not found.was_clean and last is not None
        acts: list[Act] = []
        for log in found.logs.values():
            steps: list[Act] = []
            if is_unsure and self._disk.exists(log.home.path):
                said = self._emptied.get(log.key, _counting(log))
                steps.append(partial(remove_leftovers, log.home, said))
            job = _run_through(log)
            if job is not None:
                found.bytes_settled += sum(piece.bytes_added for piece in job.pieces)
                steps.append(job.run)
                self._jobs.append((log, job))
            acts += [partial(one_by_one, steps)] if steps else []
        self._run_all(acts)
        for key, entries in self._kept.items():
            keep_tail(self._disk, self._root, key, entries, directory=self._known.directory)

    def _begin(self, found: Recovered, last: Ends | None, transaction: int) -> tuple[CommitLog, Ends]:
        known = self._known
        files = commit_files(self._disk, self._root, block_bytes=self._settings.block_bytes)
        slots = [
            layout.commit_slot(path.rpartition("/")[2]) or 0 for path in commit_paths(self._disk, self._root)
        ]
        making = CommitLog.first_file(
            self._disk,
            self._root,
            directory=known.directory,
            epoch=known.epoch,
            start=seen_end(files, last),
            slot=max(slots, default=-1) + 1,
            settings=self._settings,
        )
        making.run()
        assert making.made is not None
        commit_log = CommitLog(
            self._disk,
            self._root,
            directory=known.directory,
            epoch=known.epoch,
            settings=self._settings,
            first=making.made,
        )
        ends = Ends(
            directory=known.directory,
            epoch=known.epoch,
            first=commit_log.end,
            before=commit_log.before,
            transaction=transaction,
            logs=self._rows(found, last),
        )
        roots.write(self._disk, self._root, roots.encoded(ends))
        return commit_log, ends

    def _rows(self, found: Recovered, last: Ends | None) -> dict[LogKey, Said]:
        rows = {log.key: log.said_after(job) for log, job in self._jobs}
        for key, log in found.logs.items():
            rows.setdefault(key, log.said)
        for key in found.refused:
            before = Said(0, 0, 0) if last is None else last.logs.get(key, Said(0, 0, 0))
            rows[key] = UNSAID if key in self._unsaid else replace(before, is_refused=True)
        return rows

    def _remove_old(self, found: Recovered, commit_log: CommitLog) -> None:
        """Nothing speaks of these any more. One that stays is found again at the next start."""
        current = set(commit_log.paths())
        leaving = [path for path in commit_paths(self._disk, self._root) if path not in current]
        leaving += [
            path_of(self._root, key)
            for key in kept_keys(self._disk, self._root)
            if key in found.logs or key.topic_id in self._known.removed
        ]
        aside = (layout.COMMIT_PREFIX, layout.ENDS, layout.TAIL_PREFIX)
        for name in self._disk.names(self._root):
            if name.endswith(layout.ASIDE_SUFFIX) and name.startswith(aside):
                leaving.append(layout.join(self._root, name))
        for path in leaving:
            self._disk.unlink(path)


def one_by_one(acts: Sequence[Act]) -> None:
    """In this order, in this thread."""
    for act in acts:
        act()


def _standing(home: Home, handles: Handles, facts: LogFacts, said: Said) -> Standing:
    """The segments as the root says them; what is newer or longer counts for nothing."""
    disk = home.disk
    path = layout.join(home.path, layout.segment_file(said.base))
    if not disk.exists(path):
        if said.length:
            raise LogRefused(
                f"{path}: not there; expected {said.length} bytes of records up to offset {said.next}. "
                "Restore it from a backup, or delete and create the topic to accept the loss"
            )
        return Standing()
    own = Handles(disk)
    try:
        bases = [base for base in bases_of(home, min(facts.start, said.base)) if base <= said.base]
        require(
            bases[0] <= facts.start,
            home,
            f"offsets from {bases[0]} on",
            f"offset {facts.start}, where the log has to begin",
        )
        walker = Walker(home, own, facts.settings)
        with own.use(path) as file:
            size = file.size()
            if size < said.length:
                raise LogRefused(
                    f"{path}: {size} bytes; expected {said.length} at least, which were synced. Restore it "
                    "from a backup, or delete and create the topic to accept the loss"
                )
            walker.sealed(bases)
            segment = walker.active(file, said.base, said=said.length, is_checked=False)
        if (segment.size, segment.offset_end) != (said.length, said.next):
            raise segment.damaged(segment.size)
    finally:
        own.close()
    return walker.handed_over(handles)


def _counting(log: PartitionLog) -> Said | None:
    """What of a log's files counts; None when nothing does."""
    return log.said if log.has_segments else None


def _joined(log: PartitionLog, entry: Entry, place: FramePlace) -> None:
    """The entry's batches become the log's tail, but for those that it has already."""
    where = f"{log.home.path}: records of the commit log"
    try:
        batches = split(b"".join(entry.buffers), where=where, whole=True)
    except (CorruptBatch, InvalidRecord) as error:
        raise LogRefused(str(error)) from error
    for batch in batches:
        end = log.marks.appended
        if batch.offset_end <= end:
            continue
        if batch.base_offset != end:
            raise LogRefused(
                f"{where} begin at offset {batch.base_offset}; expected {end}, where its segments end. "
                "Restore the directory from a backup, or delete and create the topic to accept the loss"
            )
        log.restore(batch, place=place)


def _run_through(log: PartitionLog) -> SettleJob | None:
    """The log's job, planned in one go: nobody is held up by it yet."""
    planning = log.begin_settle()
    while True:
        try:
            next(planning)
        except StopIteration as done:
            job: SettleJob | None = done.value
            return job

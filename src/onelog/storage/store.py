"""The data directory: one process has it, one format is in it, logs are opened and removed.

    lock -> format -> clean mark read and taken away -> catalog -> recover() -> sort_out() -> open_log() ...

Knows no topics but those it is told: the catalog's rows are read above. open_log and the
removal jobs may run in any thread, but one at a time, in the order of what they are about:
a removed topic's directory is out of the way before its successor's is made.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from uuid import UUID

from onelog.errors import PartitionClosed
from onelog.storage import ends as roots
from onelog.storage import layout
from onelog.storage.catalog import CatalogFile
from onelog.storage.commit_log import CommitLog, CommitLogSettings
from onelog.storage.disk import Disk, Held, StoreRefused
from onelog.storage.ends import Ends
from onelog.storage.frames import LogKey
from onelog.storage.handles import Handles
from onelog.storage.home import Home, is_half_made, topic_id_of
from onelog.storage.layout import LogDir, Role
from onelog.storage.log import LogSettings, PartitionLog
from onelog.storage.producers import Producers
from onelog.storage.recovery import Known, Note, Recovered, Recovery, RunAll, one_by_one
from onelog.storage.removal import LogRemoval, RemovalJob, move_away, remove_tree
from onelog.storage.whole import replace_whole, write_files

OpenCatalog = Callable[[str, Sequence[tuple[str, ...]]], CatalogFile]


@dataclass
class SortedOut:
    """What was found in the directory that is not in use."""

    strays: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


class Store:
    """One open data directory."""

    def __init__(
        self,
        disk: Disk,
        path: str,
        *,
        lock: Held,
        catalog: CatalogFile,
        kafka_was_clean: bool,
    ) -> None:
        self.disk = disk
        self.path = path
        self.catalog = catalog
        self._kafka_was_clean = kafka_was_clean
        self._lock = lock
        self._handles = Handles(disk)
        self._removed: set[UUID] = set()
        self._recovered: Recovered | None = None
        self._commit_log: CommitLog | None = None
        self._ends: Ends | None = None

    @classmethod
    def open(
        cls,
        disk: Disk,
        path: str,
        *,
        migrations: Sequence[tuple[str, ...]],
        open_catalog: OpenCatalog = CatalogFile.open,
    ) -> "Store":
        """Take the directory, or make it. StoreRefused when it is not ours to take."""
        _make_root(disk, path)
        with ExitStack() as undo:
            lock = disk.lock(layout.join(path, layout.LOCK))
            undo.callback(lock.release)
            kafka_was_clean = _take_over(disk, path)
            catalog_path = layout.join(path, layout.CATALOG)
            # Also after a clean stop: the start that followed it may have written to the catalog
            # and been cut off before its own root.
            _write_again(disk, [catalog_path, catalog_path + "-wal"])
            catalog = open_catalog(catalog_path, migrations)
            undo.callback(catalog.close)
            # The catalog's own name, and that of the write-ahead log.
            disk.sync_dir(path)
            undo.pop_all()
        return cls(
            disk,
            path,
            lock=lock,
            catalog=catalog,
            kafka_was_clean=kafka_was_clean,
        )

    @property
    def is_recovered(self) -> bool:
        """Whether logs may be opened."""
        return self._recovered is not None

    @property
    def commit_log(self) -> CommitLog:
        """The commit log of this open. There once recover() has returned."""
        assert self._commit_log is not None
        return self._commit_log

    @property
    def ends(self) -> Ends:
        """The root that is durable."""
        assert self._ends is not None
        return self._ends

    def recover(
        self, known: Known, note: Note, *, settings: CommitLogSettings, run_all: RunAll = one_by_one
    ) -> Recovered:
        """Bring every log to where it was, durably. Afterwards logs may be opened, and nothing else is pending.

        run_all: does system calls for many logs, in threads perhaps.
        """
        self._removed.update(known.removed)
        recovery = Recovery(
            self.disk,
            self.path,
            self._handles,
            known,
            settings=settings,
            claim=self._claim,
            kafka_was_clean=self._kafka_was_clean,
            run_all=run_all,
        )
        self._recovered, self._commit_log, self._ends = recovery.run(note)
        return self._recovered

    def root_is(self, ends: Ends) -> None:
        """A new root is durable."""
        self._ends = ends

    def sort_out(self, alive: Mapping[str, tuple[UUID, int]], removed: Collection[UUID]) -> SortedOut:
        """Before serving: take away what belongs to removed ids, set aside what belongs to nobody.

        alive: id and partition count by topic name. Once this returns, `removed` may be
        forgotten: no directory of theirs is left.
        """
        self._removed.update(removed)
        found = SortedOut()
        for name in self.disk.names(self.path):
            path = layout.join(self.path, name)
            if not self.disk.is_dir(path):
                continue
            meaning = layout.log_dir(name)
            if meaning is None or meaning.role in (Role.STRAY, Role.FUTURE):
                found.strays.append(path)
            elif meaning.role is Role.DELETE:
                self._end_removal(path, alive, found)
            else:
                self._judge(path, meaning, alive, found)
        return found

    def open_log(
        self, topic: str, topic_id: UUID, partition: int, *, settings: LogSettings, is_os: bool = False
    ) -> PartitionLog:
        """The log of a partition: as it was recovered, or new. PartitionClosed when it cannot be served.

        A new one has no directory before its first records are settled.
        """
        key = LogKey(topic_id, partition)
        if self._recovered is not None:
            if key in self._recovered.refused:
                reason = str(self._recovered.refused[key])
                raise PartitionClosed(topic=topic, partition=partition, reason=reason)
            if key in self._recovered.logs:
                return self._recovered.logs.pop(key)
        home = Home(self.disk, self.path, topic=topic, partition=partition, topic_id=topic_id)
        self._claim(home)
        return PartitionLog(
            home, self._handles, settings=settings, segments=[], producers=Producers(), start=0, is_os=is_os
        )

    def remove_log(self, topic: str, topic_id: UUID, partition: int) -> RemovalJob:
        """The files of a partition whose topic is durably deleted, whose log is closed."""
        self._removed.add(topic_id)
        return LogRemoval(Home(self.disk, self.path, topic=topic, partition=partition, topic_id=topic_id))

    def close(self, *, at_rest: Collection[PartitionLog] | None = None) -> None:
        """Let go. at_rest: all logs, which are closed with nothing pending, so that it is a clean stop."""
        with ExitStack() as ending:
            # Whatever fails on the way, the directory is free for the next one.
            ending.callback(self._lock.release)
            with ExitStack() as files:
                files.callback(self.catalog.close)
                if self._commit_log is not None:
                    files.callback(self._commit_log.close)
                self._handles.close()
            if at_rest is not None:
                self._rest(at_rest)

    def _rest(self, logs: Collection[PartitionLog]) -> None:
        """The root says that nothing is pending, and Kafka may take the directory as it is."""
        if self._ends is not None:
            assert self._ends.first == self.commit_log.end
            for log in logs:
                log.tidy()
            roots.write(self.disk, self.path, roots.encoded(replace(self._ends, is_clean=True)))
        for name, offsets in (
            (layout.RECOVERY_POINTS, {log: log.marks.settled for log in logs}),
            (layout.LOG_STARTS, {log: log.marks.start for log in logs}),
        ):
            places = {(log.home.topic, log.partition): offset for log, offset in offsets.items()}
            replace_whole(self.disk, layout.join(self.path, name), layout.checkpoint_text(places))
        mark = layout.join(self.path, layout.CLEAN_STOP)
        with ExitStack() as undo:
            undo.callback(self.disk.unlink, mark)
            write_files(self.disk, {mark: layout.CLEAN_STOP_TEXT})
            self.disk.sync_dir(self.path)
            undo.pop_all()

    def _claim(self, home: Home) -> None:
        """What has the place of this log's directory and is not it goes out of the way."""
        living = {home.topic: (home.topic_id, home.partition + 1)}
        self._judge(home.path, LogDir(home.topic, home.partition), living, SortedOut())

    def _end_removal(self, path: str, alive: Mapping[str, tuple[UUID, int]], found: SortedOut) -> None:
        """Take away what a removal has left, but not what says that it belongs to a living topic."""
        if topic_id_of(self.disk, path) in {topic_id for topic_id, _ in alive.values()}:
            found.strays.append(path)
            return
        remove_tree(self.disk, path)
        found.removed.append(path)

    def _judge(
        self, path: str, meaning: LogDir, alive: Mapping[str, tuple[UUID, int]], found: SortedOut
    ) -> None:
        """Leave a directory with a live name alone, take it away, or set it aside: by its id."""
        if not self.disk.exists(path):
            return
        topic_id = topic_id_of(self.disk, path)
        living_id, partition_count = alive.get(meaning.topic, (None, 0))
        if living_id is not None and meaning.partition < partition_count and topic_id in (None, living_id):
            # Without an id it may be half-made: the first write makes it again. What else it
            # may be, open_log finds out.
            return
        if topic_id is None and not self._has_segments(path):
            if is_half_made(self.disk, path):
                remove_tree(self.disk, path)
            else:
                # Named like a log's by chance: "photos-2024".
                found.strays.append(path)
            return
        role = Role.DELETE if topic_id in self._removed else Role.STRAY
        moved = move_away(
            self.disk, self.path, path, LogDir(meaning.topic, meaning.partition, role), topic_id
        )
        self.disk.sync_dir(self.path)
        if role is Role.DELETE:
            remove_tree(self.disk, moved)
            found.removed.append(path)
        else:
            found.strays.append(moved)

    def _has_segments(self, path: str) -> bool:
        files = map(layout.segment_of, self.disk.names(path))
        return any(file is not None and file[1] == layout.LOG_SUFFIX for file in files)


def _make_root(disk: Disk, path: str) -> None:
    """The directory is there, and those above it that had to be made: durably, each in its parent."""
    parents = [layout.above(path)]
    while not disk.exists(parents[-1]):
        parents.append(layout.above(parents[-1]))
    disk.make_dir(path)
    for parent in parents:
        disk.sync_dir(parent)


def _take_over(disk: Disk, path: str) -> bool:
    """Whether the last stop was clean. Its mark is gone afterwards, durably."""
    _check_format(disk, path)
    mark = layout.join(path, layout.CLEAN_STOP)
    was_clean = disk.exists(mark)
    for name in (layout.CLEAN_STOP, layout.RECOVERY_POINTS, layout.LOG_STARTS):
        disk.unlink(layout.join(path, name))
    disk.sync_dir(path)
    return was_clean


def _check_format(disk: Disk, path: str) -> None:
    format_path = layout.join(path, layout.FORMAT)
    if disk.exists(format_path):
        file = disk.open(format_path)
        try:
            found = file.pread(0, 4096)
        finally:
            file.close()
        if found == layout.FORMAT_TEXT:
            return
        if found != layout.FIRST_FORM_TEXT:
            raise StoreRefused(
                f"{format_path}: found {found[:60]!r}; expected {layout.FORMAT_TEXT!r}. "
                "Another version of onelog made this directory: use that one."
            )
        # Before anything of the new form is there: the old program must not take what it would miss.
        replace_whole(disk, format_path, layout.FORMAT_TEXT)
        return
    if disk.exists(layout.join(path, layout.CATALOG)):
        raise StoreRefused(f"{path}: has a catalog and no {layout.FORMAT}. Restore it from a backup.")
    # Made aside, so that a torn one never passes for that of another version.
    replace_whole(disk, format_path, layout.FORMAT_TEXT)


def _write_again(disk: Disk, paths: Sequence[str]) -> None:
    """Write the same bytes in place and sync them, before anybody believes them.

    After a sync that failed, what is read may be in the cache only, and the next sync
    would be believed though it writes nothing.
    """
    for path in paths:
        if disk.exists(path):
            file = disk.open(path)
            try:
                if data := file.pread(0, file.size()):
                    file.write_at(0, [data])
                file.sync()
            finally:
                file.close()

"""The data directory: one process has it, one format is in it, logs are opened and removed.

    lock -> format -> clean mark read and taken away -> catalog -> sort_out() -> open_log() ...

Knows no topics but those it is told: the catalog's rows are read above. open_log and the
removal jobs may run in any thread, but one at a time, in the order of what they are about:
a removed topic's directory is out of the way before its successor's is made.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from uuid import UUID

from onelog.errors import PartitionClosed
from onelog.storage import layout
from onelog.storage.catalog import CatalogFile
from onelog.storage.disk import Disk, Held, StoreRefused
from onelog.storage.handles import Handles
from onelog.storage.home import Home, is_half_made, topic_id_of
from onelog.storage.layout import LogDir, Role
from onelog.storage.log import LogSettings, PartitionLog
from onelog.storage.recovery import recover
from onelog.storage.removal import LogRemoval, RemovalJob, move_away, remove_tree
from onelog.storage.segment import LogRefused
from onelog.storage.writing import write_files

OpenCatalog = Callable[[str, Sequence[tuple[str, ...]]], CatalogFile]


@dataclass
class SortedOut:
    """What was found in the directory that is not in use."""

    strays: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


class Store:
    """One open data directory."""

    def __init__(self, disk: Disk, path: str, *, lock: Held, catalog: CatalogFile, was_clean: bool) -> None:
        self.disk = disk
        self.path = path
        self.catalog = catalog
        self.was_clean = was_clean
        self._lock = lock
        self._handles = Handles(disk)
        self._removed: set[UUID] = set()

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
            was_clean = _take_over(disk, path)
            catalog_path = layout.join(path, layout.CATALOG)
            if not was_clean:
                _write_again(disk, [catalog_path, catalog_path + "-wal"])
            catalog = open_catalog(catalog_path, migrations)
            undo.callback(catalog.close)
            # The catalog's own name, and that of the write-ahead log.
            disk.sync_dir(path)
            undo.pop_all()
        return cls(disk, path, lock=lock, catalog=catalog, was_clean=was_clean)

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
        self, topic: str, topic_id: UUID, partition: int, *, settings: LogSettings, start: int
    ) -> PartitionLog:
        """The log of a partition, as it stands on disk. PartitionClosed when it cannot be served.

        A new one has no directory before its first write.
        """
        home = Home(self.disk, self.path, topic=topic, partition=partition, topic_id=topic_id)
        self._judge(home.path, LogDir(topic, partition), {topic: (topic_id, partition + 1)}, SortedOut())
        try:
            found = recover(home, self._handles, settings=settings, start=start, was_clean=self.was_clean)
        except LogRefused as refusal:
            raise PartitionClosed(topic=topic, partition=partition, reason=str(refusal)) from refusal
        return PartitionLog(
            home,
            self._handles,
            settings=settings,
            segments=found.segments,
            producers=found.producers,
            start=start,
            bytes_cut=found.bytes_cut,
            has_home=found.has_home,
            has_index=self.was_clean,
        )

    def remove_log(self, topic: str, topic_id: UUID, partition: int) -> RemovalJob:
        """The files of a partition whose topic is durably deleted, whose log is closed."""
        self._removed.add(topic_id)
        return LogRemoval(Home(self.disk, self.path, topic=topic, partition=partition, topic_id=topic_id))

    def close(self, *, clean: bool = True) -> None:
        """Let go. Clean: all logs are closed, and nothing of them is pending."""
        with ExitStack() as ending:
            # Whatever fails on the way, the directory is free for the next one.
            ending.callback(self._lock.release)
            with ExitStack() as files:
                files.callback(self.catalog.close)
                self._handles.close()
            if clean:
                self._mark_clean()

    def _mark_clean(self) -> None:
        mark = layout.join(self.path, layout.CLEAN_STOP)
        with ExitStack() as undo:
            undo.callback(self.disk.unlink, mark)
            write_files(self.disk, {mark: layout.CLEAN_STOP_TEXT})
            self.disk.sync_dir(self.path)
            undo.pop_all()

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
    if was_clean:
        disk.unlink(mark)
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
        if found != layout.FORMAT_TEXT:
            raise StoreRefused(
                f"{format_path}: found {found[:60]!r}; expected {layout.FORMAT_TEXT!r}. "
                "Another version of onelog made this directory: use that one."
            )
        return
    if disk.exists(layout.join(path, layout.CATALOG)):
        raise StoreRefused(f"{path}: has a catalog and no {layout.FORMAT}. Restore it from a backup.")
    # Made aside, so that a torn one never passes for that of another version.
    aside = format_path + layout.ASIDE_SUFFIX
    write_files(disk, {aside: layout.FORMAT_TEXT})
    disk.rename(aside, format_path)


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

"""New segments in place of old ones, so that a cut at any moment leaves either, by the names alone.

    .cleaned    written and synced; a start throws it away
    .swap       all of it: from here on the new one counts, and a start completes what follows
    .deleted    the old ones, on their way out
    .log        the new one has the name

The names are Kafka's, which would complete it, too. Between the old ones' going and the new
one's coming the directory is synced once more than Kafka does it: a disk that keeps any part of
what was not synced could otherwise give back an old segment beside the new one that holds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onelog.storage import layout
from onelog.storage.disk import Disk
from onelog.storage.home import Home
from onelog.storage.removal import SUFFIXES
from onelog.storage.walk import walk
from onelog.storage.whole import write_files

CLEANED = ".cleaned"
SWAP = ".swap"
DELETED = ".deleted"


@dataclass
class Swap:
    """One new segment, written as .cleaned, and the old ones that it replaces."""

    home: Home
    base_offset: int
    old: Sequence[int]
    has_begun: bool = False
    """Whether it may have to be completed: nothing is as it was."""

    def make(self) -> None:
        """An empty file to be written. What an attempt before has left behind goes."""
        write_files(self.home.disk, {self.path: b""})

    @property
    def path(self) -> str:
        """The new segment's file while it is written."""
        return _path(self.home.path, self.base_offset, layout.LOG_SUFFIX, CLEANED)

    def prepare(self, indexes: Mapping[str, bytes]) -> None:
        """All that needs room. indexes: by suffix. The segment's own bytes are synced already."""
        # From the first rename on offsets may be missing: nobody may take that for damage.
        self.home.note_compacted()
        for suffix, data in indexes.items():
            write_files(self.home.disk, {_path(self.home.path, self.base_offset, suffix, CLEANED): data})

    def run(self) -> None:
        """Put it in the place of the old ones."""
        disk, directory = self.home.disk, self.home.path
        self.has_begun = True
        for suffix in reversed(SUFFIXES):
            path = _path(directory, self.base_offset, suffix)
            if disk.exists(path + CLEANED):
                disk.rename(path + CLEANED, path + SWAP)
        disk.sync_dir(directory)
        for base in self.old:
            _set_aside(disk, directory, base, keeps_snapshot=base == self.base_offset)
        disk.sync_dir(directory)
        _take_name(disk, directory, self.base_offset)
        disk.sync_dir(directory)

    def clear(self) -> None:
        """Take the old ones away."""
        for name in self.home.disk.names(self.home.path):
            if name.endswith(DELETED):
                self.home.disk.unlink(layout.join(self.home.path, name))

    def undo(self) -> None:
        """Take away what was written and does not count."""
        for suffix in SUFFIXES:
            self.home.disk.unlink(_path(self.home.path, self.base_offset, suffix, CLEANED))


def complete(home: Home) -> None:
    """At a start: what was cut off is completed or undone. It may be cut off itself."""
    disk = home.disk
    names = disk.names(home.path)
    if not any(name.endswith((CLEANED, SWAP, DELETED)) for name in names):
        return
    for name in names:
        if name.endswith(CLEANED):
            disk.unlink(layout.join(home.path, name))
    ending = layout.LOG_SUFFIX + SWAP
    for base in sorted(int(name[:20]) for name in names if name.endswith(ending)):
        end = _end_of(disk, layout.join(home.path, layout.segment_file(base, ending)))
        covered = {found[0] for found in map(layout.segment_of, names) if found and base <= found[0] < end}
        for old in sorted(covered):
            _set_aside(disk, home.path, old, keeps_snapshot=old == base)
        disk.sync_dir(home.path)
        _take_name(disk, home.path, base)
        disk.sync_dir(home.path)
    for name in disk.names(home.path):
        if name.endswith((SWAP, DELETED)):
            disk.unlink(layout.join(home.path, name))


def _set_aside(disk: Disk, directory: str, base: int, *, keeps_snapshot: bool) -> None:
    """An old segment's files get the names of what goes, its own last: they lead to it."""
    for suffix in reversed(SUFFIXES):
        path = _path(directory, base, suffix)
        stays = keeps_snapshot and suffix == layout.SNAPSHOT_SUFFIX
        if not stays and disk.exists(path):
            disk.rename(path, path + DELETED)


def _take_name(disk: Disk, directory: str, base: int) -> None:
    for suffix in reversed(SUFFIXES):
        path = _path(directory, base, suffix)
        if disk.exists(path + SWAP):
            disk.rename(path + SWAP, path)


def _end_of(disk: Disk, path: str) -> int:
    """The offset behind the last batch of a new segment, which was synced whole."""
    file = disk.open(path)
    try:
        end = 0
        for _, batch in walk(file, position=0, end=file.size()):
            end = batch.offset_end
        return end
    finally:
        file.close()


def _path(directory: str, base: int, suffix: str, state: str = "") -> str:
    return layout.join(directory, layout.segment_file(base, suffix) + state)

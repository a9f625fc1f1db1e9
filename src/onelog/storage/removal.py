"""Taking files away: of old segments, and of whole logs. Nothing here decides that they go.

The catalog says durably that they are gone before this begins, so the order within does not
matter: whoever finds some of it at a start takes the rest away.
"""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from onelog.model import NO_TOPIC_ID
from onelog.storage import layout
from onelog.storage.disk import Disk
from onelog.storage.home import Home, topic_id_of
from onelog.storage.layout import LogDir, Role

SUFFIXES = (layout.LOG_SUFFIX, layout.INDEX_SUFFIX, layout.TIME_INDEX_SUFFIX, layout.SNAPSHOT_SUFFIX)


class RemovalJob(Protocol):
    """Files that are about to go."""

    def run(self) -> int:
        """Take them away: system calls only, in any thread. How many segments went."""
        ...


class SegmentRemoval:
    """Segments that nobody reads any more."""

    def __init__(self, disk: Disk, directory: str, bases: Sequence[int]) -> None:
        self.bases = bases
        self._disk = disk
        self._directory = directory

    def run(self) -> int:
        """Unlink them."""
        for base in self.bases:
            for suffix in SUFFIXES:
                self._disk.unlink(layout.join(self._directory, layout.segment_file(base, suffix)))
        return len(self.bases)


class LogRemoval:
    """The directory of a deleted topic's partition: moved out of the way, then emptied."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def run(self) -> int:
        """Take it away. Afterwards the topic's id may be forgotten."""
        disk, home = self._home.disk, self._home
        # What was kept of it, had it been refused.
        disk.unlink(layout.join(home.root, layout.tail_file(home.topic_id, home.partition)))
        if not disk.exists(home.path) or topic_id_of(disk, home.path) != home.topic_id:
            return 0
        gone = move_away(
            disk, home.root, home.path, LogDir(home.topic, home.partition, Role.DELETE), home.topic_id
        )
        # Its new name first: otherwise a power cut could leave half of its segments, without
        # an id, under the name of a topic that lives.
        disk.sync_dir(home.root)
        return remove_tree(disk, gone)


def move_away(disk: Disk, root: str, path: str, meaning: LogDir, topic_id: UUID | None) -> str:
    """Give a directory a name that nobody uses. The new name is not durable yet."""
    mark = (topic_id or NO_TOPIC_ID).int
    while True:
        name = layout.moved_dir(meaning.topic, meaning.partition, mark=UUID(int=mark), role=meaning.role)
        target = layout.join(root, name)
        if not disk.exists(target):
            disk.rename(path, target)
            return target
        mark = (mark + 1) % (1 << 128)


def remove_tree(disk: Disk, directory: str) -> int:
    """A directory of files, and itself. How many segments were in it."""
    segments = 0
    for name in disk.names(directory):
        path = layout.join(directory, name)
        if disk.is_dir(path):
            segments += remove_tree(disk, path)
        else:
            disk.unlink(path)
            segments += name.endswith(layout.LOG_SUFFIX)
    disk.remove_dir(directory)
    return segments

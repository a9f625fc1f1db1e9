"""The directory of one log: whose it is, and its making, so that a power cut leaves no doubt.

A log is known by its topic's id and its number, never by its path: partition.metadata says
which id a directory belongs to. It is durable before the first record is, and so is the
directory's own name.
"""

from dataclasses import dataclass
from uuid import UUID

from onelog.storage import layout
from onelog.storage.disk import Disk
from onelog.storage.whole import write_files


@dataclass(frozen=True)
class Home:
    """Where one log lives."""

    disk: Disk
    root: str
    topic: str
    partition: int
    topic_id: UUID

    @property
    def path(self) -> str:
        """The directory."""
        return layout.join(self.root, layout.live_dir(self.topic, self.partition))

    @property
    def name(self) -> str:
        """The log as people call it."""
        return f"{self.topic}/{self.partition}"

    @property
    def was_compacted(self) -> bool:
        """Whether offsets may be missing between its batches."""
        return self.disk.exists(layout.join(self.path, layout.COMPACTED))

    def note_compacted(self) -> None:
        """From now on offsets may be missing: durable before the first one is."""
        if not self.was_compacted:
            write_files(self.disk, {layout.join(self.path, layout.COMPACTED): b""})
        self.disk.sync_dir(self.path)

    def make(self) -> None:
        """The directory is there, says whose it is, and stays so whatever happens.

        Everything is written and synced again even where it seems to be there: a process
        that was killed may have made it without living to sync it.
        """
        self.disk.make_dir(self.path)
        path = layout.join(self.path, layout.METADATA)
        file = self.disk.open(path, create=True)
        try:
            text = layout.metadata_text(self.topic_id)
            file.write_at(0, [text])
            if file.size() != len(text):
                file.truncate(len(text))
            file.sync()
        finally:
            file.close()
        self.disk.sync_dir(self.path)
        self.disk.sync_dir(self.root)


def topic_id_of(disk: Disk, directory: str) -> UUID | None:
    """The id that a log directory says it belongs to; None when it says nothing readable."""
    path = layout.join(directory, layout.METADATA)
    if not disk.exists(path) or disk.is_dir(path):
        return None
    file = disk.open(path)
    try:
        return layout.metadata_topic_id(file.pread(0, 4096))
    finally:
        file.close()


def is_half_made(disk: Disk, directory: str) -> bool:
    """Whether all that is there may be of a making that was cut off: nothing, or a torn metadata."""
    return all(
        name == layout.METADATA and not disk.is_dir(layout.join(directory, name))
        for name in disk.names(directory)
    )

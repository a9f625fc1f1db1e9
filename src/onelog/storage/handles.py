"""Open files, a bounded number of them: the one used longest ago is closed first.

Lives in the loop's thread, and is for reading: whoever writes opens the file himself and syncs
before he closes it, so that closing one never loses the news of a failed write. One that is
in use is never closed, even when its file is removed meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from onelog.storage.disk import Disk, DiskFile

OPEN_FILES_MAX = 400


class Handle:
    """An open file and how many use it now."""

    __slots__ = ("dropped", "file", "pins")

    def __init__(self, file: DiskFile) -> None:
        self.file = file
        self.pins = 0
        self.dropped = False


class Handles:
    """The open files of one data directory, by path."""

    def __init__(self, disk: Disk, *, open_max: int = OPEN_FILES_MAX) -> None:
        self.disk = disk
        self._open_max = open_max
        self._handles: dict[str, Handle] = {}

    def __len__(self) -> int:
        return len(self._handles)

    @contextmanager
    def use(self, path: str) -> Iterator[DiskFile]:
        """The file at this path, open for as long as the block lasts."""
        handle = self.pin(path)
        try:
            yield handle.file
        finally:
            self.unpin(handle)

    def pin(self, path: str) -> Handle:
        """The file at this path, open until it is unpinned."""
        handle = self._handles.pop(path, None)
        if handle is None:
            self._make_room()
            handle = Handle(self.disk.open(path))
        # Last in the dict: used most recently.
        self._handles[path] = handle
        handle.pins += 1
        return handle

    def unpin(self, handle: Handle) -> None:
        """Whoever pinned it needs it no more."""
        handle.pins -= 1
        if handle.dropped and not handle.pins:
            handle.file.close()

    def forget(self, path: str) -> None:
        """The path, or everything in this directory, is about to go or to change its name."""
        inside = path + "/"
        for name in [n for n in self._handles if n == path or n.startswith(inside)]:
            self._drop(name)

    def close(self) -> None:
        """Close all. Nobody uses one any more."""
        for name in list(self._handles):
            self._drop(name)

    def _make_room(self) -> None:
        if len(self._handles) < self._open_max:
            return
        for name, handle in self._handles.items():
            if not handle.pins:
                self._drop(name)
                return

    def _drop(self, name: str) -> None:
        handle = self._handles.pop(name)
        handle.dropped = True
        if not handle.pins:
            handle.file.close()

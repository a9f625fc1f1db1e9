"""The file system, in the few words that storage needs; nothing else in storage calls it.

Every call blocks. A call that finds no room raises DiskFull, any other failure DiskFailed,
both with the path and what was being done. Tests hand storage another Disk: one that
forgets what was not synced, or that fails. SQLite (catalog.py) goes its own way.
"""

import contextlib
import errno
import fcntl
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol

from onelog.errors import DiskFailed, DiskFull

Buffer = bytes | bytearray | memoryview


class StoreRefused(Exception):
    """A data directory stays closed: where, what was found, what was expected, what to do.

    Not an answer to a client, as nobody is served yet: whoever starts a broker prints it.
    """


# What a failure of keeps one log from being read, and says nothing of what was written.
READING = frozenset({"opening", "reading", "listing", "looking at its size"})

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# The kernel takes at most 1024 buffers in one call.
_BUFFERS_MAX = 1024


class DiskFile(Protocol):
    """An open file. Positions are absolute; there is no cursor."""

    @property
    def path(self) -> str: ...

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """All buffers, one after the other; nothing of it is durable before sync()."""
        ...

    def pread(self, position: int, count: int) -> bytes:
        """Up to count bytes; fewer only at the end of the file."""
        ...

    def size(self) -> int: ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """What was written before this began survives a power cut. Its name need not."""
        ...

    def drop_cache(self) -> None:
        """Read from the disk itself from now on, as far as the system allows it."""
        ...

    def close(self) -> None: ...


class Held(Protocol):
    """A lock that is held until it is released, or until the process ends."""

    def release(self) -> None: ...


class Disk(Protocol):
    """A file system."""

    def open(self, path: str, *, create: bool = False) -> DiskFile: ...

    def exists(self, path: str) -> bool: ...

    def names(self, path: str) -> list[str]:
        """What is in a directory, sorted."""
        ...

    def is_dir(self, path: str) -> bool: ...

    def make_dir(self, path: str) -> None:
        """The directory and those above it; no harm if it is there."""
        ...

    def rename(self, old: str, new: str) -> None: ...

    def unlink(self, path: str) -> None: ...

    def remove_dir(self, path: str) -> None:
        """An empty directory."""
        ...

    def sync_dir(self, path: str) -> None:
        """The names in this directory survive a power cut."""
        ...

    def free_bytes(self, path: str) -> int: ...

    def lock(self, path: str) -> Held:
        """Be the only one to hold this file, or StoreRefused."""
        ...


@contextlib.contextmanager
def _told(path: str, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise DiskFull(path=path, doing=doing) from error
        raise DiskFailed(path=path, doing=doing, found=error.strerror or repr(error)) from error


class RealFile:
    """A file of this machine."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        left = [memoryview(b).cast("B") for b in buffers if len(b)]
        with _told(self.path, "writing"):
            while left:
                count = os.pwritev(self._fd, left[:_BUFFERS_MAX], position)
                if count == 0:
                    raise DiskFull(path=self.path, doing="writing")
                position += count
                left = _behind(left, count)

    def pread(self, position: int, count: int) -> bytes:
        with _told(self.path, "reading"):
            found = os.pread(self._fd, count, position)
            if len(found) == count or not found:
                return found
            parts = [found]
            got = len(found)
            while got < count and (found := os.pread(self._fd, count - got, position + got)):
                parts.append(found)
                got += len(found)
            return b"".join(parts)

    def size(self) -> int:
        with _told(self.path, "looking at its size"):
            return os.fstat(self._fd).st_size

    def truncate(self, size: int) -> None:
        with _told(self.path, f"cutting it to {size} bytes"):
            os.ftruncate(self._fd, size)

    def sync(self) -> None:
        with _told(self.path, "syncing"):
            _sync(self._fd)

    def drop_cache(self) -> None:
        if hasattr(os, "posix_fadvise"):
            with _told(self.path, "dropping its cached pages"):
                os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with _told(self.path, "closing"):
                os.close(fd)


def _behind(buffers: list[memoryview], count: int) -> list[memoryview]:
    """What is left of the buffers when count bytes of them are written."""
    for number, buffer in enumerate(buffers):
        if count < len(buffer):
            return [buffer[count:], *buffers[number + 1 :]]
        count -= len(buffer)
    return []


if sys.platform == "darwin":

    def _sync(fd: int) -> None:
        # fsync() there stops at the drive's cache.
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
else:
    _sync = os.fdatasync


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


class RealLock:
    """A lock file that is held. Kafka takes the same kind on the same name.

    The system forgets such a lock as soon as *any* handle of the file is closed by this
    process, and does not refuse a second one to the process that has it. So the paths held
    are known here, and nobody else opens them.
    """

    held: "set[tuple[int, int]]" = set()  # noqa: RUF012  # one set for the process, as the locks are

    def __init__(self, path: str) -> None:
        self._fd = -1
        if os.path.exists(path) and _identity(os.stat(path)) in self.held:
            raise StoreRefused(f"{path}: this process has the directory open already. Close it first.")
        with _told(path, "opening the lock"):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise DiskFailed(path=path, doing="taking the lock", found=str(error.strerror)) from error
            raise StoreRefused(
                f"{path}: another process has the directory open. Stop it first, or use another directory."
            ) from error
        self._key = _identity(os.fstat(fd))
        self.held.add(self._key)
        self._fd = fd

    def release(self) -> None:
        if self._fd >= 0:
            self.held.discard(self._key)
            os.close(self._fd)
            self._fd = -1


class RealDisk:
    """The file system of this machine. Read-only: for those who only look."""

    def __init__(self, *, read_only: bool = False) -> None:
        self._access = os.O_RDONLY if read_only else os.O_RDWR

    def open(self, path: str, *, create: bool = False) -> RealFile:
        flags = self._access | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with _told(path, "creating" if create else "opening"):
            return RealFile(path, os.open(path, flags, 0o644))

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def names(self, path: str) -> list[str]:
        with _told(path, "listing"):
            return sorted(os.listdir(path))

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_dir(self, path: str) -> None:
        with _told(path, "making the directory"):
            os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        with _told(old, f"renaming it to {new}"):
            os.replace(old, new)

    def unlink(self, path: str) -> None:
        with _told(path, "removing"), contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_dir(self, path: str) -> None:
        with _told(path, "removing the directory"):
            os.rmdir(path)

    def sync_dir(self, path: str) -> None:
        with _told(path, "syncing the directory"):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def free_bytes(self, path: str) -> int:
        with _told(path, "asking for free space"):
            found = os.statvfs(path)
            return found.f_bavail * found.f_frsize

    def lock(self, path: str) -> RealLock:
        return RealLock(path)

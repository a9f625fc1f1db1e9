"""The commit log: a ring of prewritten files that takes each turn's records in one write.

    LSN   start of a file + position in it; a file starts where the one before it ends

    |hdr| frame | frame |   unused  |hdr| frame | ...   |hdr|          | old frames ...
    ^ start of file 7               ^ file 8            ^ next         free

A frame that does not fit goes behind the next file's header, which was durable before. Files
wholly below the root's `first` are free, oldest first, and get a new header off the hot path.
What is a turn, and when to sync, is decided above. Each call is for the loop's thread but the
jobs' run(), which make system calls only.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from onelog.errors import DiskFull
from onelog.storage import layout
from onelog.storage.disk import Buffer, Disk, DiskFile
from onelog.storage.frames import (
    BLOCK_BYTES,
    FILE_MAGIC,
    FORMAT,
    Entry,
    FileHeader,
    encoded_file_header,
    encoded_frame,
    frame_bytes,
)

_ZEROES = bytes(1 << 20)
# The one that is written to, the one that comes next, and one that a root can free.
FILES_MIN = 3


@dataclass(frozen=True)
class CommitLogSettings:
    """How large the commit log's files are, and all of them together."""

    file_bytes: int = 16 << 20
    bytes_max: int = 256 << 20
    block_bytes: int = BLOCK_BYTES


class Written(NamedTuple):
    """A frame that is in the log: where, and the CRCs of the one before it and of itself."""

    lsn: int
    end: int
    before: int
    crc: int


@dataclass(slots=True, eq=False)
class CommitFile:
    """One file: its place in the log, and where the next frame goes."""

    path: str
    slot: int
    file: DiskFile
    size: int
    number: int
    start: int
    position: int

    @property
    def end(self) -> int:
        """The LSN where the next file starts."""
        return self.start + self.size

    @property
    def written(self) -> int:
        """The LSN behind its last frame."""
        return self.start + self.position


class SyncJob:
    """A sync of everything that was written before it was made."""

    def __init__(self, files: Sequence[CommitFile], *, end: int) -> None:
        self.files = files
        self.end = end

    def run(self) -> None:
        """Sync every file that has frames which are not durable, oldest first."""
        for file in self.files:
            file.file.sync()


class PrepareJob:
    """Makes the file that the log goes on in, or gives a free one its new header."""

    def __init__(
        self,
        disk: Disk,
        header: FileHeader,
        *,
        path: str,
        slot: int,
        block_bytes: int,
        free: CommitFile | None,
    ) -> None:
        self.made: CommitFile | None = None
        self.size = header.size
        self._disk = disk
        self._header = header
        self._path = path
        self._slot = slot
        self._block_bytes = block_bytes
        self.free = free

    def run(self) -> None:
        """Afterwards the file's header is durable, so frames may be written behind it."""
        header = encoded_file_header(self._header, block_bytes=self._block_bytes)
        if self.free is None:
            file = self._new(header)
        else:
            file = self.free.file
            file.write_at(0, [header])
            file.sync()
        place = (self._header.size, self._header.number, self._header.start, self._block_bytes)
        self.made = CommitFile(self._path, self._slot, file, *place)

    def _new(self, header: bytes) -> DiskFile:
        # Really written: an extent that is only reserved costs a journal commit at its first
        # sync. Aside, so that a half-made one never has the name of a whole one.
        aside = self._path + layout.ASIDE_SUFFIX
        file = self._disk.open(aside, create=True)
        try:
            file.write_at(0, [header, *_zeroes(self._header.size - len(header))])
            file.sync()
        except DiskFull:
            self._disk.unlink(aside)
            raise
        finally:
            file.close()
        self._disk.rename(aside, self._path)
        self._disk.sync_dir(layout.above(self._path))
        return self._disk.open(self._path)


class CommitLog:
    """The commit log of one open directory, in one epoch. Owned by the loop's thread."""

    def __init__(
        self,
        disk: Disk,
        root: str,
        *,
        directory: UUID,
        epoch: int,
        settings: CommitLogSettings,
        first: CommitFile,
    ) -> None:
        self.settings = settings
        self.directory = directory
        self.epoch = epoch
        self.end = self.durable = first.written
        self.before = 0
        self._disk = disk
        self._root = root
        self._files: deque[CommitFile] = deque([first])
        self._free: list[CommitFile] = []
        self._next: CommitFile | None = None
        self._slots = first.slot + 1

    @classmethod
    def first_file(
        cls,
        disk: Disk,
        root: str,
        *,
        directory: UUID,
        epoch: int,
        start: int,
        slot: int,
        settings: CommitLogSettings,
    ) -> PrepareJob:
        """What makes the file that a new epoch begins in."""
        header = _header(directory, epoch, number=0, size=settings.file_bytes, start=start)
        path = layout.join(root, layout.commit_file(slot))
        return PrepareJob(disk, header, path=path, slot=slot, block_bytes=settings.block_bytes, free=None)

    @property
    def frame_bytes_max(self) -> int:
        """Beyond this a turn is several frames."""
        return self._files[-1].size // 4

    @property
    def used_bytes(self) -> int:
        """What is taken: by frames that matter and by what cannot be used any more."""
        return sum(file.size for file in self._files) - self._files[-1].size + self._files[-1].position

    @property
    def is_half_full(self) -> bool:
        """Whether it is time to settle."""
        return 2 * self.used_bytes >= self.settings.bytes_max

    @property
    def has_next(self) -> bool:
        """Whether the file that comes after this one is ready."""
        return self._next is not None

    def has_room(self, entries: Sequence[Entry]) -> bool:
        """Whether a frame of these fits into what is ready."""
        size = frame_bytes(entries, block_bytes=self.settings.block_bytes)
        last, following = self._files[-1], self._next
        if size <= last.size - last.position:
            return True
        return following is not None and size <= following.size - following.position

    def room_bytes(self) -> int:
        """What a frame may take at most; less than there is, if that is in two pieces."""
        last, following = self._files[-1], self._next
        left = last.size - last.position
        return max(left, following.size - following.position) if following is not None else left

    def write(self, entries: Sequence[Entry]) -> Written:
        """One frame, in one write. It has to fit."""
        block_bytes = self.settings.block_bytes
        size = frame_bytes(entries, block_bytes=block_bytes)
        file = self._files[-1]
        if size > file.size - file.position:
            assert self._next is not None
            file, self._next = self._next, None
            self._files.append(file)
        assert size <= file.size - file.position
        lsn, before = file.written, self.before
        buffers, crc = encoded_frame(
            entries,
            epoch=self.epoch,
            lsn=lsn,
            durable=self.durable,
            before=before,
            block_bytes=block_bytes,
        )
        file.file.write_at(file.position, buffers)
        file.position += size
        self.before = crc
        self.end = lsn + size
        return Written(lsn, self.end, before, crc)

    def begin_sync(self) -> SyncJob | None:
        """A sync of all frames that are not durable; None when all are. One at a time."""
        if self.end == self.durable:
            return None
        files = [file for file in self._files if file.written > self.durable]
        return SyncJob(files, end=self.end)

    def end_sync(self, job: SyncJob) -> None:
        """The job's run() has returned: what was written before it began is durable."""
        assert job.end >= self.durable
        self.durable = job.end

    def begin_prepare(self, entries: Sequence[Entry] = ()) -> PrepareJob | None:
        """What makes the next file ready: a free one, or a new one while there may be more.

        entries: a frame that waits and fits nowhere; None when only a round can help, which frees files.
        """
        if self._next is not None and self.has_room(entries):
            return None
        if self._next is not None:
            # Too small for a frame that waits: it was never used, and its place is the new one's.
            self._free.append(self._next)
            self._next = None
        needed = frame_bytes(entries, block_bytes=self.settings.block_bytes) + self.settings.block_bytes
        size = max(self.settings.file_bytes, needed if entries else 0)
        free = next((file for file in self._free if file.size >= size), None)
        if free is not None:
            self._free.remove(free)
        elif not self._may_make(size):
            return None
        last = self._files[-1]
        slot = self._slots if free is None else free.slot
        self._slots += free is None
        header = _header(
            self.directory,
            self.epoch,
            number=last.number + 1,
            size=size if free is None else free.size,
            start=last.end,
        )
        path = layout.join(self._root, layout.commit_file(slot)) if free is None else free.path
        return PrepareJob(
            self._disk, header, path=path, slot=slot, block_bytes=self.settings.block_bytes, free=free
        )

    def end_prepare(self, job: PrepareJob) -> None:
        """The job's run() has returned: the log may go on in its file."""
        assert job.made is not None
        assert self._next is None
        self._next = job.made

    def give_back(self, job: PrepareJob) -> None:
        """The job's run() has found no room for a new file; a free one is free again."""
        if job.free is not None:
            self._free.append(job.free)

    def recycle(self, first: int) -> None:
        """The root is durable and says that nothing before this LSN matters. The newest file stays."""
        while len(self._files) > 1 and self._files[0].end <= first:
            self._free.append(self._files.popleft())

    def close(self) -> None:
        """Let go of the files. All of them are synced, or nothing in them matters."""
        ready = [] if self._next is None else [self._next]
        for file in [*self._files, *self._free, *ready]:
            file.file.close()

    def paths(self) -> list[str]:
        """The files of this epoch."""
        ready = [] if self._next is None else [self._next]
        return [file.path for file in [*self._files, *self._free, *ready]]

    @property
    def _total_bytes(self) -> int:
        ready = 0 if self._next is None else self._next.size
        return sum(file.size for file in [*self._files, *self._free]) + ready

    def _may_make(self, size: int) -> bool:
        """Within the bound; or beyond it, for a batch that no other file can hold, or too few files."""
        is_within = self._total_bytes + size <= self.settings.bytes_max
        return is_within or size > self.settings.file_bytes or len(self.paths()) < FILES_MIN


def _header(directory: UUID, epoch: int, *, number: int, size: int, start: int) -> FileHeader:
    return FileHeader(
        magic=FILE_MAGIC,
        format=FORMAT,
        directory=directory,
        epoch=epoch,
        number=number,
        size=size,
        start=start,
    )


def _zeroes(size: int) -> Sequence[Buffer]:
    whole, rest = divmod(size, len(_ZEROES))
    return [_ZEROES] * whole + [_ZEROES[:rest]]

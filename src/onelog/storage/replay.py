"""What the commit log still has to say at a start: the frames from the root's first one on.

They are followed by place and by the CRC that each names of the one before. Where that ends,
the log ended, unless a frame behind that place proves that more was durable: then what was
acknowledged is damaged, and nothing here repairs it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onelog.storage import layout
from onelog.storage.disk import Disk, DiskFile, StoreRefused
from onelog.storage.ends import Ends
from onelog.storage.frames import (
    FRAME_HEADER_BYTES,
    FileHeader,
    Frame,
    parsed_file_header,
    parsed_frame,
    parsed_frame_header,
)

_ACCEPT = "Restore the directory from a backup; `onelog verify` says what is there."


@dataclass(frozen=True, slots=True)
class Found:
    """A commit log file with a header that is right."""

    path: str
    header: FileHeader

    @property
    def end(self) -> int:
        """Where the next file starts."""
        return self.header.start + self.header.size


@dataclass(frozen=True, slots=True)
class Stopped:
    """Where the frames end, and the CRC of the last."""

    end: int
    before: int


def commit_files(disk: Disk, root: str, *, block_bytes: int) -> list[Found]:
    """Every commit log file whose header is right, of any epoch, in the order of their starts."""
    found: list[Found] = []
    for path in commit_paths(disk, root):
        file = disk.open(path)
        try:
            header = parsed_file_header(file.pread(0, block_bytes))
        finally:
            file.close()
        if header is not None:
            found.append(Found(path, header))
    return sorted(found, key=lambda f: (f.header.start, f.header.number))


def commit_paths(disk: Disk, root: str) -> list[str]:
    """Every file with the name of a commit log file; half-made ones have another."""
    names = (name for name in disk.names(root) if layout.commit_slot(name) is not None)
    return [layout.join(root, name) for name in names]


def has_frames(disk: Disk, root: str, *, block_bytes: int) -> bool:
    """Whether a valid frame stands anywhere, of any epoch."""
    return any(
        any(True for _ in frames_in(disk, found.path, block_bytes=block_bytes))
        for found in commit_files(disk, root, block_bytes=block_bytes)
    )


class Replay:
    """One pass over the frames that the root leaves to the commit log."""

    def __init__(self, disk: Disk, root: str, ends: Ends, *, block_bytes: int) -> None:
        self._disk = disk
        self._root = root
        self._ends = ends
        self._block_bytes = block_bytes
        self._files = [
            found
            for found in commit_files(disk, root, block_bytes=block_bytes)
            if found.header.epoch == ends.epoch and found.header.directory == ends.directory
        ]
        self.stopped = Stopped(ends.first, ends.before)

    def frames(self) -> Iterator[Frame]:
        """Frame by frame, in their order. At the end, nothing durable was left out, or StoreRefused."""
        self._check_first()
        while (frame := self._next()) is not None:
            self.stopped = Stopped(frame.end, frame.crc)
            yield frame
        if not self._ends.is_clean:
            self._check_nothing_behind()

    def _check_first(self) -> None:
        """The newest file is never removed or used again, so one of them holds the first frame's place."""
        first = self._ends.first
        if self._ends.is_clean or any(f.header.start <= first <= f.end for f in self._files):
            return
        raise StoreRefused(
            f"{self._root}: no commit log file of epoch {self._ends.epoch:016x} holds position {first}; "
            f"expected one, since {layout.ENDS} says that the log goes on there. A file is missing or "
            f"damaged. {_ACCEPT}"
        )

    def _next(self) -> Frame | None:
        for found in self._files:
            file = self._disk.open(found.path)
            try:
                frame = self._frame_in(file, found)
            finally:
                file.close()
            if frame is not None:
                return frame
        return None

    def _frame_in(self, file: DiskFile, found: Found) -> Frame | None:
        """The next frame, if it is in this file: right behind the last one, or first in a later file."""
        start, end = found.header.start, self.stopped.end
        if start >= end:
            position = self._block_bytes
        elif end < found.end:
            position = end - start
        else:
            return None
        frame = _frame_at(file, position, block_bytes=self._block_bytes)
        if frame is None or frame.lsn != start + position or frame.epoch != self._ends.epoch:
            return None
        return frame if frame.before == self.stopped.before else None

    def _check_nothing_behind(self) -> None:
        # In every file, also where the header is damaged: it may be that of the file that follows.
        # A frame that was left over from an earlier use was durable long before, and so is all
        # that it speaks of.
        for path in commit_paths(self._disk, self._root):
            for position, frame in frames_in(self._disk, path, block_bytes=self._block_bytes):
                if frame.epoch == self._ends.epoch and frame.durable > self.stopped.end:
                    raise StoreRefused(
                        f"{path} at byte {position}: a frame that was written when the commit log was "
                        f"durable up to {frame.durable}; the frames before it end at {self.stopped.end}. What "
                        f"is between was acknowledged and is damaged. {_ACCEPT}"
                    )


def frames_in(disk: Disk, path: str, *, block_bytes: int) -> Iterator[tuple[int, Frame]]:
    """(position, frame) of every valid frame in a file, whether it matters or not."""
    file = disk.open(path)
    try:
        for position in range(block_bytes, file.size(), block_bytes):
            frame = _frame_at(file, position, block_bytes=block_bytes)
            if frame is not None:
                yield position, frame
    finally:
        file.close()


def seen_end(files: Sequence[Found], ends: Ends | None) -> int:
    """An LSN above everything that any header or root speaks of."""
    return max([found.end for found in files] + ([] if ends is None else [ends.first]), default=0)


def _frame_at(file: DiskFile, position: int, *, block_bytes: int) -> Frame | None:
    """The frame at this place of a file, read as far as its header says."""
    head = file.pread(position, block_bytes)
    found = parsed_frame_header(head)
    if found is None:
        return None
    size = FRAME_HEADER_BYTES + found[0].length
    data = head if size <= len(head) else file.pread(position, size)
    return parsed_frame(data, block_bytes=block_bytes)

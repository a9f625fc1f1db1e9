"""Is there room to grow: looked at every second and after every round, refused below a reserve.

The reserve holds what was acknowledged and is still to be settled, so that a full disk never
keeps that from its segments. Deletes, retention and commits go on; they make room, or are small.
"""

from onelog.broker.work import Timer, Work
from onelog.errors import DiskFailed, DiskFull
from onelog.storage.disk import Disk

LOOK_S = 1.0
MARGIN_BYTES = 64 << 20


class Space:
    """Whether appends are refused for want of room. Lives in the loop's thread."""

    def __init__(self, disk: Disk, path: str, *, work: Work, tail_bytes_max: int) -> None:
        self.refusal: DiskFull | None = None
        self._disk = disk
        self._path = path
        self._work = work
        self._reserve_bytes = tail_bytes_max + MARGIN_BYTES
        self._timer: Timer | None = None

    def start(self) -> None:
        """Look now and every second, until closed."""
        self.look()
        self._timer = self._work.later(LOOK_S, self.start)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def look(self) -> None:
        """How it is now. Refused once, there has to be some more before it is allowed again."""
        needed = self._reserve_bytes
        if self.refusal is not None:
            needed += MARGIN_BYTES // 2
        try:
            free = self._disk.free_bytes(self._path)
        except DiskFailed:
            return  # it says nothing of the room that there is
        if free >= needed:
            self.refusal = None
        elif self.refusal is None:
            self.refusal = DiskFull(path=self._path, doing=f"keeping {needed} bytes free; {free} are")

"""What a data directory's root and commit log say while nobody has it open: for those who only look."""

from dataclasses import dataclass, field

from onelog.storage import ends as roots
from onelog.storage.disk import Disk
from onelog.storage.ends import Ends
from onelog.storage.frames import BLOCK_BYTES, Entry, LogKey
from onelog.storage.kept_tails import kept_keys, kept_tail
from onelog.storage.replay import Replay


@dataclass
class Pending:
    """The root, and of each log what is not in its segments yet, oldest first."""

    ends: Ends | None = None
    frames: int = 0
    tails: dict[LogKey, list[Entry]] = field(default_factory=dict)

    def end_of(self, key: LogKey) -> int:
        """The offset behind the last record that anything speaks of."""
        said = None if self.ends is None else self.ends.logs.get(key)
        settled = 0 if said is None else said.next
        tail = self.tails.get(key)
        return max(settled, tail[-1].next) if tail else settled


def pending(disk: Disk, root: str, *, block_bytes: int = BLOCK_BYTES) -> Pending:
    """Read root, frames and kept tails. StoreRefused where a start would refuse the directory."""
    found = Pending(roots.load(disk, root))
    if found.ends is None:
        return found
    for key in kept_keys(disk, root):
        _join(found, kept_tail(disk, root, key))
    for frame in Replay(disk, root, found.ends, block_bytes=block_bytes).frames():
        found.frames += 1
        _join(found, frame.entries)
    return found


def _join(found: Pending, entries: list[Entry]) -> None:
    for entry in entries:
        if entry.next > found.end_of(entry.key):
            found.tails.setdefault(entry.key, []).append(entry)

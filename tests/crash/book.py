"""The catalog of a small world: rows in a file of the simulated disk, a transaction whole or absent.

As SQLite's write-ahead log does, each transaction goes behind the one before, with a checksum;
what is read at a start is everything up to the first one that is not whole.
"""

import pickle
import struct
import zlib
from dataclasses import dataclass, field
from uuid import UUID

from onelog.storage import layout
from tests.support.simulated_disk import SimulatedDisk

_FRONT = struct.Struct(">II")
Place = tuple[UUID, int]


@dataclass
class Rows:
    """Everything that is not a record."""

    alive: dict[str, tuple[UUID, bool]] = field(default_factory=dict)
    removed: set[UUID] = field(default_factory=set)
    starts: dict[Place, int] = field(default_factory=dict)
    leader_epochs: dict[Place, int] = field(default_factory=dict)
    positions: dict[Place, int] = field(default_factory=dict)
    epochs: set[int] = field(default_factory=set)
    transaction: int = 0

    def copy(self) -> "Rows":
        copied: Rows = pickle.loads(pickle.dumps(self))
        return copied


class Book:
    """The open catalog of one process."""

    def __init__(self, disk: SimulatedDisk, root: str) -> None:
        self._file = disk.open(layout.join(root, layout.CATALOG + "-wal"), create=True)
        self.rows = Rows()
        self._end = 0
        data = self._file.pread(0, self._file.size())
        while len(data) - self._end >= _FRONT.size:
            size, crc = _FRONT.unpack_from(data, self._end)
            text = data[self._end + _FRONT.size :][:size]
            if not size or len(text) < size or zlib.crc32(text) != crc:
                break
            self.rows = pickle.loads(text)
            self._end += _FRONT.size + size

    def write(self, rows: Rows) -> None:
        """These rows in one transaction, durable on return."""
        rows.transaction = self.rows.transaction + 1
        text = pickle.dumps(rows)
        self._file.write_at(self._end, [_FRONT.pack(len(text), zlib.crc32(text)) + text])
        self._file.sync()
        self._end += _FRONT.size + len(text)
        self.rows = rows

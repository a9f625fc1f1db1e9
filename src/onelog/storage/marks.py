"""How far a log is what: its marks, and what an append has got."""

from dataclasses import dataclass
from typing import NamedTuple

from onelog.storage.disk import Buffer


class Marks(NamedTuple):
    """How far a log is what. Each is an offset, exclusive but for start."""

    start: int
    settled: int
    stable: int
    durable: int
    written: int
    appended: int

    def check(self) -> "Marks":
        """Themselves, in their order."""
        assert 0 <= self.start <= self.written
        assert self.settled <= self.durable <= self.written <= self.appended
        assert self.stable <= self.written
        return self


@dataclass(frozen=True, slots=True)
class Appended:
    """Batches that have their offsets; buffers are their bytes as they will stand in the log."""

    base: int
    next: int
    timestamp_ms: int
    buffers: list[Buffer]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Batches that were in the log already, at these offsets; true once that part is durable."""

    base: int
    next: int
    timestamp_ms: int

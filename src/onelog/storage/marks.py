"""How far a log is what: its marks, and where the commit log has what is not settled."""

from typing import NamedTuple


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


class FramePlace(NamedTuple):
    """Where the commit log has records of a tail: those below `next` that no earlier frame has."""

    next: int
    lsn: int
    before: int

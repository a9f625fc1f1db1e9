"""A disk and a catalog whose syncs can be held up, let go, and made to fail.

They work on real files. A gate that is shut holds up the thread that comes to it, as a slow
device would, so a test sees what is answered before a sync is done.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from onelog.errors import OnelogError
from onelog.storage.catalog import CatalogFile
from onelog.storage.disk import RealDisk, RealFile

WAIT_S = 30.0


class Gate:
    """Open at first. Counts who passed."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.error: OnelogError | None = None
        self.passed = 0

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def fail(self, error: OnelogError) -> None:
        """From now on whoever passes meets this error."""
        self.error = error
        self._open.set()

    def go_through(self) -> None:
        assert self._open.wait(WAIT_S), "the gate was never opened"
        if self.error is not None:
            raise self.error
        self.passed += 1


class GatedFile(RealFile):
    """A file whose syncs go through a gate: those of the commit log's files, once in use, and of segments."""

    def __init__(self, path: str, fd: int, gate: Gate) -> None:
        super().__init__(path, fd)
        self._gate = gate

    def sync(self) -> None:
        self._gate.go_through()
        super().sync()


class GatedDisk(RealDisk):
    """A disk with gates: before syncs of the commit log, before those of segments, before removals."""

    def __init__(self) -> None:
        super().__init__()
        self.syncs = Gate()
        self.settling = Gate()
        self.removals = Gate()
        self._elsewhere = Gate()

    def open(self, path: str, *, create: bool = False) -> RealFile:
        file = super().open(path, create=create)
        fd, file._fd = file._fd, -1
        gate = self._elsewhere
        if path.rpartition("/")[2].startswith("onelog.commit.") and not path.endswith(".new"):
            gate = self.syncs
        elif path.endswith(".log"):
            gate = self.settling
        return GatedFile(path, fd, gate)

    def rename(self, old: str, new: str) -> None:
        if new.endswith("-delete"):
            self.removals.go_through()
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        if path.endswith(".log"):
            self.removals.go_through()
        super().unlink(path)


class GatedCatalog(CatalogFile):
    """A catalog with a gate before every transaction."""

    gate: Gate

    @classmethod
    def behind(cls, gate: Gate, path: str, migrations: Sequence[tuple[str, ...]]) -> "GatedCatalog":
        catalog = cls.open(path, migrations)
        gated = cls(path, catalog._connection)
        gated.gate = gate
        return gated

    def write(self, statements: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
        if hasattr(self, "gate"):
            self.gate.go_through()
        super().write(statements)

"""The SQLite file of all that is not a record: open, migrate, load rows, write a transaction.

It knows no row's meaning. A transaction is whole or absent, and durable when write() returns.
Made in one thread, it may be used in another, by one at a time. SQLite finds its own way to
the disk; the rest of storage goes through disk.py.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

from onelog.errors import DiskFailed, DiskFull
from onelog.storage.disk import StoreRefused

Statement = tuple[str, tuple[Any, ...]]
IN_MEMORY = ":memory:"

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    # macOS: a sync that reaches the platters. No effect elsewhere.
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA foreign_keys = ON",
)


class CatalogFile:
    """One open catalog."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str, migrations: Sequence[tuple[str, ...]]) -> "CatalogFile":
        """Open or create it, bring it to the newest version, and empty its write-ahead log."""
        try:
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise _told(path, "opening the catalog", error) from error
        catalog = cls(path, connection)
        with ExitStack() as undo:
            undo.callback(connection.close)
            for setting in _SETTINGS:
                catalog._execute(setting, doing="opening the catalog")
            catalog._migrate(migrations)
            catalog._execute("PRAGMA wal_checkpoint(TRUNCATE)", doing="checkpointing the catalog")
            undo.pop_all()
        return catalog

    @classmethod
    def look(cls, path: str, *, has_pending: bool) -> "CatalogFile":
        """Open what is there while nobody else does, to read it only.

        has_pending: a write-ahead log with something in it stands beside it. Without one, SQLite
        is told that nothing changes, or it would make one.
        """
        mode = "mode=ro" if has_pending else "mode=ro&immutable=1"
        try:
            connection = sqlite3.connect(f"file:{quote(path)}?{mode}", uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise _told(path, "opening the catalog", error) from error
        return cls(path, connection)

    def faults(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        return [text for (text,) in self.rows("PRAGMA integrity_check") if text != "ok"]

    def write(self, statements: Iterable[Statement]) -> None:
        """All of these in one transaction, durable on return; or none, and an error."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for sql, values in statements:
                self._connection.execute(sql, values)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise _told(self._path, "writing a transaction", error) from error

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query finds. For the start; while serving, memory is read instead."""
        try:
            return self._connection.execute(sql).fetchall()
        except sqlite3.Error as error:
            raise _told(self._path, "reading the catalog", error) from error

    def close(self) -> None:
        """Checkpoint and close."""
        try:
            self._connection.close()
        except sqlite3.Error as error:
            raise _told(self._path, "closing the catalog", error) from error

    def _migrate(self, migrations: Sequence[tuple[str, ...]]) -> None:
        version: int = self.rows("PRAGMA user_version")[0][0]
        if version > len(migrations):
            raise StoreRefused(
                f"{self._path}: version {version}; this onelog knows up to {len(migrations)}. "
                "A newer onelog wrote it: use that one."
            )
        for number, statements in enumerate(migrations[version:], version + 1):
            self.write([(sql, ()) for sql in (*statements, f"PRAGMA user_version = {number}")])

    def _execute(self, sql: str, *, doing: str) -> None:
        try:
            self._connection.execute(sql).fetchall()
        except sqlite3.Error as error:
            raise _told(self._path, doing, error) from error

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _told(path: str, doing: str, error: sqlite3.Error) -> DiskFull | DiskFailed | StoreRefused:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(path=path, doing=doing)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return StoreRefused(
            f"{path}: {error} while {doing}; expected a SQLite file. Restore it from a backup."
        )
    return DiskFailed(path=path, doing=doing, found=str(error))

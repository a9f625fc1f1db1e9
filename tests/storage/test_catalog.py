"""The SQLite file of all that is not a record."""

import sqlite3
import threading
from pathlib import Path

import pytest

from onelog.errors import DiskFailed, DiskFull
from onelog.storage.catalog import CatalogFile
from onelog.storage.disk import StoreRefused

FIRST = ("CREATE TABLE topics (name TEXT PRIMARY KEY)",)
SECOND = ("ALTER TABLE topics ADD COLUMN parts INTEGER NOT NULL DEFAULT 1", "CREATE TABLE groups (name TEXT)")


def _insert(name: str) -> tuple[str, tuple[str]]:
    return "INSERT INTO topics (name) VALUES (?)", (name,)


def test_what_is_written_is_there_after_opening_again(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    catalog.write([_insert("a"), _insert("b")])
    catalog.close()
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    assert catalog.rows("SELECT name FROM topics ORDER BY name") == [("a",), ("b",)]
    catalog.close()


def test_a_write_is_all_or_nothing(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    with pytest.raises(DiskFailed, match="UNIQUE constraint failed"):
        catalog.write([_insert("a"), _insert("a")])
    assert catalog.rows("SELECT * FROM topics") == []
    catalog.write([_insert("a")])
    catalog.close()


def test_an_older_catalog_is_brought_to_the_newest_version(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    catalog.write([_insert("a")])
    catalog.close()
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST, SECOND))
    assert catalog.rows("SELECT * FROM topics") == [("a", 1)]
    assert catalog.rows("PRAGMA user_version") == [(2,)]
    catalog.close()


def test_a_migration_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    with pytest.raises(DiskFailed):
        CatalogFile.open(f"{tmp_path}/c.db", (FIRST, (SECOND[1], "nonsense")))
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    assert catalog.rows("PRAGMA user_version") == [(1,)]
    assert catalog.rows("SELECT name FROM sqlite_schema WHERE name = 'groups'") == []
    catalog.close()


def test_a_newer_catalog_is_refused(tmp_path: Path) -> None:
    CatalogFile.open(f"{tmp_path}/c.db", (FIRST, SECOND)).close()
    with pytest.raises(StoreRefused, match="version 2; this onelog knows up to 1"):
        CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.db").write_bytes(b"not a database, but long enough to be one" * 30)
    with pytest.raises(StoreRefused, match="expected a SQLite file"):
        CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))


def test_it_is_synced_at_every_transaction_and_its_log_is_empty_when_it_is_open(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    assert catalog.rows("PRAGMA journal_mode") == [("wal",)]
    assert catalog.rows("PRAGMA synchronous") == [(2,)]
    assert (tmp_path / "c.db-wal").stat().st_size == 0
    catalog.close()


def test_another_thread_may_use_it(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    thread = threading.Thread(target=catalog.write, args=([_insert("a")],))
    thread.start()
    thread.join()
    assert catalog.rows("SELECT name FROM topics") == [("a",)]
    catalog.close()


def test_anybody_may_look_while_it_is_open(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    catalog.write([_insert("a")])
    other = sqlite3.connect(f"file:{tmp_path}/c.db?mode=ro", uri=True)
    assert other.execute("SELECT name FROM topics").fetchall() == [("a",)]
    other.close()
    catalog.close()


def test_no_room_is_a_full_disk(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c.db", (FIRST,))
    pages = catalog.rows("PRAGMA page_count")[0][0]
    catalog.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskFull):
        catalog.write([_insert("x" * 100_000)])
    catalog.write([_insert("small")])
    catalog.close()


def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskFailed, match="nowhere"):
        CatalogFile.open(f"{tmp_path}/nowhere/c.db", (FIRST,))


def test_looking_leaves_nothing_behind(tmp_path: Path) -> None:
    catalog = CatalogFile.open(f"{tmp_path}/c d.db", (FIRST,))
    catalog.write([_insert("a")])
    catalog.close()
    catalog = CatalogFile.look(f"{tmp_path}/c d.db", has_pending=False)
    assert catalog.rows("SELECT name FROM topics") == [("a",)]
    assert catalog.faults() == []
    with pytest.raises(DiskFailed, match="readonly"):
        catalog.write([_insert("b")])
    catalog.close()
    assert [p.name for p in tmp_path.iterdir()] == ["c d.db"]

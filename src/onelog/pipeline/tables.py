"""A Delta table in a folder, written without jars: its ledger, and commits that cannot pass each other.

A commit is made on the version that its writer has seen, once; when somebody else was there
first it is refused and the caller looks again. That is what makes "check the ledger, then
commit" one step. Beside Delta's own folder lies `_onelog` with what is not part of the table:
the lock, files on their way in, and the checkpoint. Delta's readers skip both.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction

from onelog.pipeline.errors import TableError
from onelog.pipeline.ledger import ENTRY_KEY, Entry
from onelog.pipeline.statistics import statistics

OWN_FOLDER = "_onelog"
# Stands in the commit that made a table; who else makes an empty table has a reason to.
_MADE_KEY = "onelog.made"
# Where the newest entry is looked for first; behind it come only commits of others (optimize).
RECENT_COMMITS = 20


class OvertakenError(Exception):
    """Somebody else committed first. Nothing was committed by us; look at the ledger again."""


class Table:
    """One table. Its state is that of the last refresh(); owned by one query, in one thread."""

    def __init__(self, path: str) -> None:
        """Open the table in that folder, or TableError."""
        self.path = Path(path)
        try:
            self.delta = DeltaTable(str(self.path))
        except (DeltaError, OSError) as error:
            raise TableError(
                f"{path}: no Delta table that can be read ({_line(error)}). Expected the folder "
                "that `onelog land --to` was given, or that stands in a flow's sink."
            ) from error
        self._seen: tuple[int, Entry | None] | None = None

    @staticmethod
    def exists(path: str) -> bool:
        """Whether a Delta table is in that folder."""
        return bool(DeltaTable.is_deltatable(path))

    @staticmethod
    def create(path: str, schema_json: str) -> "Table":
        """The table in that folder; an empty one of that schema (Spark's JSON is Delta's) if there is none."""
        Path(path).mkdir(parents=True, exist_ok=True)
        try:
            made = CommitProperties(custom_metadata={_MADE_KEY: "true"})
            DeltaTable.create(path, Schema.from_json(schema_json), mode="ignore", commit_properties=made)
        except (DeltaError, ValueError) as error:
            raise TableError(f"{path}: no table can be made there: {_line(error)}.") from error
        return Table(path)

    @property
    def columns(self) -> dict[str, str]:
        """Names and types as Delta spells them."""
        return {field.name: field.type.to_json() for field in self.delta.schema().fields}

    @property
    def is_untouched(self) -> bool:
        """Made by us, and nothing happened to it since: nothing is lost with it."""
        return self.delta.version() == 0 and _MADE_KEY in self.delta.history(1)[0]

    def remove(self) -> None:
        """Undo the making of an untouched table. What else lies in the folder stays."""
        assert self.is_untouched
        shutil.rmtree(self.path / "_delta_log")

    def refresh(self) -> None:
        """See what is there now."""
        self.delta.update_incremental()

    def last(self) -> Entry | None:
        """The newest entry of the ledger."""
        version = self.delta.version()
        if self._seen is None or self._seen[0] != version:
            found = next(self._entries(RECENT_COMMITS), None) or next(self._entries(None), None)
            self._seen = (version, found)
        return self._seen[1]

    def entries(self) -> list[Entry]:
        """All entries that the table's history still has, the oldest first."""
        return list(self._entries(None))[::-1]

    def append(self, files: Sequence[Path], entry: Entry) -> None:
        """Make those files, which lie in the folder already, part of the table, or OvertakenError."""
        actions = [self._added(file) for file in files]
        with _Overtaking():
            self.delta.create_write_transaction(
                actions, "append", self.delta.schema(), commit_properties=_properties(entry)
            )
        self._sync_commit()

    def merge(self, rows: pa.RecordBatchReader, key: Sequence[str], entry: Entry) -> None:
        """Replace the rows of the same key, add the others, or OvertakenError. Null is a value of a key."""
        same = " AND ".join(f"t.{_quoted(name)} <=> s.{_quoted(name)}" for name in key)
        merger = self.delta.merge(
            rows, same, source_alias="s", target_alias="t", commit_properties=_properties(entry)
        )
        with _Overtaking():
            merger.when_matched_update_all().when_not_matched_insert_all().execute()
        self._sync_commit()

    def _entries(self, limit: int | None) -> Iterator[Entry]:
        for commit in self.delta.history(limit):
            if ENTRY_KEY in commit:
                yield Entry.of(commit[ENTRY_KEY])

    def _added(self, file: Path) -> AddAction:
        status = file.stat()
        return AddAction(
            path=str(file.relative_to(self.path)),
            size=status.st_size,
            partition_values={},
            modification_time=status.st_mtime_ns // 1_000_000,
            data_change=True,
            stats=statistics(pq.read_metadata(file)),
        )

    def _sync_commit(self) -> None:
        # Spark notes the batch as done when we return. A power cut must not keep that note
        # and lose the commit: the next batch would find a gap.
        self.refresh()
        log = self.path / "_delta_log"
        sync(log / f"{self.delta.version():020d}.json")
        sync(log)


class Lock:
    """One writer per table on this machine; gone with the process. Others are held off by commits."""

    def __init__(self, path: str) -> None:
        folder = Path(path) / OWN_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / "lock").open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read().strip() or "another process"
            self._file.close()
            raise TableError(
                f"{path}: is being written by {holder}; expected one writer. Stop that one first."
            ) from None
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()}")
        self._file.flush()

    def release(self) -> None:
        """Let the next one in."""
        self._file.close()

    def vanish(self) -> None:
        """The same, and leave no folder behind that holds nothing else."""
        file = Path(self._file.name)
        file.unlink(missing_ok=True)
        self.release()
        for folder in (file.parent, file.parent.parent):
            if not any(folder.iterdir()):
                folder.rmdir()


class Staging:
    """Files on their way into a table: written aside, named after their batch, then moved in.

    A folder is one attempt. What a killed attempt left is known by its name and removed,
    unless the ledger says that it was committed.
    """

    def __init__(self, path: str) -> None:
        self.root = Path(path)
        self._folder = self.root / OWN_FOLDER / "staging"

    def folder(self, name: str) -> Path:
        """Where the attempt of that name writes."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder / name

    def files(self, name: str) -> list[Path]:
        """The Parquet files that the attempt has written, those without a row left out."""
        found = sorted(self.folder(name).glob("*.parquet"))
        return [file for file in found if pq.read_metadata(file).num_rows > 0]

    def moved(self, name: str) -> list[Path]:
        """The attempt's files, in the table's folder and on disk."""
        moved = []
        for number, file in enumerate(self.files(name)):
            target = self.root / f"{name}-{number:05d}.parquet"
            sync(file)
            file.rename(target)
            moved.append(target)
        sync(self.root)
        return moved

    def clear(self, name: str) -> None:
        """Forget the attempt; files that were moved in stay."""
        shutil.rmtree(self.folder(name), ignore_errors=True)

    def remove(self) -> None:
        """Forget all attempts."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def sweep(self, last: Entry | None) -> int:
        """Remove what killed attempts left; how many of their files had been moved in already."""
        removed = 0
        for folder in self._folder.glob("*"):
            if last is None or not folder.name.endswith(f"-{last.attempt}"):
                for file in self.root.glob(f"{folder.name}-*.parquet"):
                    file.unlink()
                    removed += 1
            self.clear(folder.name)
        return removed


def sync(path: Path) -> None:
    """What the file or folder holds survives a power cut from here on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _Overtaking:
    """Spells deltalake's refusal of a commit as OvertakenError."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> None:
        if isinstance(error, CommitFailedError):
            raise OvertakenError(_line(error)) from error


def _properties(entry: Entry) -> CommitProperties:
    return CommitProperties(
        custom_metadata={ENTRY_KEY: entry.text()},
        max_commit_retries=0,
        app_transactions=[Transaction(entry.app_id, entry.batch_id)],
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]

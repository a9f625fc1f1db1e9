"""Idempotent writes of a batch into a table: append or upsert, kept apart by the ledger.

The batch is computed once, into files beside the table; from there it is committed, if need
be several times over, without asking Spark again. What the ledger calls done is not written.
"""

import json
import re
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f
from pyspark.sql.types import StructField, StructType

from onelog.pipeline.errors import FlowError, TableError
from onelog.pipeline.flow import DeltaSink, Mode
from onelog.pipeline.ledger import Entry, Verdict, entry_after, judge
from onelog.pipeline.tables import Lock, OvertakenError, Staging, Table

COMMIT_ATTEMPTS_MAX = 10
_ORDER = ("_offset", "_timestamp", "_log_partition")


Rule = Callable[[Entry | None, Entry], Verdict]


@dataclass(frozen=True)
class Staged:
    """A batch that is computed and lies beside the table, under its name."""

    name: str
    row_count: int


class Sink:
    """One table with one writer, us. Owned by its query."""

    def __init__(
        self, sink: DeltaSink, schema: StructType, *, app_id: str, where: str, rule: Rule = judge
    ) -> None:
        """Open or create the table for rows of that schema, take the lock, sweep what was left."""
        self.sink = sink
        self._where = where
        self._rule = rule
        _refuse_key(sink, schema, where=where)
        self._lock = Lock(sink.path)
        with ExitStack() as undone:
            undone.callback(self._lock.release)
            self._is_new = not Table.exists(sink.path)
            self.table = Table.create(sink.path, _nullable(schema).json())
            last = self.table.last()
            _refuse_other_flow(self.table, last, app_id, where=where)
            if last is None and self.table.is_untouched and _differing(self.table, schema):
                # A flow that failed before its first commit left it, and was corrected since.
                self.table.remove()
                self._is_new = True
                self.table = Table.create(sink.path, _nullable(schema).json())
            _refuse_other_columns(self.table, schema, where=where)
            self._staging = Staging(sink.path)
            self._staging.sweep(last)
            undone.pop_all()

    def close(self) -> None:
        """Let another writer in."""
        self._lock.release()

    def undo(self) -> None:
        """close() for a sink that was never used: a table that it has made goes again."""
        self.table.refresh()
        if self._is_new and self.table.is_untouched:
            self.table.remove()
            self._staging.remove()
            self._lock.vanish()
        else:
            self.close()

    def judge(self, entry: Entry) -> Verdict:
        """Whether this batch is to be written, by what the table has now."""
        self.table.refresh()
        return self._rule(self.table.last(), entry)

    def stage(self, frame: DataFrame, entry: Entry, *, file_count: int | None = None) -> Staged:
        """Compute the batch, once."""
        name = f"{_file_name(entry.app_id)}-{entry.batch_id:010d}-{uuid.uuid4().hex[:12]}"
        if self.sink.mode is Mode.UPSERT:
            frame = _newest(frame, self.sink.key)
        if file_count is not None:
            frame = frame.coalesce(file_count)
        frame.write.parquet(str(self._staging.folder(name)))
        row_count = sum(pq.read_metadata(file).num_rows for file in self._staging.files(name))
        return Staged(name, row_count)

    def drop(self, staged: Staged) -> None:
        """Forget the batch; there is nothing to say about it."""
        self._staging.clear(staged.name)

    def commit(self, staged: Staged, entry: Entry) -> Verdict:
        """Make the batch part of the table, unless it is by now."""
        entry = replace(entry, attempt=staged.name.rpartition("-")[2])
        verdict = self._commit(staged.name, entry, staged.row_count)
        self._staging.clear(staged.name)
        return verdict

    def _commit(self, name: str, entry: Entry, row_count: int) -> Verdict:
        appended = self._staging.moved(name) if self.sink.mode is Mode.APPEND else []
        for _ in range(COMMIT_ATTEMPTS_MAX):
            after = entry_after(self.table.last(), entry)
            try:
                if self.sink.mode is Mode.APPEND or row_count == 0:
                    self.table.append(appended, after)
                else:
                    self.table.merge(self._merged(name, entry), self.sink.key, after)
                return Verdict.NEW
            except OvertakenError:
                # Perhaps a clean-up of files, perhaps another writer with this very batch.
                if self.judge(entry) is Verdict.DONE:
                    for file in appended:
                        file.unlink()
                    return Verdict.DONE
        raise TableError(
            f"{self.sink.path}: {COMMIT_ATTEMPTS_MAX} commits were overtaken by others; expected to be the "
            "only writer of rows. See who else writes there."
        )

    def _merged(self, name: str, entry: Entry) -> pa.RecordBatchReader:
        rows = ds.dataset(self._staging.files(name), format="parquet")
        repeated = _repeated(rows, self.sink.key)
        if repeated:
            raise TableError(
                f"{self._where}, batch {entry.batch_id}: {repeated} rows share their key "
                f"({', '.join(self.sink.key)}) with another; expected one row a key. Add what tells them apart."
            )
        return rows.scanner().to_reader()


def _newest(frame: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """Of rows with one key the last record's, where the rows still say which record they are of.

    Records of one key lie in one partition, so the offset is their order; an aggregate has no
    offset and one row a key by itself.
    """
    if not set(_ORDER) <= set(frame.columns):
        return frame
    window = Window.partitionBy(*key).orderBy(*(f.col(name).desc() for name in _ORDER))
    return frame.withColumn("_rank", f.row_number().over(window)).where("_rank = 1").drop("_rank")


def _repeated(rows: ds.Dataset, key: tuple[str, ...]) -> int:
    """How many rows are not the first of their key. Arrow groups by plain columns, so structs are spread."""
    keys = rows.to_table(columns=list(key))
    while any(pa.types.is_struct(field.type) for field in keys.schema):
        keys = keys.flatten()
    grouped = keys.group_by(keys.column_names, use_threads=False).aggregate([])
    return int(keys.num_rows - grouped.num_rows)


def _refuse_key(sink: DeltaSink, schema: StructType, *, where: str) -> None:
    for name in sink.key:
        if name not in schema.names:
            raise FlowError(f"{where}: key {name!r}; expected some of {', '.join(schema.names)}.")


def _refuse_other_flow(table: Table, last: Entry | None, app_id: str, *, where: str) -> None:
    if last is not None and last.app_id != app_id:
        topics = ", ".join(sorted({partition.topic for partition in last.claims}))
        raise TableError(
            f"{where}: {table.path} belongs to the flow {last.app_id.partition('/')[2]!r} ({last.app_id}, "
            f"topic {topics}); expected a table of {app_id}. Give each flow its own table."
        )


def _refuse_other_columns(table: Table, schema: StructType, *, where: str) -> None:
    facts = _differing(table, schema)
    if facts:
        raise TableError(
            f"{where}: the rows do not fit {table.path}: {'; '.join(facts)}. "
            "Give the changed flow a table of its own."
        )


def _differing(table: Table, schema: StructType) -> list[str]:
    """Where rows of that schema do not fit the table, column by column."""
    found = {f.name: f.dataType.simpleString() for f in schema.fields}
    has = {f.name: f.dataType.simpleString() for f in _spark_schema(table).fields}
    return [
        f"{name} is {found.get(name, 'not there')}, in the table {has.get(name, 'not there')}"
        for name in sorted(found.keys() | has.keys())
        if found.get(name) != has.get(name)
    ]


def _spark_schema(table: Table) -> StructType:
    return StructType.fromJson(json.loads(table.delta.schema().to_json()))


def _nullable(schema: StructType) -> StructType:
    return StructType([StructField(f.name, f.dataType, True) for f in schema.fields])


def _file_name(app_id: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "-", app_id)

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onelog.pipeline.errors import TableError
from onelog.pipeline.ledger import Entry, Partition, Range
from onelog.pipeline.tables import Lock, OvertakenError, Staging, Table

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "id", "type": "long", "nullable": True, "metadata": {}},
            {"name": "what", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
)


def entry(batch: int) -> Entry:
    return Entry("onelog/t", "q", batch, f"{batch:012d}", {Partition("t", 0): Range(batch, batch + 1)})


def rows(*ids: int | None, what: str = "x") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "what": [what] * len(ids)})


def appended(table: Table, batch: int, *ids: int) -> None:
    file = table.path / f"f{batch}.parquet"
    pq.write_table(rows(*ids), file)
    table.append([file], entry(batch))


def content(path: Path) -> list[tuple[int | None, str]]:
    found = Table(str(path)).delta.to_pyarrow_dataset().to_table().to_pylist()
    return sorted(((r["id"], r["what"]) for r in found), key=str)


def test_what_is_appended_is_there_with_its_entry(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path), SCHEMA)
    assert table.last() is None
    appended(table, 0, 1, 2)
    appended(table, 1, 3)
    assert content(tmp_path) == [(1, "x"), (2, "x"), (3, "x")]
    assert Table(str(tmp_path)).last() == entry(1)
    assert Table(str(tmp_path)).entries() == [entry(0), entry(1)]
    assert table.delta.transaction_version("onelog/t") == 1


def test_a_merge_replaces_rows_of_the_same_key_and_null_is_one(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path), SCHEMA)
    table.merge(rows(1, None).to_reader(), ["id"], entry(0))
    table.merge(rows(1, None, 2, what="y").to_reader(), ["id"], entry(1))
    assert content(tmp_path) == [(1, "y"), (2, "y"), (None, "y")]
    assert table.last() == entry(1)


def test_a_commit_on_an_older_version_is_refused_whoever_was_first(tmp_path: Path) -> None:
    one = Table.create(str(tmp_path), SCHEMA)
    other = Table(str(tmp_path))
    appended(one, 0, 1)
    with pytest.raises(OvertakenError):
        appended(other, 1, 2)
    with pytest.raises(OvertakenError):
        other.merge(rows(1).to_reader(), ["id"], entry(1))
    other.refresh()
    appended(other, 1, 2)
    assert len(content(tmp_path)) == 2


def test_the_entry_is_found_behind_commits_of_others(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path), SCHEMA)
    appended(table, 0, 1)
    appended(table, 1, 2)
    table.delta.optimize.compact()
    table.refresh()
    assert table.last() == entry(1)


def test_a_folder_without_a_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no Delta table that can be read"):
        Table(str(tmp_path / "none"))
    assert not Table.exists(str(tmp_path))


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    first = Lock(str(tmp_path))
    with pytest.raises(TableError, match=r"is being written by process \d+"):
        Lock(str(tmp_path))
    first.release()
    Lock(str(tmp_path)).release()


def test_leftovers_of_a_killed_attempt_go_and_committed_files_stay(tmp_path: Path) -> None:
    staging = Staging(str(tmp_path))
    for attempt, name in (("a" * 12, "f-0-aaaaaaaaaaaa"), ("b" * 12, "f-1-bbbbbbbbbbbb")):
        staging.folder(name).mkdir()
        pq.write_table(rows(1), staging.folder(name) / "part-0.parquet")
        assert staging.moved(name) == [tmp_path / f"{name}-00000.parquet"]
        assert attempt in name
    staging.folder("f-2-cccccccccccc").mkdir()
    committed = Entry("onelog/t", "q", 0, "a" * 12, {})
    assert staging.sweep(committed) == 1
    assert [file.name for file in tmp_path.glob("*.parquet")] == ["f-0-aaaaaaaaaaaa-00000.parquet"]
    assert list((tmp_path / "_onelog" / "staging").iterdir()) == []


def test_files_without_rows_do_not_enter(tmp_path: Path) -> None:
    staging = Staging(str(tmp_path))
    staging.folder("f").mkdir()
    pq.write_table(rows(), staging.folder("f") / "part-0.parquet")
    assert staging.files("f") == []

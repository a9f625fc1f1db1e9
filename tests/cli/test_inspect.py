"""`onelog inspect` over real directories and files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onelog.cli.main import main
from onelog.storage.commit_log import CommitLogSettings
from onelog.storage.disk import RealDisk
from onelog.storage.frames import Entry
from onelog.storage.store import Store
from tests.support.small_logs import TOPIC_ID, batch_of, keep, open_log, recover, write

SIZE = batch_of("0", producer_id=7, producer_epoch=0, base_sequence=0).size


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A log whose writer is still there."""
    path = tmp_path / "data"
    store = Store.open(RealDisk(), str(path), migrations=())
    recover(store, {}, settings=CommitLogSettings(file_bytes=1 << 20))
    log = open_log(store)
    for number in range(12):
        batch = batch_of(
            str(number), timestamp_ms=1000 + number, producer_id=7, producer_epoch=0, base_sequence=number
        )
        log.append([batch], leader_epoch=3, now_ms=0)
        write(log)
    keep(store, log)
    (pending,) = log.append([batch_of("12", "13")], leader_epoch=3, now_ms=0).buffers  # type: ignore[union-attr]  # new
    store.commit_log.write([Entry(log.key, 12, 14, [pending], len(pending))])
    yield path
    store.close()


def _objects(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["inspect", *words, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_of_a_data_directory_the_logs_are_shown(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = _objects(capsys, str(data))
    assert found == {
        "directory": "orders-0",
        "topic": "orders",
        "partition": 0,
        "role": "live",
        "topic_id": str(TOPIC_ID),
        "segments": 3,
        "first": 0,
        "end": 12,
        "bytes": 12 * SIZE + 2,
        "pending": 2,
    }


def test_of_the_root_each_log_s_row_is_shown(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = _objects(capsys, f"{data}/onelog.ends")
    assert (row["topic_id"], row["partition"]) == (str(TOPIC_ID), 0)
    assert (row["active"], row["length"], row["next"]) == (10, 2 * SIZE + 2, 12)
    assert (row["refused"], row["clean"], row["first_frame"]) == (False, False, 4096)


def test_of_a_commit_log_file_what_each_frame_has_is_shown(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = _objects(capsys, f"{data}/onelog.commit.0")
    assert (row["position"], row["lsn"], row["epoch"]) == (4096, 4096, "0000000000000001")
    assert (row["topic_id"], row["first"], row["end"]) == (str(TOPIC_ID), 12, 14)


def test_a_directory_that_a_start_would_refuse_is_shown_and_the_reason_said(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "onelog.commit.0").unlink()
    assert main(["inspect", str(data), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["pending"] == 0
    assert "no commit log file of epoch" in said.err


def test_of_a_log_the_segments_are_shown(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _objects(capsys, f"{data}/orders-0/")
    assert [(s["first"], s["end"]) for s in found] == [(0, 5), (5, 10), (10, 12)]
    assert found[0]["newest_ms"] == 1004
    assert {s["bytes_not_whole"] for s in found} == {0}


def test_what_is_just_being_written_is_counted_apart(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (data / "orders-0" / f"{10:020d}.log").open("ab") as file:
        file.write(b"half")
    assert _objects(capsys, f"{data}/orders-0")[-1]["bytes_not_whole"] == 4


def test_of_a_segment_batches_are_shown(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _objects(capsys, f"{data}/orders-0/{5:020d}.log", "--batches")
    assert [b["first"] for b in found] == [5, 6, 7, 8, 9]
    assert [b["position"] for b in found] == [n * SIZE for n in range(5)]
    assert found[0] == {
        "first": 5,
        "last": 5,
        "position": 0,
        "bytes": SIZE,
        "records": 1,
        "codec": "none",
        "time": "create_time",
        "newest_ms": 1005,
        "leader_epoch": 3,
        "producer": 7,
        "epoch": 0,
        "sequence": 5,
        "transactional": False,
        "control": False,
        "checksum": "right",
    }


def test_a_wrong_checksum_is_said(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data / "orders-0" / f"{5:020d}.log"
    content = bytearray(path.read_bytes())
    content[SIZE - 2] ^= 1
    path.write_bytes(content)
    assert [b["checksum"] for b in _objects(capsys, str(path), "--batches")][:2] == ["wrong", "right"]


def test_of_a_log_all_records_are_shown(data: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["inspect", f"{data}/orders-0", "--records", "--json"]) == 0
    found = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [(r["topic"], r["partition"], r["offset"], r["value"]) for r in found] == [
        ("orders", 0, n, str(n)) for n in range(12)
    ]


def test_records_are_readable_for_people(data: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["inspect", f"{data}/orders-0/{0:020d}.log", "--records"]) == 0
    assert capfdbinary.readouterr().out.splitlines()[1].startswith(b"orders/0  1  1970-01-01T00:00:01.001Z")


def test_indexes_and_snapshots_are_shown(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = f"{data}/orders-0/{0:020d}"
    assert _objects(capsys, f"{base}.index") == [
        {"offset": 2, "position": 2 * SIZE},
        {"offset": 4, "position": 4 * SIZE},
    ]
    assert _objects(capsys, f"{base}.timeindex") == [
        {"timestamp_ms": 1002, "offset": 2},
        {"timestamp_ms": 1004, "offset": 4},
    ]
    (producer,) = _objects(capsys, f"{data}/orders-0/{5:020d}.snapshot")
    assert producer == {"producer": 7, "epoch": 0, "last_sequence": 4, "last_offset": 4, "heard_ms": 0}


def test_for_people_there_are_tables(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(data)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:4] == ["DIRECTORY", "TOPIC", "PARTITION", "ROLE"]
    assert row.split()[:4] == ["orders-0", "orders", "0", "live"]


@pytest.mark.parametrize("name", ["nothing", "orders-0/partition.metadata", "orders-0/x.log", "empty"])
def test_what_cannot_be_shown_is_said(data: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (data / "orders-0" / "x.log").touch()
    (data / "empty").mkdir()
    assert main(["inspect", f"{data}/{name}"]) == 1
    assert name.rpartition("/")[2] in capsys.readouterr().err


def test_a_file_that_may_only_be_read_is_enough(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data / "orders-0" / f"{0:020d}.log"
    path.chmod(0o444)
    assert len(_objects(capsys, str(path), "--batches")) == 5

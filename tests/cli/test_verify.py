"""`onelog verify` over real directories."""

import shutil
import sys
from pathlib import Path
from uuid import UUID

import pytest

from onelog.broker.catalog import MIGRATIONS
from onelog.broker.topics.rows import statements
from onelog.broker.topics.state import Created, Deleted
from onelog.broker.values import Topic
from onelog.cli.main import main
from onelog.model import TopicName
from onelog.storage.commit_log import CommitLogSettings
from onelog.storage.disk import RealDisk
from onelog.storage.frames import Entry
from onelog.storage.log import Appended
from onelog.storage.recovery import LogFacts
from onelog.storage.store import Store
from tests.support.small_logs import KEY, SMALL, TOPIC_ID, batch_of, fill, keep, open_log, recover

TOPIC = Topic(TopicName("orders"), TOPIC_ID, 2, {})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One topic of two partitions, one of them never written to; stopped cleanly."""
    path = tmp_path / "data"
    store = Store.open(RealDisk(), str(path), migrations=MIGRATIONS)
    store.catalog.write(statements(Created(TOPIC)))
    recover(store, {}, settings=CommitLogSettings(file_bytes=1 << 20))
    log = open_log(store)
    fill(log, 20)
    keep(store, log)
    log.close()
    store.close(at_rest=[log])
    return path


def _pending(data: Path, *values: str) -> None:
    """A broker has started here, taken these records, and was killed."""
    store = Store.open(RealDisk(), str(data), migrations=MIGRATIONS)
    recover(
        store,
        {KEY: LogFacts("orders", SMALL)},
        settings=CommitLogSettings(file_bytes=1 << 20),
        epochs=frozenset({1}),
    )
    log = open_log(store)
    for value in values:
        appended = log.append([batch_of(value)], leader_epoch=0, now_ms=0)
        assert isinstance(appended, Appended)
        size = len(appended.buffers[0])
        store.commit_log.write([Entry(KEY, appended.base, appended.next, appended.buffers, size)])
    store.close()


def test_what_is_in_the_commit_log_only_is_a_note(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _pending(data, "a", "b")
    assert main(["verify", str(data)]) == 0
    assert "orders-0: offsets 20 to 22 are in the commit log only" in capsys.readouterr().err


def test_leftovers_are_notes(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _pending(data)
    active = max((data / "orders-0").glob("*.log"))
    with active.open("ab") as file:
        file.write(b"left")
    (data / "orders-0" / f"{99:020d}.log").write_bytes(b"newer")
    assert main(["verify", str(data)]) == 0
    notes = capsys.readouterr().err
    assert "4 bytes left over; the next start cuts them" in notes
    assert "99.log: nothing speaks of it" in notes


def test_settled_bytes_that_are_missing_are_a_finding(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    active = max((data / "orders-0").glob("*.log"))
    active.write_bytes(active.read_bytes()[:-1])
    assert main(["verify", str(data)]) == 1
    assert "at least, which were synced" in capsys.readouterr().out
    active.unlink()
    assert main(["verify", str(data)]) == 1
    assert "no file; expected" in capsys.readouterr().out


def test_a_root_or_commit_log_that_a_start_would_refuse_is_a_finding(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _pending(data, "a")
    for path in data.glob("onelog.commit.*"):
        path.unlink()
    assert main(["verify", str(data)]) == 1
    assert "no commit log file of epoch" in capsys.readouterr().out
    (data / "onelog.ends").write_bytes(b"torn")
    assert main(["verify", str(data)]) == 1
    assert "whose checksum is not right" in capsys.readouterr().out


def test_a_sound_directory_ends_with_0_and_in_silence(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {p: p.read_bytes() for p in data.rglob("*") if p.is_file()}
    assert main(["verify", str(data)]) == 0
    assert capsys.readouterr() == ("", "")
    assert {p: p.read_bytes() for p in data.rglob("*") if p.is_file()} == before


def test_a_person_is_told_how_much_was_looked_at(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["verify", str(data)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "20 batches" in said.err
    assert "no findings" in said.err


def test_findings_are_lines_and_the_code_is_1(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = data / "orders-0" / f"{0:020d}.log"
    content = bytearray(segment.read_bytes())
    content[-1] ^= 1
    segment.write_bytes(content)
    (data / f"gone-1.{TOPIC_ID.hex}-stray").mkdir()
    assert main(["verify", str(data)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any("a checksum that does not match" in line for line in lines)
    assert any("a directory that belongs to no topic" in line for line in lines)


def test_a_lost_directory_is_found(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store.open(RealDisk(), str(data), migrations=MIGRATIONS)
    store.catalog.write([("UPDATE partitions SET log_start = 3 WHERE partition = 1", ())])
    store.close()
    assert main(["verify", str(data)]) == 1
    assert f"no directory of topic {TOPIC_ID}; expected segments up to 3." in capsys.readouterr().out


def test_what_the_next_start_removes_is_a_note(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store.open(RealDisk(), str(data), migrations=MIGRATIONS)
    store.catalog.write(statements(Deleted(TOPIC)))
    store.close()
    (data / "half-0").mkdir()
    assert main(["verify", str(data)]) == 0
    notes = capsys.readouterr().err
    assert "orders-0: of a deleted topic" in notes
    assert "half-0: half-made" in notes


def test_a_directory_of_another_topic_is_found(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store.open(RealDisk(), str(data), migrations=MIGRATIONS)
    store.catalog.write([("UPDATE topics SET id = ?", (str(UUID(int=9)),))])
    store.close()
    assert main(["verify", str(data)]) == 1
    assert "orders-0: a directory that belongs to no topic" in capsys.readouterr().out


def test_what_the_catalogs_log_holds_after_a_crash_counts(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(RealDisk(), str(data), migrations=MIGRATIONS)
    store.catalog.write([("UPDATE partitions SET log_start = 3 WHERE partition = 1", ())])
    copy = data.parent / "copy"
    shutil.copytree(data, copy)
    store.close()
    assert (copy / "onelog.db-wal").stat().st_size
    assert main(["verify", str(copy)]) == 1
    assert "expected segments up to 3." in capsys.readouterr().out


def test_while_a_broker_runs_it_says_why_not(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store.open(RealDisk(), str(data), migrations=MIGRATIONS)
    assert main(["verify", str(data)]) == 1
    assert "has the directory open" in capsys.readouterr().err
    store.close()


def test_another_directory_is_not_one_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path)]) == 1
    assert "expected a data directory of onelog" in capsys.readouterr().err


def test_a_broken_catalog_is_a_finding(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "onelog.db").write_bytes(b"broken" * 2000)
    assert main(["verify", str(data)]) == 1
    assert "expected a SQLite file" in capsys.readouterr().out

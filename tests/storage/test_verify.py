"""Everything that should not be in a log's directory is found, and nothing else."""

from random import Random

import pytest

from onelog.storage import layout
from onelog.storage.log import LogSettings
from onelog.storage.verify import Verdict, check_log
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import (
    ROOT,
    aborting,
    batch_of,
    fill,
    in_transaction,
    open_log,
    open_store,
    write,
)

DIRECTORY = f"{ROOT}/orders-0"


@pytest.fixture
def disk() -> SimulatedDisk:
    """A log of several segments, after a clean stop."""
    disk = SimulatedDisk(Random(0))
    store = open_store(disk)
    log = open_log(store)
    for sequence in range(12):
        batch = batch_of("x", timestamp_ms=sequence, producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append([batch], leader_epoch=0, now_ms=0)
        write(log)
    log.close()
    store.close()
    return disk


def _checked(disk: SimulatedDisk, *, start: int = 0, was_clean: bool = True) -> Verdict:
    verdict = Verdict()
    check_log(disk, DIRECTORY, start=start, was_clean=was_clean, verdict=verdict)
    return verdict


def _names(disk: SimulatedDisk, suffix: str) -> list[str]:
    return [f"{DIRECTORY}/{name}" for name in disk.names(DIRECTORY) if name.endswith(suffix)]


def _change(disk: SimulatedDisk, path: str, position: int) -> None:
    file = disk.open(path)
    position %= file.size()
    file.write_at(position, [bytes([file.pread(position, 1)[0] ^ 1])])


def test_a_log_as_we_write_it_has_no_findings(disk: SimulatedDisk) -> None:
    verdict = _checked(disk)
    assert (verdict.findings, verdict.notes) == ([], [])
    assert (verdict.segments, verdict.batches) == (len(_names(disk, ".log")), 12)
    assert verdict.bytes == 12 * batch_of("x").size


@pytest.mark.parametrize(
    ("suffix", "number", "position", "said"),
    [
        (".log", 0, 100, "a checksum that does not match"),
        (".log", 0, 7, "base offset 1; expected 0"),
        (".log", 1, 7, "base offset"),
        (".log", 0, 16, "bytes that are no whole batch in order"),
        (".index", 0, 3, "entry 0 says that the batch of offset"),
        (".index", 0, 7, "begins at byte"),
        (".timeindex", 0, 7, "is the first of"),
        (".timeindex", 0, -1, "is the first of"),
        (".snapshot", 1, 12, "a checksum or form that is not right"),
    ],
)
def test_a_changed_byte_is_found(
    disk: SimulatedDisk, suffix: str, number: int, position: int, said: str
) -> None:
    _change(disk, _names(disk, suffix)[number], position)
    assert any(said in finding for finding in _checked(disk).findings)


def test_a_missing_segment_is_found(disk: SimulatedDisk) -> None:
    disk.unlink(_names(disk, ".log")[1])
    assert any("where the one before ends" in f for f in _checked(disk).findings)
    disk.unlink(_names(disk, ".log")[0])
    assert any("log start 0 among them" in f for f in _checked(disk).findings)


def test_a_log_without_segments_must_begin_at_zero(disk: SimulatedDisk) -> None:
    for path in _names(disk, ".log"):
        disk.unlink(path)
    assert _checked(disk).findings == []
    assert _checked(disk, start=4).findings == [f"{DIRECTORY}: no segment; expected segments up to offset 4."]


def test_a_missing_index_is_a_note(disk: SimulatedDisk) -> None:
    disk.unlink(_names(disk, ".index")[0])
    verdict = _checked(disk)
    assert verdict.findings == []
    assert "made again" in verdict.notes[0]


def test_a_torn_end_after_a_crash_is_a_note_and_after_a_clean_stop_a_finding(disk: SimulatedDisk) -> None:
    active = _names(disk, ".log")[-1]
    disk.open(active).write_at(disk.open(active).size(), [b"torn"])
    crashed = _checked(disk, was_clean=False)
    assert crashed.findings == []
    assert crashed.notes[0].endswith("4 bytes that are no whole batch in order; the next start cuts them.")
    assert len(_checked(disk, was_clean=True).findings) == 1


def test_segments_below_the_start_are_a_note(disk: SimulatedDisk) -> None:
    second = layout.segment_of(_names(disk, ".log")[1].rpartition("/")[2])
    assert second is not None
    verdict = _checked(disk, start=second[0])
    assert verdict.findings == []
    assert "below the log's start" in verdict.notes[0]


def test_indexes_of_odd_length_are_found(disk: SimulatedDisk) -> None:
    path = _names(disk, ".index")[0]
    disk.open(path).write_at(disk.open(path).size(), [b"x"])
    assert any("entries of 8 bytes" in f for f in _checked(disk).findings)


def test_a_log_that_still_runs_over_is_read_to_its_end(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk))
    fill(log, 3, first=12)
    assert _checked(disk, was_clean=False).findings == []


def _transactional() -> SimulatedDisk:
    """An aborted transaction over three segments, after a clean stop."""
    disk = SimulatedDisk(Random(0))
    store = open_store(disk)
    log = open_log(store, settings=LogSettings(segment_bytes=1))
    for batch in (in_transaction("a"), batch_of("b"), aborting(), batch_of("c")):
        log.append([batch], leader_epoch=0, now_ms=0)
    write(log)
    log.close()
    store.close()
    return disk


def test_an_aborted_transaction_is_where_its_marker_says() -> None:
    disk = _transactional()
    assert _checked(disk).findings == []
    (path,) = _names(disk, ".txnindex")
    disk.open(path).truncate(0)
    assert ["0 aborted transactions" in finding for finding in _checked(disk).findings] == [True]
    disk.open(path).write_at(0, [b"x" * 34])
    assert ["of another form" in finding for finding in _checked(disk).findings] == [True]


def test_a_hole_is_a_finding_but_in_a_log_that_was_compacted(disk: SimulatedDisk) -> None:
    disk.unlink(_names(disk, ".log")[1])
    findings = _checked(disk).findings
    assert ["where the one before ends" in finding for finding in findings] == [True]
    disk.open(f"{DIRECTORY}/{layout.COMPACTED}", create=True)
    assert _checked(disk).findings == []

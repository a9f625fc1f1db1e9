"""What a log's directory holds when no root speaks of it: believed, cut, or refused."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.errors import OutOfOrderSequence
from onelog.storage import standing
from onelog.storage.log import Appended, LogSettings, PartitionLog, Repeated
from onelog.storage.segment import LogRefused
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import (
    ROOT,
    SMALL,
    adopted,
    batch_of,
    fill,
    job_of,
    open_log,
    open_store,
    read_all,
    write,
)

ONE = LogSettings()
SIZE = batch_of("0").size
FIRST = f"{ROOT}/orders-0/{0:020d}.log"


def _after_a_kill(disk: SimulatedDisk, *, config: LogSettings = ONE, start: int = 0) -> PartitionLog:
    disk.kill()
    return adopted(disk, settings=config, start=start)[0]


def _filled(count: int = 5, *, config: LogSettings = ONE) -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    fill(open_log(open_store(disk), settings=config), count)
    return disk


def _stopped_cleanly(count: int = 5, *, config: LogSettings = ONE) -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    store = open_store(disk)
    log = open_log(store, settings=config)
    fill(log, count)
    log.close()
    store.close()
    return disk


def _after_a_clean_stop(disk: SimulatedDisk) -> PartitionLog:
    return adopted(disk, settings=ONE, was_clean=True)[0]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_what_is_no_batch_behind_the_last_one_is_cut_and_counted(torn: bytes) -> None:
    disk = _filled()
    disk.open(FIRST).write_at(5 * SIZE, [torn])
    disk.kill()
    log, bytes_cut = adopted(disk, settings=ONE)
    assert read_all(log) == ["0", "1", "2", "3", "4"]
    assert bytes_cut == len(torn)
    assert disk.open(FIRST).size() == 5 * SIZE


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5 * SIZE - 1), st.integers(1, 255))
def test_a_changed_byte_cuts_at_its_batch(position: int, change: int) -> None:
    disk = _filled()
    byte = disk.open(FIRST).pread(position, 1)[0]
    disk.open(FIRST).write_at(position, [bytes([byte ^ change])])
    # A leader epoch that only grew is one that could be.
    if 12 <= position % SIZE < 16:
        return
    log = _after_a_kill(disk)
    assert read_all(log) == [str(n) for n in range(position // SIZE)]


def test_a_tear_within_the_base_offset_is_seen_by_its_order() -> None:
    disk = _filled()
    disk.open(FIRST).write_at(3 * SIZE, [bytes(8)])
    assert read_all(_after_a_kill(disk)) == ["0", "1", "2"]


def test_a_tear_within_the_leader_epoch_is_seen_when_it_falls() -> None:
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk), settings=ONE)
    for value in ("0", "1"):
        log.append([batch_of(value)], leader_epoch=9, now_ms=0)
    write(log)
    disk.open(FIRST).write_at(SIZE + 12, [bytes(4)])
    assert read_all(_after_a_kill(disk)) == ["0"]


def test_what_was_recovered_and_served_survives_a_power_cut() -> None:
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk), settings=ONE)
    fill(log, 2)
    log.append([batch_of("2")], leader_epoch=0, now_ms=0)
    job = job_of(log)
    assert job is not None
    # Written, not synced, when the process is killed.
    piece = job.pieces[0]
    disk.open(FIRST).write_at(piece.position, piece.buffers)
    assert read_all(_after_a_kill(disk)) == ["0", "1", "2"]
    disk.power_cut()
    assert read_all(_after_a_kill(disk)) == ["0", "1", "2"]


def test_recovering_twice_gives_equal_bytes() -> None:
    disk = _filled()
    disk.open(FIRST).write_at(5 * SIZE, [b"\0" * 77])
    _after_a_kill(disk)
    once = disk.open(FIRST).pread(0, 10_000)
    _after_a_kill(disk)
    assert disk.open(FIRST).pread(0, 10_000) == once


def test_appends_go_on_behind_what_was_kept() -> None:
    disk = _filled(10, config=SMALL)
    log = _after_a_kill(disk, config=SMALL)
    fill(log, 10, first=10)
    assert read_all(log) == [str(n) for n in range(20)]
    assert read_all(_after_a_kill(disk, config=SMALL)) == [str(n) for n in range(20)]


def test_after_a_clean_stop_nothing_is_cut_but_a_difference_is_refused() -> None:
    assert read_all(_after_a_clean_stop(_stopped_cleanly())) == ["0", "1", "2", "3", "4"]
    disk = _stopped_cleanly()
    disk.open(FIRST).write_at(5 * SIZE, [b"junk"])
    with pytest.raises(LogRefused, match=f"at byte {5 * SIZE}: no whole batch in order"):
        _after_a_clean_stop(disk)


def test_after_a_clean_stop_checksums_are_not_computed_again() -> None:
    disk = _stopped_cleanly()
    disk.open(FIRST).write_at(SIZE - 1, [b"\x01"])
    assert _after_a_clean_stop(disk).marks.durable == 5


def test_a_gap_between_segments_is_refused() -> None:
    disk = _filled(12, config=SMALL)
    names = [n for n in disk.names(f"{ROOT}/orders-0") if n.endswith(".log")]
    disk.unlink(f"{ROOT}/orders-0/{names[1]}")
    with pytest.raises(LogRefused, match="no whole batch; expected batches up to"):
        _after_a_kill(disk, config=SMALL)


def test_damage_in_a_sealed_segment_is_refused_not_cut() -> None:
    disk = _filled(12, config=SMALL)
    size = disk.open(FIRST).size()
    disk.open(FIRST).truncate(size - 1)
    with pytest.raises(LogRefused, match="no whole batch"):
        _after_a_kill(disk, config=SMALL)


@pytest.mark.parametrize("start", [1, 6])
def test_a_log_that_lost_its_files_is_refused(start: int) -> None:
    disk = SimulatedDisk(Random(0))
    with pytest.raises(LogRefused, match="found no directory; expected segments up to offset"):
        adopted(disk, start=start)
    disk = _filled()
    disk.unlink(FIRST)
    with pytest.raises(LogRefused, match="found no segment"):
        _after_a_kill(disk, start=start)


def test_a_start_beyond_the_end_is_refused() -> None:
    with pytest.raises(LogRefused, match="found offsets 0 to 5; expected offset 6"):
        _after_a_kill(_filled(), start=6)


def test_segments_below_the_start_are_forgotten_whichever_are_left() -> None:
    disk = _filled(20, config=SMALL)
    names = [n for n in disk.names(f"{ROOT}/orders-0") if n.endswith(".log")]
    disk.unlink(f"{ROOT}/orders-0/{names[1]}")
    start = int(names[2][:20])
    log = _after_a_kill(disk, config=SMALL, start=start)
    assert read_all(log) == [str(n) for n in range(start, 20)]
    assert [n for n in disk.names(f"{ROOT}/orders-0") if n.endswith(".log")] == names[2:]


def test_files_beside_a_segment_that_is_gone_already_go_too() -> None:
    disk = _filled(20, config=SMALL)
    directory = f"{ROOT}/orders-0"
    bases = [int(n[:20]) for n in disk.names(directory) if n.endswith(".log")]
    for base in bases[:2]:
        disk.unlink(f"{directory}/{base:020d}.log")
    _after_a_kill(disk, config=SMALL, start=bases[2])
    left = [n for n in disk.names(directory) if n != "partition.metadata"]
    assert {int(n[:20]) for n in left} == set(bases[2:])


def test_a_half_made_directory_is_an_empty_log() -> None:
    disk = SimulatedDisk(Random(0))
    disk.make_dir(f"{ROOT}/orders-0")
    log = open_log(open_store(disk))
    fill(log, 2)
    assert read_all(_after_a_kill(disk)) == ["0", "1"]


def test_an_empty_newer_segment_becomes_the_active_one() -> None:
    disk = _filled(3)
    disk.open(f"{ROOT}/orders-0/{3:020d}.log", create=True)
    log = _after_a_kill(disk)
    assert [s.base_offset for s in log.segments()] == [0, 3]
    fill(log, 1, first=3)
    assert read_all(log) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("with_snapshots", [True, False])
def test_producers_are_derived_from_the_log(with_snapshots: bool) -> None:
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk))
    batches = [batch_of("a", "b", producer_id=7, producer_epoch=1, base_sequence=2 * n) for n in range(20)]
    for batch in batches:
        log.append([batch], leader_epoch=0, now_ms=0)
    write(log)
    if not with_snapshots:
        for name in disk.names(f"{ROOT}/orders-0"):
            if name.endswith(".snapshot"):
                disk.unlink(f"{ROOT}/orders-0/{name}")
    log = _after_a_kill(disk, config=SMALL)
    for n in range(15, 20):
        assert log.append([batches[n]], leader_epoch=0, now_ms=0) == Repeated(2 * n, 2 * n + 2, -1)
    with pytest.raises(OutOfOrderSequence):
        log.append([batches[14]], leader_epoch=0, now_ms=0)
    following = batch_of("c", producer_id=7, producer_epoch=1, base_sequence=40)
    assert isinstance(log.append([following], leader_epoch=0, now_ms=0), Appended)


@pytest.fixture
def _little_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "WALKED_BYTES_MIN", 1000)


@pytest.mark.usefixtures("_little_is_walked")
def test_all_five_batches_of_a_producer_are_known_though_much_was_written_since() -> None:
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk))
    batches = [batch_of("a", producer_id=7, producer_epoch=1, base_sequence=n) for n in range(6)]
    for batch in batches:
        log.append([batch], leader_epoch=0, now_ms=0)
        write(log)
    fill(log, 60)
    log = _after_a_kill(disk, config=SMALL)
    for n in range(1, 6):
        assert log.append([batches[n]], leader_epoch=0, now_ms=0) == Repeated(n, n + 1, -1)
    with pytest.raises(OutOfOrderSequence):
        log.append([batches[0]], leader_epoch=0, now_ms=0)


@pytest.mark.usefixtures("_little_is_walked")
def test_what_a_producer_has_sent_last_is_known_though_all_that_came_after_was_lost() -> None:
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk))
    batches = [batch_of("a", producer_id=7, producer_epoch=1, base_sequence=n) for n in range(12)]
    for batch in batches[:6]:
        log.append([batch], leader_epoch=0, now_ms=0)
    fill(log, 1)
    # One job: much of others, then the producer's; the power goes before those are there.
    for number in range(60):
        log.append([batch_of(str(number))], leader_epoch=0, now_ms=0)
    for batch in batches[6:]:
        log.append([batch], leader_epoch=0, now_ms=0)
    job = job_of(log)
    assert job is not None
    del job.pieces[-3:]
    job.run()
    log = _after_a_kill(disk, config=SMALL)
    assert log.marks.durable < 67
    assert log.append([batches[5]], leader_epoch=0, now_ms=0) == Repeated(5, 6, -1)
    assert isinstance(log.append([batches[6]], leader_epoch=0, now_ms=0), Appended)


def test_a_producer_is_known_though_all_its_batches_are_gone() -> None:
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk))
    batch = batch_of("a", producer_id=7, producer_epoch=1, base_sequence=0)
    log.append([batch], leader_epoch=0, now_ms=0)
    write(log)
    log.ask_to_roll(0)
    write(log)
    log.raise_start(1)
    log.remove_segments().run()
    log = _after_a_kill(disk, start=1)
    assert log.append([batch], leader_epoch=0, now_ms=0) == Repeated(0, 1, -1)

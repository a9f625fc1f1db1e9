"""Which bytes go to which segment, and in which order they get there."""

from random import Random

import pytest

from onelog.storage.log import LogSettings, PartitionLog
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import (
    ROOT,
    adopted,
    batch_of,
    fill,
    job_of,
    open_log,
    open_store,
    read_all,
    write,
)


class WatchedDisk(SimulatedDisk):
    """Writes down what it is asked to do to a log's directory."""

    def __init__(self) -> None:
        super().__init__(Random(0))
        self.asked: list[str] = []

    def step(self, path: str, doing: str, *, size: int) -> int:
        self.asked.append(f"{doing} {path.removeprefix(ROOT + '/')}")
        return super().step(path, doing, size=size)


@pytest.fixture
def disk() -> WatchedDisk:
    return WatchedDisk()


def _log(disk: SimulatedDisk, **settings: int) -> PartitionLog:
    return open_log(open_store(disk), settings=LogSettings(**settings))


def _bases(log: PartitionLog) -> list[int]:
    return [s.base_offset for s in log.segments()]


def test_a_first_write_makes_everything_durable_from_the_outside_in(disk: WatchedDisk) -> None:
    log = _log(disk)
    disk.asked.clear()
    fill(log, 1)
    first = f"orders-0/{0:020d}.log"
    assert disk.asked == [
        "changing names orders-0",
        "changing names orders-0/partition.metadata",
        "writing orders-0/partition.metadata",
        "syncing orders-0/partition.metadata",
        "syncing the directory orders-0",
        "syncing the directory data",
        f"changing names {first}",
        f"writing {first}",
        f"syncing {first}",
        "syncing the directory orders-0",
    ]
    disk.asked.clear()
    fill(log, 3, first=1)
    assert disk.asked == [f"writing {first}", f"syncing {first}"]


def test_a_sealed_segment_is_durable_before_the_next_one_is_made(disk: WatchedDisk) -> None:
    log = _log(disk, segment_bytes=2 * batch_of("0").size)
    fill(log, 2)
    disk.asked.clear()
    fill(log, 1, first=2)
    old, new = (f"orders-0/{n:020d}" for n in (0, 2))
    made = disk.asked.index(f"changing names {new}.log")
    before, after = disk.asked[:made], disk.asked[made:]
    for name in (f"{old}.log", f"{old}.index", f"{old}.timeindex", f"{new}.snapshot"):
        assert f"syncing {name}" in before
    assert before[-1] == "syncing the directory orders-0"
    assert after[-2:] == [f"syncing {new}.log", "syncing the directory orders-0"]


def test_segments_roll_before_they_are_too_large(disk: WatchedDisk) -> None:
    log = _log(disk, segment_bytes=3 * batch_of("0").size)
    fill(log, 8)
    assert _bases(log) == [0, 3, 6]


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(disk: WatchedDisk) -> None:
    log = _log(disk, segment_bytes=100)
    for text in ("x" * 200, "y", "z" * 200):
        log.append([batch_of(text)], leader_epoch=0, now_ms=0)
    write(log)
    assert _bases(log) == [0, 1, 2]


def test_segments_roll_by_age(disk: WatchedDisk) -> None:
    log = _log(disk, segment_ms=1000)
    fill(log, 2, now_ms=5000)
    fill(log, 1, first=2, now_ms=5999)
    fill(log, 1, first=3, now_ms=6000)
    assert _bases(log) == [0, 3]
    assert log.segments()[-1].created_ms == 6000


def test_a_segment_from_before_the_start_ages_by_its_first_record() -> None:
    disk = SimulatedDisk(Random(0))
    fill(_log(disk), 1)
    disk.kill()
    log, _ = adopted(disk, settings=LogSettings(segment_ms=100))
    fill(log, 1, first=1, now_ms=1099)
    fill(log, 1, first=2, now_ms=1100)
    assert _bases(log) == [0, 2]


def test_a_segment_from_before_the_start_whose_records_have_no_time_begins_to_age_now() -> None:
    disk = SimulatedDisk(Random(0))
    log = _log(disk, segment_ms=1000)
    log.append([batch_of("0", timestamp_ms=-1)], leader_epoch=0, now_ms=50_000)
    write(log)
    disk.kill()
    log, _ = adopted(disk, settings=LogSettings(segment_ms=1000))
    fill(log, 1, first=1, now_ms=60_000)
    assert _bases(log) == [0]
    fill(log, 1, first=2, now_ms=60_999)
    assert _bases(log) == [0]
    fill(log, 1, first=3, now_ms=61_000)
    assert _bases(log) == [0, 3]


def test_an_offset_too_far_from_the_first_one_rolls(disk: WatchedDisk) -> None:
    log = _log(disk)
    fill(log, 1)
    log._segments[0].base_offset = 1 - (1 << 31)
    assert log._segments[0].offset_end == 1
    fill(log, 1, first=1)
    assert _bases(log)[1:] == [1]


def test_appends_during_a_job_wait_for_the_next_one(disk: WatchedDisk) -> None:
    log = _log(disk)
    log.append([batch_of("0")], leader_epoch=0, now_ms=0)
    job = job_of(log)
    assert job is not None
    log.append([batch_of("1")], leader_epoch=0, now_ms=0)
    job.run()
    log.end_settle(job)
    assert read_all(log) == ["0"]
    write(log)
    assert read_all(log) == ["0", "1"]


def test_a_job_leaves_no_file_open(disk: WatchedDisk) -> None:
    log = _log(disk, segment_bytes=200)
    fill(log, 20)
    fill(log, 20, first=20)
    assert len(log._handles) == 0
    read_all(log)
    assert all(not handle.pins for handle in log._handles._handles.values())


def test_leftovers_that_a_job_has_removed_do_not_come_back() -> None:
    for seed in range(20):
        disk = SimulatedDisk(Random(seed), ordered_names=False)
        log = _log(disk, segment_bytes=2 * batch_of("0").size)
        fill(log, 2)
        log.append([batch_of("2")], leader_epoch=0, now_ms=0)
        job = job_of(log)
        assert job is not None
        job.run()
        log.undo_settle(job)
        newer = f"{ROOT}/orders-0/{2:020d}"
        assert disk.exists(f"{newer}.log")
        log.settings = LogSettings()
        write(log)
        disk.power_cut()
        assert not disk.exists(f"{newer}.log")
        assert not disk.exists(f"{newer}.snapshot")

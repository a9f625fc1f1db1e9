"""The ring: one write a frame, files in their order, and none used again too early."""

from random import Random
from uuid import UUID

import pytest

from onelog.errors import DiskFull
from onelog.storage.commit_log import CommitLog, CommitLogSettings, Written
from onelog.storage.frames import Entry, LogKey, parsed_file_header, parsed_frame
from tests.support.simulated_disk import SimulatedDisk

BLOCK = 256
SETTINGS = CommitLogSettings(file_bytes=8 * BLOCK, bytes_max=24 * BLOCK, block_bytes=BLOCK)
KEY = LogKey(UUID(int=5), 0)
START = 64 * BLOCK


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    disk.make_dir("data")
    return disk


@pytest.fixture
def log(disk: SimulatedDisk) -> CommitLog:
    making = CommitLog.first_file(
        disk, "data", directory=UUID(int=1), epoch=3, start=START, slot=0, settings=SETTINGS
    )
    making.run()
    assert making.made is not None
    return CommitLog(disk, "data", directory=UUID(int=1), epoch=3, settings=SETTINGS, first=making.made)


def _entry(size: int) -> Entry:
    return Entry(KEY, 0, 1, [b"x" * size], size)


def _write(log: CommitLog, blocks: int) -> Written:
    return log.write([_entry(blocks * BLOCK - 100)])


def _prepare(log: CommitLog, *entries: Entry) -> None:
    job = log.begin_prepare(entries)
    assert job is not None
    job.run()
    log.end_prepare(job)


def test_a_file_is_written_whole_beforehand_and_its_header_says_where_it_stands(
    disk: SimulatedDisk, log: CommitLog
) -> None:
    disk.power_cut()
    file = disk.open("data/onelog.commit.0")
    assert file.size() == SETTINGS.file_bytes
    header = parsed_file_header(file.pread(0, BLOCK))
    assert header is not None
    assert (header.epoch, header.number, header.size, header.start) == (3, 0, 8 * BLOCK, START)
    assert log.end == log.durable == START + BLOCK


def test_a_half_made_file_has_another_name(disk: SimulatedDisk, log: CommitLog) -> None:
    job = log.begin_prepare()
    assert job is not None
    disk.full_at = disk.calls + 2
    with pytest.raises(DiskFull):
        job.run()
    assert disk.names("data") == ["onelog.commit.0"]
    log.give_back(job)
    disk.kill()


def test_frames_follow_each_other_at_block_borders_and_name_the_one_before(
    disk: SimulatedDisk, log: CommitLog
) -> None:
    first, second = _write(log, 1), _write(log, 2)
    assert (first.lsn, first.end, first.before) == (START + BLOCK, START + 2 * BLOCK, 0)
    assert (second.lsn, second.end, second.before) == (first.end, first.end + 2 * BLOCK, first.crc)
    data = disk.open("data/onelog.commit.0").pread(0, SETTINGS.file_bytes)
    found = parsed_frame(data, 2 * BLOCK, block_bytes=BLOCK)
    assert found is not None
    assert (found.lsn, found.before, found.durable) == (second.lsn, first.crc, START + BLOCK)


def test_a_frame_says_how_far_the_log_was_durable_when_it_was_built(log: CommitLog) -> None:
    first = _write(log, 1)
    job = log.begin_sync()
    assert job is not None
    assert _write(log, 1).end > job.end == first.end
    job.run()
    log.end_sync(job)
    assert log.durable == first.end


def test_a_frame_that_does_not_fit_goes_behind_the_next_header(disk: SimulatedDisk, log: CommitLog) -> None:
    _write(log, 5)
    assert not log.has_room([_entry(3 * BLOCK)])
    assert not log.has_next
    _prepare(log)
    assert log.has_room([_entry(3 * BLOCK)])
    assert _write(log, 4).lsn == START + 9 * BLOCK
    assert _write(log, 1).lsn == START + 13 * BLOCK


def test_a_frame_may_fill_its_file_and_the_next_one_follows(log: CommitLog) -> None:
    assert _write(log, 7).end == START + 8 * BLOCK
    _prepare(log)
    assert _write(log, 1).lsn == START + 9 * BLOCK


def test_a_sync_covers_every_file_that_has_frames_which_are_not_durable(
    disk: SimulatedDisk, log: CommitLog
) -> None:
    _write(log, 5)
    _prepare(log)
    _write(log, 5)
    job = log.begin_sync()
    assert job is not None
    assert [file.path for file in job.files] == ["data/onelog.commit.0", "data/onelog.commit.1"]
    job.run()
    log.end_sync(job)
    assert log.begin_sync() is None
    _write(log, 1)
    later = log.begin_sync()
    assert later is not None
    assert [file.path for file in later.files] == ["data/onelog.commit.1"]


def test_a_full_log_has_no_room_until_a_root_frees_its_oldest_file(log: CommitLog) -> None:
    for _ in range(2):
        _write(log, 7)
        _prepare(log)
    last = _write(log, 7)
    assert log.is_half_full
    assert log.begin_prepare([_entry(10)]) is None
    log.recycle(START + 8 * BLOCK - 1)
    assert log.begin_prepare() is None, "the root says that the file's end still matters"
    log.recycle(START + 8 * BLOCK)
    _prepare(log)
    assert _write(log, 7).lsn == last.end + BLOCK
    assert len(log.paths()) == 3


def test_the_newest_file_is_never_used_again(log: CommitLog) -> None:
    end = _write(log, 7).end
    log.recycle(end)
    assert not log._free


def test_a_batch_larger_than_every_file_gets_one_of_its_size(log: CommitLog) -> None:
    large = _entry(20 * BLOCK)
    _prepare(log)
    assert not log.has_room([large])
    _prepare(log, large)
    assert log.has_room([large])
    assert log.write([large]).lsn == START + 9 * BLOCK
    assert log.frame_bytes_max > 2 * BLOCK


def test_a_file_that_is_used_again_has_a_new_header_before_a_frame(
    disk: SimulatedDisk, log: CommitLog
) -> None:
    for _ in range(2):
        _write(log, 7)
        _prepare(log)
    _write(log, 7)
    log.recycle(START + 8 * BLOCK)
    _prepare(log)
    disk.power_cut()
    header = parsed_file_header(disk.open("data/onelog.commit.0").pread(0, BLOCK))
    assert header is not None
    assert (header.number, header.start) == (3, START + 24 * BLOCK)


def test_every_file_is_closed(log: CommitLog) -> None:
    _write(log, 7)
    _prepare(log)
    log.close()
    assert log.paths() == ["data/onelog.commit.0", "data/onelog.commit.1"]


def test_while_a_larger_file_is_made_for_its_place_the_smaller_one_is_not_used(log: CommitLog) -> None:
    """A frame in it would move the place where the larger one has to begin."""
    large = _entry(20 * BLOCK)
    _prepare(log)
    job = log.begin_prepare([large])
    assert job is not None
    assert not log.has_next
    assert not log.has_room([_entry(7 * BLOCK)])
    job.run()
    log.end_prepare(job)
    end = log.end
    assert log.write([large]).lsn > end


def test_there_are_enough_files_to_go_on_however_small_the_bound_is(disk: SimulatedDisk) -> None:
    settings = CommitLogSettings(file_bytes=8 * BLOCK, bytes_max=BLOCK, block_bytes=BLOCK)
    making = CommitLog.first_file(
        disk, "data", directory=UUID(int=1), epoch=3, start=0, slot=0, settings=settings
    )
    making.run()
    assert making.made is not None
    log = CommitLog(disk, "data", directory=UUID(int=1), epoch=3, settings=settings, first=making.made)
    for _ in range(2):
        _write(log, 7)
        _prepare(log)
    _write(log, 7)
    assert log.begin_prepare([_entry(6 * BLOCK)]) is None

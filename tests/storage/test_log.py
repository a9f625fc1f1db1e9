"""One partition's log: order, marks, reads across files and tail."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.errors import DiskFailed, OffsetOutOfRange, OutOfOrderSequence, PartitionClosed
from onelog.storage.ends import Said
from onelog.storage.log import (
    Appended,
    Found,
    FramePlace,
    LogSettings,
    Marks,
    PartitionLog,
    Repeated,
    SettleJob,
)
from tests.support.simulated_disk import Node, SimulatedDisk, SimulatedFile
from tests.support.small_logs import (
    ROOT,
    adopted,
    batch_of,
    fill,
    job_of,
    open_log,
    open_store,
    read_all,
    values_of,
    write,
)


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(0))


@pytest.fixture
def log(disk: SimulatedDisk) -> PartitionLog:
    return open_log(open_store(disk))


def _planned(log: PartitionLog) -> SettleJob | None:
    """The job for what was written so far."""
    planning = log.begin_settle()
    while True:
        try:
            next(planning)
        except StopIteration as done:
            job: SettleJob | None = done.value
            return job


def _append(log: PartitionLog, *values: str) -> Appended:
    outcome = log.append([batch_of(*values)], leader_epoch=4, now_ms=0)
    assert isinstance(outcome, Appended)
    return outcome


def test_an_append_fixes_the_offsets_and_writes_them_into_the_batch(log: PartitionLog) -> None:
    assert _append(log, "a", "b").next == 2
    appended = _append(log, "c")
    assert (appended.base, appended.next, appended.timestamp_ms) == (2, 3, -1)
    assert bytes(appended.buffers[0][:16])[:8] == (2).to_bytes(8, "big")
    assert bytes(appended.buffers[0][12:16]) == (4).to_bytes(4, "big")


def test_marks_follow_append_and_write(log: PartitionLog) -> None:
    _append(log, "a", "b")
    assert log.marks == Marks(0, 0, 0, 0, 0, 2)
    job = job_of(log)
    assert job is not None
    job.run()
    _append(log, "c")
    assert log.marks == Marks(0, 0, 0, 0, 2, 3)
    log.end_settle(job)
    assert log.marks == Marks(0, 2, 2, 2, 2, 3)
    assert values_of(log.read(0, bytes_max=1000, offset_max=3)) == ["a", "b", "c"]


def test_nothing_to_write_is_no_job(log: PartitionLog) -> None:
    assert job_of(log) is None
    fill(log, 1)
    assert job_of(log) is None


def test_a_new_log_has_no_directory_before_its_first_write(disk: SimulatedDisk, log: PartitionLog) -> None:
    assert not disk.exists(f"{ROOT}/orders-0")
    assert log.segments() == []
    assert log.size_bytes == 0
    fill(log, 1)
    assert disk.names(f"{ROOT}/orders-0") == ["00000000000000000000.log", "partition.metadata"]


def test_a_repeated_batch_is_told_where_it_is(log: PartitionLog) -> None:
    batch = batch_of("a", "b", producer_id=7, producer_epoch=0, base_sequence=0)
    log.append([batch_of("x")], leader_epoch=0, now_ms=0)
    assert isinstance(log.append([batch], leader_epoch=0, now_ms=0), Appended)
    assert log.append([batch], leader_epoch=0, now_ms=0) == Repeated(1, 3, -1)
    assert log.marks.appended == 3


def test_a_refused_append_changes_nothing(log: PartitionLog) -> None:
    good = batch_of("a", producer_id=7, producer_epoch=0, base_sequence=0)
    gap = batch_of("b", producer_id=7, producer_epoch=0, base_sequence=5)
    with pytest.raises(OutOfOrderSequence):
        log.append([good, gap], leader_epoch=0, now_ms=0)
    assert log.marks.appended == 0
    assert isinstance(log.append([good], leader_epoch=0, now_ms=0), Appended)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 2000), st.integers(0, 60))
def test_reads_go_across_segments_and_tail(
    written: int, pending: int, offset: int, bytes_max: int, offset_max: int
) -> None:
    log = open_log(open_store(SimulatedDisk(Random(0))))
    fill(log, written)
    for number in range(written, written + pending):
        log.append([batch_of(str(number))], leader_epoch=0, now_ms=0)
    end = written + pending
    offset = min(offset, end)
    found = log.read(offset, bytes_max=bytes_max, offset_max=offset_max)
    values = [int(v) for v in values_of(found)]
    assert values == list(range(offset, offset + len(values)))
    assert all(b.offset_end <= offset_max for b in found)
    assert sum(b.size for b in found) <= bytes_max or len(found) == 1
    following = offset + len(values)
    if following < min(end, offset_max):
        # Nothing that fits is held back.
        assert found
        assert sum(b.size for b in found) + batch_of(str(following)).size > bytes_max


def test_a_first_batch_larger_than_asked_for_that_ends_its_segment_comes_alone(log: PartitionLog) -> None:
    for _ in range(3):
        _append(log, "x" * 9000)
    write(log)
    assert len(log.segments()) == 3
    for bytes_max in (1, 0, -1):
        (batch,) = log.read(0, bytes_max=bytes_max, offset_max=3)
        assert batch.base_offset == 0


def test_an_offset_outside_of_the_log_names_what_it_holds(log: PartitionLog) -> None:
    fill(log, 20)
    log.raise_start(5)
    for offset in (4, 21):
        with pytest.raises(OffsetOutOfRange, match=f"asked for offset {offset}; the log holds 5 to 20"):
            log.read(offset, bytes_max=100, offset_max=20)
    assert log.read(20, bytes_max=100, offset_max=20) == []


def test_times_are_found_in_segments_and_tail(log: PartitionLog) -> None:
    fill(log, 30)
    log.append([batch_of("late", timestamp_ms=5000)], leader_epoch=0, now_ms=0)
    assert log.find_time(0, offset_max=31) == Found(0, 1000)
    assert log.find_time(1017, offset_max=31) == Found(17, 1017)
    assert log.find_time(2000, offset_max=31) == Found(30, 5000)
    assert log.find_time(2000, offset_max=30) is None
    assert log.find_max_timestamp(offset_max=31) == Found(30, 5000)
    assert log.find_max_timestamp(offset_max=30) == Found(29, 1029)
    log.raise_start(20)
    assert log.find_time(0, offset_max=31) == Found(20, 1020)


def test_an_empty_log_has_no_times(log: PartitionLog) -> None:
    assert log.find_time(0, offset_max=0) is None
    assert log.find_max_timestamp(offset_max=0) is None


def test_segments_below_the_start_go_and_the_active_one_stays(disk: SimulatedDisk, log: PartitionLog) -> None:
    fill(log, 30)
    assert log.remove_segments().run() == 0
    log.raise_start(30)
    leaving = log.removable()
    assert len(leaving) == len(log.segments()) - 1
    assert log.remove_segments().run() == len(leaving)
    assert log.removable() == []
    assert [n for n in disk.names(f"{ROOT}/orders-0") if n.endswith(".log")] == [
        f"{log.segments()[0].base_offset:020d}.log"
    ]
    fill(log, 2, first=30)
    assert read_all(log) == ["30", "31"]


def test_a_roll_that_was_asked_for_comes_with_the_next_job(log: PartitionLog) -> None:
    fill(log, 2)
    log.ask_to_roll(5)
    write(log)
    sealed, active = log.segments()
    assert (sealed.sealed, sealed.offset_end) == (True, 2)
    assert (active.base_offset, active.size, active.created_ms) == (2, 0, 5)
    log.ask_to_roll(6)
    write(log)
    assert len(log.segments()) == 2, "an empty segment is not rolled"
    fill(log, 1, first=2)
    assert read_all(log) == ["0", "1", "2"]


def test_a_roll_asked_for_again_while_one_is_under_way_is_one_roll(
    disk: SimulatedDisk, log: PartitionLog
) -> None:
    fill(log, 2)
    log.ask_to_roll(5)
    job = job_of(log)
    assert job is not None
    log.ask_to_roll(6)
    job.run()
    log.end_settle(job)
    assert job_of(log) is None
    assert [s.base_offset for s in log.segments()] == [0, 2]
    log.raise_start(2)
    log.remove_segments().run()
    fill(log, 2, first=2)
    assert disk.exists(f"{ROOT}/orders-0/{2:020d}.log")
    assert read_all(log) == ["2", "3"]


def test_a_job_whose_file_cannot_be_opened_can_be_done_again(
    disk: SimulatedDisk, log: PartitionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(log, 2)
    log.append([batch_of("2", timestamp_ms=1002)], leader_epoch=0, now_ms=0)
    job = job_of(log)
    assert job is not None
    with monkeypatch.context() as full:
        full.setattr(disk, "open", _too_many_open)
        with pytest.raises(DiskFailed):
            job.run()
    log.undo_settle(job)
    write(log)
    assert [s.base_offset for s in log.segments()] == [0]
    assert read_all(log) == ["0", "1", "2"]


def _too_many_open(path: str, *, create: bool = False) -> None:
    raise DiskFailed(path=path, doing="opening", found="Too many open files")


def test_damage_closes_the_log_for_good(disk: SimulatedDisk, log: PartitionLog) -> None:
    fill(log, 20)
    disk.open(f"{ROOT}/orders-0/{0:020d}.log").write_at(16, [b"\x09"])
    with pytest.raises(PartitionClosed, match="at byte 0: no whole batch"):
        log.read(0, bytes_max=100, offset_max=20)
    with pytest.raises(PartitionClosed):
        log.read(19, bytes_max=100, offset_max=20)


def test_a_segment_whose_time_cannot_be_found_out_closes_the_log_and_may_still_go(
    disk: SimulatedDisk,
) -> None:
    fill(open_log(open_store(disk)), 20)
    log, _ = adopted(disk)
    disk.unlink(f"{ROOT}/orders-0/{0:020d}.index")
    disk.open(f"{ROOT}/orders-0/{0:020d}.log").write_at(16, [b"\x09"])
    log.raise_start(20)
    for _ in range(2):
        with pytest.raises(PartitionClosed, match="at byte 0: no whole batch"):
            log.segments()
    with pytest.raises(PartitionClosed):
        log.find_time(0, offset_max=20)
    assert 0 in log.removable()


def test_few_indexes_are_kept_however_many_segments_are_read(log: PartitionLog) -> None:
    fill(log, 60)
    read_all(log)
    assert sum(s._index is not None for s in log._segments[:-1]) <= 4
    assert read_all(log, bytes_max=1) == [str(n) for n in range(60)]
    for number in range(60):
        assert log.find_time(1000 + number, offset_max=60) == Found(number, 1000 + number)
    assert sum(s._index is not None for s in log._segments[:-1]) <= 4


def test_a_log_knows_whose_it_is(log: PartitionLog) -> None:
    assert (log.name, log.partition, log.topic_id.int >> 120) == ("orders/0", 0, 0x01)
    fill(log, 3)
    assert log.size_bytes == 3 * batch_of("0").size
    assert log.aborted(0, 3) == []


def test_a_log_closed_with_records_pending_leaves_no_index_behind(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk), settings=LogSettings())
    fill(log, 2)
    log.append([batch_of("lost")], leader_epoch=0, now_ms=0)
    log.close()
    assert not disk.exists(f"{ROOT}/orders-0/{0:020d}.index")


@pytest.mark.parametrize("how", ["full_at", "fail_sync_at"])
def test_a_close_that_cannot_leave_its_index_leaves_none_and_is_a_close(
    disk: SimulatedDisk, how: str
) -> None:
    log = open_log(open_store(disk), settings=LogSettings())
    fill(log, 2)
    setattr(disk, how, disk.calls)
    log.close()
    assert disk.names(f"{ROOT}/orders-0") == [f"{0:020d}.log", "partition.metadata"]
    assert len(log._handles) == 0


def test_a_log_closed_behind_a_write_that_failed_lets_go_of_all_files() -> None:
    disk = CountingDisk()
    store = open_store(disk)
    log = open_log(store)
    fill(log, 2)
    log.ask_to_roll(0)
    log.append([batch_of("2")], leader_epoch=0, now_ms=0)
    job = job_of(log)
    assert job is not None
    disk.fail_sync_at = disk.calls + 14  # that of the new segment
    with pytest.raises(DiskFailed):
        job.run()
    log.close()
    assert disk.open_count == 1, "the commit log's"


class CountingFile(SimulatedFile):
    """A file that tells when it is closed, once."""

    def __init__(self, disk: "CountingDisk", path: str, node: Node) -> None:
        super().__init__(disk, path, node)
        self._counter: CountingDisk | None = disk
        disk.open_count += 1

    def close(self) -> None:
        if self._counter is not None:
            self._counter.open_count -= 1
            self._counter = None


class CountingDisk(SimulatedDisk):
    """Knows how many files are open."""

    def __init__(self) -> None:
        super().__init__(Random(0))
        self.open_count = 0

    def open(self, path: str, *, create: bool = False) -> CountingFile:
        file = super().open(path, create=create)
        return CountingFile(self, path, file._node)


def test_the_index_is_left_behind_when_it_is_worth_it(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk), settings=LogSettings())
    fill(log, 2)
    log.close(leaves_index=False)
    index = f"{ROOT}/orders-0/{0:020d}.index"
    assert not disk.exists(index)
    log.close()
    assert disk.exists(index)


def test_what_was_written_is_settled_and_what_was_not_waits(log: PartitionLog) -> None:
    _append(log, "a")
    log.note_written(1, lsn=4096, before=7)
    _append(log, "b")
    assert log.wants_settling
    job = _planned(log)
    assert job is not None
    assert (job.batch_count, log.said_after(job)) == (1, Said(base=0, length=batch_of("a").size, next=1))
    job.run()
    log.end_settle(job)
    assert log.marks == Marks(0, 1, 1, 1, 1, 2)
    assert log.tail_bytes == batch_of("b").size
    assert _planned(log) is None


def test_the_first_frame_of_the_tail_is_known_until_it_is_settled(log: PartitionLog) -> None:
    assert not log._tail._frames
    _append(log, "a")
    log.note_written(1, lsn=4096, before=7)
    _append(log, "b")
    log.note_written(2, lsn=8192, before=8)
    assert log.first_frame == FramePlace(1, 4096, 7)
    write(log)
    assert not log._tail._frames


def test_a_job_that_does_not_count_is_done_again_over_what_it_left(
    disk: SimulatedDisk, log: PartitionLog
) -> None:
    fill(log, 2)
    for number in range(2, 9):
        log.append([batch_of(str(number), timestamp_ms=1000 + number)], leader_epoch=0, now_ms=0)
    job = job_of(log)
    assert job is not None
    job.run()
    log.undo_settle(job)
    assert (log.marks.settled, log.marks.durable, log.marks.written) == (2, 2, 9)
    assert read_all(log) == ["0", "1"]
    log.settings = LogSettings(segment_bytes=1 << 20)
    write(log)
    assert [s.base_offset for s in log.segments()] == [0], "leftover segments are gone"
    assert [n for n in disk.names(f"{ROOT}/orders-0") if n.endswith(".log")] == [f"{0:020d}.log"]
    assert read_all(log) == [str(n) for n in range(9)]

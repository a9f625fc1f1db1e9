"""A start: everything that was acknowledged is settled, what is wrong is refused, and cut off it happens again."""

from contextlib import suppress
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest

from onelog.errors import DiskFailed, DiskFull, OffsetOutOfRange, PartitionClosed
from onelog.storage import ends as roots
from onelog.storage.disk import StoreRefused
from onelog.storage.frames import Entry, LogKey
from onelog.storage.log import Appended, LogSettings, PartitionLog
from onelog.storage.recovery import LogFacts, Recovered
from onelog.storage.store import Store
from tests.support.simulated_disk import PowerCutError, SimulatedDisk
from tests.support.small_logs import (
    KEY,
    ROOT,
    SMALL,
    TOPIC,
    TOPIC_ID,
    batch_of,
    book_of,
    fill,
    open_store,
    read_all,
    recover,
    write,
)

SIZE = batch_of("0").size
FIRST = f"{ROOT}/orders-0/{0:020d}.log"
OTHER = LogKey(UUID(int=9), 0)
BOTH = {KEY: LogFacts(TOPIC, LogSettings()), OTHER: LogFacts("clicks", LogSettings())}


class Bench:
    """A store that is opened, written to, left in some way, and opened again."""

    def __init__(self, **facts: object) -> None:
        self.disk = SimulatedDisk(Random(0), page_bytes=256, sector_bytes=32, ordered_names=False)
        self.logs = {KEY: LogFacts(TOPIC, LogSettings(), **facts)}  # type: ignore[arg-type]  # any of them
        self.removed: list[UUID] = []
        self.open()

    def open(self) -> Recovered:
        self.store: Store = open_store(self.disk)
        self.found = recover(self.store, self.logs, removed=self.removed)
        return self.found

    def log(self, key: LogKey = KEY) -> PartitionLog:
        facts = self.logs[key]
        return self.store.open_log(facts.topic, *key, settings=facts.settings, is_os=facts.is_os)

    def write(self, log: PartitionLog, *values: str, synced: bool = True) -> None:
        """One frame with one record for each value."""
        for value in values:
            appended = log.append([batch_of(value)], leader_epoch=0, now_ms=0)
            assert isinstance(appended, Appended)
            size = len(appended.buffers[0])
            entry = Entry(log.key, appended.base, appended.next, appended.buffers, size)
            if not self.store.commit_log.has_room([entry]):
                self.prepare()
            place = self.store.commit_log.write([entry])
            log.note_written(appended.next, lsn=place.lsn, before=place.before)
        if synced:
            job = self.store.commit_log.begin_sync()
            assert job is not None
            job.run()
            self.store.commit_log.end_sync(job)

    def prepare(self) -> None:
        job = self.store.commit_log.begin_prepare()
        assert job is not None
        job.run()
        self.store.commit_log.end_prepare(job)

    def settle(self, *logs: PartitionLog) -> None:
        """A round, root and all."""
        for log in logs:
            write(log)
        commit_log = self.store.commit_log
        ends = replace(
            self.store.ends,
            first=commit_log.end,
            before=commit_log.before,
            logs={log.key: log.said for log in logs},
        )
        roots.write(self.disk, ROOT, roots.encoded(ends))
        self.store.root_is(ends)
        commit_log.recycle(ends.first)

    def kill(self) -> None:
        self.disk.kill()

    def power_cut(self) -> None:
        self.disk.power_cut()


def _values(bench: Bench, key: LogKey = KEY) -> list[str]:
    return read_all(bench.log(key))


def test_what_was_durable_in_the_commit_log_only_is_there_after_a_power_cut() -> None:
    bench = Bench()
    bench.write(bench.log(), "a", "b", "c")
    bench.power_cut()
    bench.open()
    log = bench.log()
    assert read_all(log) == ["a", "b", "c"]
    assert log.marks.settled == 3
    assert log.tail_bytes == 0


def test_what_was_settled_and_what_was_not_are_one_log() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a", "b")
    bench.settle(log)
    bench.write(log, "c")
    bench.power_cut()
    bench.open()
    assert _values(bench) == ["a", "b", "c"]


def test_records_below_what_is_settled_are_not_applied_again() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a", "b")
    write(log)
    # The root holds the frames back, as when another log found no room.
    ends = replace(bench.store.ends, logs={KEY: log.said})
    roots.write(bench.disk, ROOT, roots.encoded(ends))
    bench.write(log, "c")
    bench.kill()
    bench.open()
    assert _values(bench) == ["a", "b", "c"]


def test_killed_recovered_served_and_then_the_power_goes() -> None:
    bench = Bench()
    bench.write(bench.log(), "only in the cache", synced=False)
    bench.kill()
    bench.open()
    assert _values(bench) == ["only in the cache"]
    bench.power_cut()
    bench.open()
    assert _values(bench) == ["only in the cache"]


def test_frames_that_were_not_durable_may_be_gone_after_a_power_cut() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a")
    bench.write(log, *"bcdefgh", synced=False)
    bench.power_cut()
    bench.open()
    assert "".join(_values(bench)) in ["abcdefgh"[:n] for n in range(1, 9)]


def test_recovering_twice_gives_equal_bytes() -> None:
    bench = Bench()
    bench.write(bench.log(), *"abcdefgh")
    bench.kill()
    bench.open()
    once = bench.disk.open(FIRST).pread(0, 10_000)
    bench.kill()
    bench.open()
    assert bench.disk.open(FIRST).pread(0, 10_000) == once
    assert _values(bench) == list("abcdefgh")


def test_cut_off_at_every_call_and_again_it_comes_to_the_same() -> None:
    for cut in range(1, 45):
        bench = Bench()
        log = bench.log()
        bench.write(log, "a", "b")
        bench.settle(log)
        bench.write(log, "c", "d")
        bench.kill()
        for _ in range(3):
            bench.disk.cut_at = bench.disk.calls + cut
            try:
                bench.open()
            except PowerCutError:
                bench.power_cut()
            else:
                bench.kill()
        bench.open()
        assert _values(bench) == ["a", "b", "c", "d"], f"cut at call {cut}"


def test_a_full_disk_leaves_the_old_root_and_the_next_start_finds_all() -> None:
    for at in range(1, 25):
        bench = Bench()
        bench.write(bench.log(), "a", "b")
        bench.kill()
        bench.disk.full_at = bench.disk.calls + at
        with suppress(DiskFull):
            bench.open()
        bench.kill()
        bench.open()
        assert _values(bench) == ["a", "b"]


def test_a_failed_sync_ends_the_start_and_the_next_one_finds_all() -> None:
    bench = Bench()
    bench.write(bench.log(), "a", "b")
    for at in range(12):
        bench.kill()
        bench.disk.fail_sync_at = bench.disk.calls + at
        with pytest.raises(DiskFailed):
            bench.open()
    bench.power_cut()
    bench.open()
    assert _values(bench) == ["a", "b"]


def test_leftovers_behind_the_said_length_count_for_nothing() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a")
    bench.settle(log)
    file = bench.disk.open(FIRST)
    file.write_at(SIZE, [batch_of("leftover").renumbered(base_offset=1, leader_epoch=0).data, b"x" * 500])
    bench.disk.open(f"{ROOT}/orders-0/{2:020d}.log", create=True).write_at(0, [b"newer"])
    bench.kill()
    bench.open()
    assert _values(bench) == ["a"]
    assert bench.disk.open(FIRST).size() == SIZE
    assert not bench.disk.exists(f"{ROOT}/orders-0/{2:020d}.log")


def test_a_directory_that_no_root_speaks_of_is_made_anew() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a")
    write(log)
    bench.kill()
    bench.open()
    assert _values(bench) == ["a"]
    bench.power_cut()
    bench.open()
    assert _values(bench) == ["a"]


def test_frames_without_a_root_are_refused() -> None:
    bench = Bench()
    bench.write(bench.log(), "a")
    bench.kill()
    bench.disk.unlink(f"{ROOT}/onelog.ends")
    with pytest.raises(StoreRefused, match=r"onelog\.ends: not there, and the commit log has records"):
        bench.open()


def test_three_starts_that_were_cut_off_before_their_roots_leave_the_standing_one_known() -> None:
    bench = Bench()
    bench.write(bench.log(), "a")
    for _ in range(3):
        bench.power_cut()
        bench.disk.cut_at = bench.disk.calls + 16
        with pytest.raises(PowerCutError):
            bench.open()
    bench.power_cut()
    assert len(book_of(bench.disk).epochs) > 1
    bench.open()
    assert _values(bench) == ["a"]


def _root_is(bench: Bench, **said: object) -> None:
    ends = roots.load(bench.disk, ROOT)
    assert ends is not None
    roots.write(bench.disk, ROOT, roots.encoded(replace(ends, **said)))  # type: ignore[arg-type]  # any of them


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"directory": UUID(int=8)}, "found directory"),
        ({"epoch": 99}, "found epoch 0000000000000063"),
        ({"transaction": 4}, "found a catalog with 0 transactions; expected 4 at least"),
    ],
)
def test_two_halves_of_different_times_are_refused(said: dict[str, object], what: str) -> None:
    bench = Bench()
    bench.kill()
    _root_is(bench, **said)
    with pytest.raises(StoreRefused, match=what):
        bench.open()


def test_records_of_a_removed_topic_are_skipped_and_of_an_unknown_one_refused() -> None:
    bench = Bench()
    bench.write(bench.log(), "a")
    bench.power_cut()
    bench.logs = {}
    with pytest.raises(StoreRefused, match=f"records of log 0 of topic {TOPIC_ID}"):
        bench.open()
    bench.kill()
    bench.removed = [TOPIC_ID]
    assert bench.open().logs == {}


@pytest.mark.parametrize("how", ["shorter", "missing"])
def test_an_active_segment_that_lost_settled_bytes_is_refused_and_its_tail_kept_over_three_starts(
    how: str,
) -> None:
    bench = Bench()
    bench.logs = BOTH
    bench.kill()
    bench.open()
    log, other = bench.log(), bench.log(OTHER)
    bench.write(log, "a", "b")
    bench.settle(log, other)
    bench.write(log, "c", "d")
    bench.write(other, "x")
    bench.power_cut()
    content = bench.disk.open(FIRST).pread(0, 10_000)
    if how == "shorter":
        bench.disk.open(FIRST).truncate(SIZE)
    else:
        bench.disk.unlink(FIRST)
        bench.disk.sync_dir(f"{ROOT}/orders-0")
    for _ in range(3):
        bench.open()
        with pytest.raises(PartitionClosed, match="expected 138"):
            bench.log()
        assert _values(bench, OTHER) == ["x"]
        bench.power_cut()
    bench.disk.open(FIRST, create=True).write_at(0, [content])
    bench.open()
    assert _values(bench) == ["a", "b", "c", "d"], "somebody has brought the file back"
    assert not [name for name in bench.disk.names(ROOT) if name.startswith("onelog.tail")]


def test_a_log_that_begins_behind_its_end_is_damaged_when_it_promised_to_be_synced() -> None:
    bench = Bench()
    bench.write(bench.log(), "a")
    bench.kill()
    bench.logs = {KEY: LogFacts(TOPIC, LogSettings(), start=5)}
    bench.open()
    with pytest.raises(PartitionClosed, match="found records up to offset 1; expected 5 among them"):
        bench.log()


def test_an_os_log_that_begins_behind_its_end_begins_empty_at_its_start() -> None:
    bench = Bench(is_os=True)
    log = bench.log()
    bench.write(log, "a", "b")
    bench.settle(log)
    bench.power_cut()
    bench.logs = {KEY: LogFacts(TOPIC, LogSettings(), start=5, is_os=True)}
    bench.disk.cut_at = bench.disk.calls + 14
    with pytest.raises(PowerCutError):
        bench.open()
    bench.power_cut()
    found = bench.open()
    assert found.unsure_ends() == {KEY: 5}
    log = bench.log()
    assert (log.marks.start, log.marks.appended) == (5, 5)
    bench.write(log, "new")
    bench.kill()
    bench.open()
    log = bench.log()
    assert read_all(log) == ["new"]
    with pytest.raises(OffsetOutOfRange):
        log.read(1, bytes_max=1, offset_max=6)


def test_after_a_clean_stop_there_is_nothing_to_settle_and_the_mark_is_undone() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a", "b")
    bench.settle(log)
    log.close()
    bench.store.close(at_rest=[log])
    found = bench.open()
    assert found.was_clean
    assert found.unsure_ends() == {}
    assert found.bytes_settled == 0
    assert _values(bench) == ["a", "b"]
    bench.kill()
    assert not bench.open().was_clean


def test_what_another_program_appended_after_our_clean_stop_is_adopted() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a")
    bench.settle(log)
    log.close()
    bench.store.close(at_rest=[log])
    more = batch_of("theirs").renumbered(base_offset=1, leader_epoch=0).data
    bench.disk.open(FIRST).write_at(SIZE, [more])
    bench.open()
    assert _values(bench) == ["a", "theirs"]


def test_another_program_that_crashed_after_our_clean_stop_loses_what_is_torn() -> None:
    bench = Bench()
    log = bench.log()
    bench.write(log, "a")
    bench.settle(log)
    log.close()
    bench.store.close(at_rest=[log])
    bench.disk.open(FIRST).write_at(SIZE, [b"torn"])
    bench.disk.unlink(f"{ROOT}/.kafka_cleanshutdown")
    assert bench.open().bytes_cut == 4
    assert _values(bench) == ["a"]


def test_a_directory_of_the_first_form_is_adopted_once_by_itself() -> None:
    disk = SimulatedDisk(Random(0))
    store = open_store(disk)
    recover(store, {})
    log = store.open_log(TOPIC, TOPIC_ID, 0, settings=SMALL)
    fill(log, 12)
    disk.unlink(f"{ROOT}/onelog.ends")
    disk.kill()
    store = open_store(disk)
    assert recover(store).is_adopted
    assert read_all(store.open_log(TOPIC, TOPIC_ID, 0, settings=SMALL)) == [str(n) for n in range(12)]
    disk.power_cut()
    store = open_store(disk)
    assert not recover(store).is_adopted
    assert read_all(store.open_log(TOPIC, TOPIC_ID, 0, settings=SMALL)) == [str(n) for n in range(12)]


def test_a_log_that_could_not_be_adopted_is_adopted_when_it_can_be_and_never_cut() -> None:
    bench = Bench()
    log = bench.log()
    fill(log, 3)
    bench.disk.unlink(f"{ROOT}/onelog.ends")
    bench.disk.unlink(f"{ROOT}/orders-0/partition.metadata")
    for _ in range(2):
        bench.kill()
        bench.open()
        with pytest.raises(PartitionClosed, match="expected the id"):
            bench.log()
    assert bench.disk.open(FIRST).size() == 3 * SIZE
    bench.kill()
    log.home.make()
    bench.open()
    assert _values(bench) == ["0", "1", "2"]


def test_a_log_that_cannot_be_read_is_refused_and_the_others_serve() -> None:
    bench = Bench()
    bench.logs = BOTH
    bench.kill()
    bench.open()
    log, other = bench.log(), bench.log(OTHER)
    bench.write(log, "a")
    bench.write(other, "x")
    bench.settle(log, other)
    bench.kill()
    bench.disk.unlink(FIRST)
    bench.disk.make_dir(FIRST)
    bench.open()
    with pytest.raises(PartitionClosed, match="while opening"):
        bench.log()
    assert _values(bench, OTHER) == ["x"]


def test_nothing_of_earlier_commit_log_files_is_left_behind() -> None:
    bench = Bench()
    for number in range(3):
        bench.write(bench.log(), str(number))
        bench.kill()
        bench.disk.open(f"{ROOT}/onelog.commit.7.new", create=True)
        bench.open()
        names = [name for name in bench.disk.names(ROOT) if name.startswith("onelog.commit")]
        assert len(names) == 1


def test_an_os_log_that_lost_everything_and_is_not_written_again_stops_cleanly() -> None:
    bench = Bench(is_os=True)
    bench.kill()
    bench.logs = {KEY: LogFacts(TOPIC, LogSettings(), start=5, is_os=True)}
    bench.open()
    log = bench.log()
    bench.settle(log)
    log.close()
    bench.store.close(at_rest=[log])
    assert bench.open().was_clean
    assert bench.log().marks.appended == 5

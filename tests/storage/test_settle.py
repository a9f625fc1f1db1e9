"""A round: what it takes in, what its root says, and what a log that finds no room holds back."""

from dataclasses import replace
from random import Random

import pytest

from onelog.errors import DiskFull
from onelog.storage.ends import Ends, Said
from onelog.storage.frames import Entry, LogKey
from onelog.storage.log import Appended, LogSettings
from onelog.storage.settle import Round
from onelog.storage.store import Store
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import TOPIC_ID, batch_of, open_store, read_all, recover

SIZE = batch_of("0").size


class Bench:
    """Two logs behind one commit log."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk(Random(0))
        self.store: Store = open_store(self.disk)
        recover(self.store, {})
        self.logs = [self.store.open_log("orders", TOPIC_ID, n, settings=LogSettings()) for n in range(2)]

    def append(self, number: int, value: str) -> None:
        """One frame with one record."""
        log = self.logs[number]
        appended = log.append([batch_of(value)], leader_epoch=0, now_ms=0)
        assert isinstance(appended, Appended)
        size = len(appended.buffers[0])
        place = self.store.commit_log.write(
            [Entry(log.key, appended.base, appended.next, appended.buffers, size)]
        )
        log.note_written(appended.next, lsn=place.lsn, before=place.before)

    def begin(self) -> Round:
        round_ = Round.begin(self.store.commit_log)
        for _ in round_.plan(self.logs):
            pass
        return round_

    def root(self, round_: Round) -> Ends:
        return round_.root(self.store.ends, self.logs, transaction=5)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def _run(round_: Round) -> None:
    for part in round_.parts:
        part.job.run()
        part.is_done = True


def test_a_round_settles_what_was_written_before_it_and_its_root_says_so(bench: Bench) -> None:
    bench.append(0, "a")
    bench.append(1, "b")
    first = bench.store.commit_log.end
    round_ = bench.begin()
    bench.append(0, "meanwhile")
    _run(round_)
    ends = bench.root(round_)
    assert (ends.first, ends.transaction) == (first, 5)
    assert ends.logs == {log.key: Said(base=0, length=SIZE, next=1) for log in bench.logs}
    assert bench.logs[0].marks.settled == 0, "not before the root is durable"
    round_.publish()
    assert [log.marks.settled for log in bench.logs] == [1, 1]
    assert [log.marks.durable for log in bench.logs] == [1, 1]
    assert read_all(bench.logs[0]) == ["a"]


def test_a_log_that_finds_no_room_holds_the_first_frame_back_twice(bench: Bench) -> None:
    bench.append(1, "b")
    place = bench.logs[1].first_frame
    assert place is not None
    bench.append(0, "a")
    for _ in range(2):
        round_ = bench.begin()
        for part in round_.parts:
            part.is_done = part.log is bench.logs[0]
            if part.is_done:
                part.job.run()
        ends = bench.root(round_)
        assert (ends.first, ends.before) == (place.lsn, place.before)
        assert ends.logs[bench.logs[1].key] == Said(0, 0, 0)
        round_.publish()
        bench.store.root_is(ends)
        bench.append(0, "more")
    round_ = bench.begin()
    _run(round_)
    assert bench.root(round_).first == bench.store.commit_log.end


def test_the_first_frame_that_matters_never_goes_back(bench: Bench) -> None:
    bench.append(0, "a")
    bench.store.root_is(replace(bench.store.ends, first=1 << 40, before=3))
    round_ = bench.begin()
    ends = bench.root(round_)
    assert (ends.first, ends.before) == (1 << 40, 3)


def test_a_round_without_a_root_has_no_effect_and_is_done_again(bench: Bench) -> None:
    bench.append(0, "a")
    round_ = bench.begin()
    _run(round_)
    round_.give_up()
    assert bench.logs[0].marks.settled == 0
    bench.append(0, "b")
    round_ = bench.begin()
    _run(round_)
    round_.publish()
    assert read_all(bench.logs[0]) == ["a", "b"]
    assert bench.disk.open("data/orders-0/" + "0" * 20 + ".log").size() == 2 * SIZE


def test_a_job_without_room_leaves_files_whose_writes_are_known_to_have_gone_well(bench: Bench) -> None:
    bench.append(0, "a")
    round_ = bench.begin()
    (part,) = round_.parts
    bench.disk.full_at = bench.disk.calls + 7
    with pytest.raises(DiskFull):
        part.job.run()
    round_.give_up()
    assert len(bench.logs[0]._handles) <= 1


def test_rows_of_refused_logs_stay_as_they_are(bench: Bench) -> None:
    key = LogKey(TOPIC_ID, 9)
    bench.store.root_is(replace(bench.store.ends, logs={key: Said(5, 6, 7, is_refused=True)}))
    assert bench.root(bench.begin()).logs[key] == Said(5, 6, 7, is_refused=True)


def test_logs_with_nothing_to_settle_have_no_part_and_keep_their_row(bench: Bench) -> None:
    bench.append(0, "a")
    round_ = bench.begin()
    assert [part.log for part in round_.parts] == [bench.logs[0]]
    _run(round_)
    round_.publish()
    again = bench.begin()
    assert again.parts == []
    assert bench.root(again).logs[bench.logs[0].key] == Said(0, SIZE, 1)

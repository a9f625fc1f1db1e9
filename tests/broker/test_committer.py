"""The turn: one frame and one sync for all logs, answers in order, and none after a failure."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onelog import metrics as m
from onelog.broker.committer import Committer
from onelog.broker.settler import Settler
from onelog.broker.space import Space
from onelog.broker.work import LoopWork
from onelog.errors import DiskFailed, OnelogError, OutOfOrderSequence, UnknownTopic
from onelog.metrics import Metrics
from onelog.storage.commit_log import CommitLogSettings, Written
from onelog.storage.frames import Entry
from onelog.storage.log import Appended, LogSettings, PartitionLog
from onelog.ticket import Ticket
from tests.support.brokers import batch
from tests.support.gates import GatedDisk
from tests.support.small_logs import open_store, recover
from tests.support.virtual_clock import run, turns

FAILED = DiskFailed(path="orders-0", doing="syncing", found="Input/output error")


class Bench:
    """A committer and logs of its own, without a broker."""

    def __init__(self, path: Path, *, on_failure: Callable[[OnelogError], None] | None = None) -> None:
        self.disk = GatedDisk()
        self.metrics = Metrics()
        self.failures: list[OnelogError] = []
        self.events: list[str] = []
        self.store = open_store(self.disk, str(path))
        recover(self.store, {}, settings=CommitLogSettings(file_bytes=1 << 16, bytes_max=1 << 18))
        self.work = LoopWork(threads=4)
        self._told = on_failure or self.failures.append
        self.settler = Settler(
            self.store, work=self.work, transaction=lambda: 0, metrics=self.metrics, on_failure=self._fail
        )
        self.committer = Committer(
            self.store.commit_log,
            settler=self.settler,
            space=Space(self.disk, str(path), work=self.work, tail_bytes_max=0),
            work=self.work,
            metrics=self.metrics,
            on_failure=self._fail,
            tail_bytes_max=1 << 20,
        )

    def log(self, partition: int = 0, *, is_os: bool = False) -> PartitionLog:
        log = self.store.open_log("orders", UUID(int=7), partition, settings=LogSettings(), is_os=is_os)
        self.committer.attach(
            log,
            on_visible=lambda: self.events.append(f"visible {partition}"),
            on_unreadable=lambda error: self.events.append(f"unreadable {partition}"),
        )
        return log

    def stage(self, log: PartitionLog, name: str | bytes) -> Ticket[str]:
        appended = log.append([batch(name)], leader_epoch=0, now_ms=0)
        assert isinstance(appended, Appended)
        said = name if isinstance(name, str) else "bytes"
        ticket = self.committer.stage(log, appended.base, appended.next, appended.buffers, said)
        ticket.add_callback(lambda done: self.events.append(said if done.error is None else f"no {said}"))
        return ticket

    def _fail(self, error: OnelogError) -> None:
        """As the broker does: a failure of one is that of all."""
        try:
            self._told(error)
        finally:
            self._told = lambda _: None
            self.committer.fail(error)
            self.settler.fail(error)

    async def close(self) -> None:
        await self.committer.close()
        await self.settler.close()
        self.work.close()


Story = Callable[[Bench], Coroutine[Any, Any, None]]


def told(tmp_path: Path, story: Story) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        try:
            await story(bench)
        finally:
            bench.disk.syncs.open()
            bench.disk.settling.open()
            await bench.close()

    run(whole())


def test_no_ticket_is_done_before_its_sync(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.disk.syncs.shut()
        log = bench.log()
        ticket = bench.stage(log, "a")
        await turns(50)
        assert not ticket.done
        assert log.marks.durable == 0
        bench.disk.syncs.open()
        assert await ticket == "a"
        assert log.marks.durable == 1

    told(tmp_path, story)


def test_tickets_are_answered_in_order_and_readers_are_told_after_them(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        for name in "abc":
            last = bench.stage(log, name)
        await last
        assert bench.events == ["a", "b", "c", "visible 0"]

    told(tmp_path, story)


def test_what_one_turn_appended_to_all_logs_shares_one_frame_and_one_sync(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        logs = [bench.log(number) for number in range(5)]
        tickets = [bench.stage(logs[n % 5], str(n)) for n in range(20)]
        await tickets[-1]
        assert all(ticket.done for ticket in tickets)
        assert bench.metrics.value(m.SYNCS) == bench.metrics.value(m.FRAMES) == 1
        assert bench.metrics.value(m.TURNS) == 1

    told(tmp_path, story)


def test_what_comes_while_a_sync_is_under_way_shares_the_next_one(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        bench.disk.syncs.shut()
        first = bench.stage(log, "a")
        await turns()
        for name in "bcd":
            last = bench.stage(log, name)
            await turns()
        bench.disk.syncs.open()
        await last
        assert first.done
        assert bench.metrics.value(m.SYNCS) == bench.metrics.value(m.FRAMES) == 2

    told(tmp_path, story)


def test_records_of_an_os_topic_are_visible_when_they_are_written(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.disk.syncs.shut()
        quick, careful = bench.log(0, is_os=True), bench.log(1)
        tickets = [bench.stage(careful, "sync"), bench.stage(quick, "os")]
        await turns()
        assert [ticket.done for ticket in tickets] == [False, True]
        assert (quick.marks.written, quick.marks.durable, quick.visible) == (1, 0, 1)
        assert bench.events == ["os", "visible 0"]
        # A sync is under way now, and the next ones do not wait for it.
        assert bench.stage(quick, "again").done is False
        await turns()
        assert bench.events[2:] == ["again", "visible 0"]

    told(tmp_path, story)


def test_a_turn_beyond_a_quarter_of_a_file_is_several_frames_and_no_batch_is_split(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        appended = log.append([batch(b"x" * 9000) for _ in range(4)], leader_epoch=0, now_ms=0)
        assert isinstance(appended, Appended)
        await bench.committer.stage(log, 0, appended.next, appended.buffers, "all")
        assert bench.metrics.value(m.FRAMES) == 4
        assert bench.metrics.value(m.SYNCS) == 1
        assert log.marks.durable == 4

    told(tmp_path, story)


def test_a_batch_larger_than_every_file_waits_for_one_of_its_size(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        assert await bench.stage(log, b"x" * (1 << 17)) == "bytes"
        assert await bench.stage(log, "behind it") == "behind it"
        assert log.marks.durable == 2

    told(tmp_path, story)


def test_an_answer_that_saw_an_unsynced_append_waits_for_it(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.disk.syncs.shut()
        log = bench.log()
        bench.stage(log, "a")
        repeated: Ticket[str] = bench.committer.follow(log, 1, "a again")
        refused: Ticket[str] = bench.committer.follow(
            log, 1, OutOfOrderSequence(producer_id=1, found=5, expected=1)
        )
        await turns(50)
        assert not repeated.done
        assert not refused.done
        bench.disk.syncs.open()
        assert await repeated == "a again"
        with pytest.raises(OutOfOrderSequence):
            await refused

    told(tmp_path, story)


def test_an_answer_that_saw_only_what_is_durable_comes_at_once(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        await bench.stage(log, "a")
        assert bench.committer.follow(log, 1, "a again").result() == "a again"

    told(tmp_path, story)


def test_after_a_failed_sync_nothing_is_acknowledged_or_visible_any_more(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log, other = bench.log(0), bench.log(1)
        tickets = [bench.stage(log, "a"), bench.stage(other, "b")]
        bench.disk.syncs.fail(FAILED)
        for ticket in tickets:
            with pytest.raises(DiskFailed):
                await ticket
        late = bench.stage(log, "c")
        assert late.error is FAILED
        await turns(50)
        assert log.marks.durable == other.marks.durable == 0
        assert bench.committer.failed is FAILED
        assert bench.failures[0] is FAILED

    told(tmp_path, story)


def test_a_fault_of_our_own_in_a_job_is_the_end_too(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        bench.disk.syncs.error = None
        bench.disk.syncs.go_through = _breaks  # type: ignore[method-assign]  # a fault nobody planned
        with pytest.raises(DiskFailed, match="ZeroDivisionError"):
            await bench.stage(log, "a")
        assert len(bench.failures) == 1

    told(tmp_path, story)


def _breaks() -> None:
    raise ZeroDivisionError


def test_a_detached_log_is_let_go_when_the_round_that_has_it_is_over(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        await bench.stage(log, "a")
        bench.disk.settling.shut()
        bench.settler.round()
        bench.disk.syncs.shut()
        ticket = bench.stage(log, "b")
        await turns()
        detached = bench.committer.detach(log, UnknownTopic(topic="orders"))
        with pytest.raises(UnknownTopic):
            await ticket
        await turns(50)
        assert not detached.done
        bench.disk.settling.open()
        await detached
        assert bench.events == ["a", "visible 0", "no b"]

    told(tmp_path, story)


def test_a_detached_log_without_a_round_is_let_go_at_once(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        ticket = bench.stage(log, "a")
        assert bench.committer.detach(log, UnknownTopic(topic="orders")).done
        assert ticket.done

    told(tmp_path, story)


def test_closing_writes_what_was_staged(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        ticket = bench.stage(bench.log(), "a")
        await bench.close()
        assert ticket.result() == "a"

    run(whole())


def test_closing_after_a_failure_comes_to_an_end(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bench.disk.syncs.fail(FAILED)
        ticket = bench.stage(bench.log(), "a")
        closing = asyncio.ensure_future(bench.close())
        with pytest.raises(DiskFailed):
            await ticket
        await closing

    run(whole())


def test_a_cancelled_answer_is_dropped_and_its_append_is_not(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        ticket = bench.stage(log, "a")
        ticket.cancel()
        await bench.stage(log, "b")
        assert log.marks.durable == 2
        assert bench.events == ["b", "visible 0"]

    told(tmp_path, story)


@pytest.mark.parametrize("error", [FAILED, ZeroDivisionError()])
def test_a_frame_that_cannot_be_written_is_the_end_and_leaves_no_ticket_open(
    tmp_path: Path, error: Exception
) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)

        def refuse(entries: Sequence[Entry]) -> Written:
            raise error

        bench.store.commit_log.write = refuse  # type: ignore[method-assign]  # a disk that fails
        tickets = [bench.stage(bench.log(0), "a"), bench.stage(bench.log(1), "b")]
        await bench.close()
        assert [type(ticket.error) for ticket in tickets] == [DiskFailed, DiskFailed]
        assert bench.failures == [bench.committer.failed]

    run(whole())


def test_a_sync_whose_end_breaks_is_the_end_and_leaves_no_ticket_open(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bad, good = bench.log(0), bench.log(1)
        bad.note_durable = lambda offset: _breaks()  # type: ignore[method-assign]  # a fault nobody planned
        tickets = [bench.stage(bad, "a"), bench.stage(good, "b")]
        await bench.committer.close()
        assert all(ticket.done for ticket in tickets)
        assert isinstance(tickets[0].error, DiskFailed)
        assert bench.failures == [bench.committer.failed]
        bench.work.close()

    run(whole())


def test_a_log_that_an_answer_closes_is_let_go_once_and_the_others_are_answered(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        first, other = bench.log(0), bench.log(1)
        tickets = [bench.stage(first, "a"), bench.stage(other, "b")]
        tickets[0].add_callback(lambda _: _drop(bench, first))
        await bench.close()
        assert [ticket.result() for ticket in tickets] == ["a", "b"]
        assert bench.events == ["a", "b", "visible 1"]
        assert bench.failures == []

    run(whole())


def test_an_answer_that_closes_another_log_does_not_keep_a_failure_from_being_told(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bench.disk.syncs.fail(FAILED)
        logs = [bench.log(n) for n in range(3)]
        tickets = [bench.stage(log, str(n)) for n, log in enumerate(logs)]
        tickets[0].add_callback(lambda _: _drop(bench, logs[1]))
        await bench.close()
        assert bench.failures == [FAILED]
        assert [ticket.error is None for ticket in tickets] == [False, False, False]

    run(whole())


def _drop(bench: Bench, log: PartitionLog) -> None:
    bench.committer.detach(log, UnknownTopic(topic="orders"))


def test_a_failure_is_told_to_the_owner_before_it_is_answered(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bench.disk.syncs.fail(FAILED)
        ticket = bench.stage(bench.log(), "a")
        ticket.add_callback(lambda _: bench.events.append(f"{len(bench.failures)} failure known"))
        await bench.close()
        assert bench.events == ["no a", "1 failure known"]

    run(whole())


def test_an_owner_that_breaks_when_told_leaves_no_ticket_open(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path, on_failure=lambda _: _breaks())
        asyncio.get_running_loop().set_exception_handler(lambda *_: bench.events.append("reported"))
        bench.disk.syncs.fail(FAILED)
        tickets = [bench.stage(bench.log(n), str(n)) for n in range(3)]
        await bench.close()
        assert [ticket.error for ticket in tickets] == [FAILED, FAILED, FAILED]
        assert bench.events == ["reported", "no 0", "no 1", "no 2"]

    run(whole())


def test_a_deleted_log_s_records_that_wait_for_room_hold_nobody_back(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log, other = bench.log(0), bench.log(1)
        bench.disk.settling.shut()
        committer = bench.committer
        while not committer._lacks_room or committer._preparing is not None:
            if not committer.is_full:
                bench.stage(log, b"x" * 12_000)
            await turns()
        held = committer.hold(lambda: bench.stage(other, "held"))
        _drop(bench, log)
        bench.disk.settling.open()
        assert await held == "held"

    told(tmp_path, story)


def test_what_was_held_back_fails_with_the_disk(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        log = bench.log()
        bench.disk.syncs.fail(FAILED)
        ticket = bench.stage(log, "a")
        held = bench.committer.hold(lambda: bench.stage(log, "b"))
        await bench.close()
        assert (ticket.error, held.error) == (FAILED, FAILED)
        assert bench.committer.hold(lambda: bench.stage(log, "c")).error is FAILED

    run(whole())


def test_what_was_written_during_a_sync_is_synced_though_nothing_follows_it(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.disk.syncs.shut()
        quick, careful = bench.log(0, is_os=True), bench.log(1)
        first = bench.stage(careful, "first")
        await turns()
        bench.stage(quick, "os")
        second = bench.stage(careful, "second")
        await turns()
        assert (careful.marks.written, careful.marks.durable) == (2, 0)
        bench.disk.syncs.open()
        assert await first == "first"
        assert await second == "second"
        assert bench.metrics.value(m.SYNCS) == 2
        assert bench.metrics.value(m.ROUNDS) == 0

    told(tmp_path, story)

"""The turn: side by side, in order, after the sync, and not at all after a failure."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from onelog import metrics as m
from onelog.broker.committer import Committer
from onelog.errors import DiskFailed, OnelogError, OutOfOrderSequence, UnknownTopic
from onelog.metrics import Metrics
from onelog.storage.disk import Disk
from onelog.storage.handles import Handles
from onelog.storage.home import Home
from onelog.storage.log import Appended, LogSettings, PartitionLog
from onelog.storage.producers import Producers
from onelog.ticket import Ticket
from tests.support.brokers import batch
from tests.support.gates import GatedDisk
from tests.support.virtual_clock import run, turns

FAILED = DiskFailed(path="orders-0", doing="syncing", found="Input/output error")


class Bench:
    """A committer and logs of its own, without a broker."""

    def __init__(self, path: Path) -> None:
        self.disk = GatedDisk()
        self.path = path
        self.metrics = Metrics()
        self.failures: list[OnelogError] = []
        self.events: list[str] = []
        self.committer = Committer(threads=4, metrics=self.metrics, on_failure=self.failures.append)

    def log(self, partition: int = 0, *, disk: Disk | None = None) -> PartitionLog:
        disk = disk or self.disk
        home = Home(disk, str(self.path), topic="orders", partition=partition, topic_id=UUID(int=7))
        log = PartitionLog(
            home, Handles(disk), settings=LogSettings(), segments=[], producers=Producers(), start=0
        )
        self.committer.attach(log, on_visible=lambda: self.events.append(f"visible {partition}"))
        return log

    def stage(self, log: PartitionLog, name: str) -> Ticket[str]:
        appended = log.append([batch(name)], leader_epoch=0, now_ms=0)
        assert isinstance(appended, Appended)
        ticket = self.committer.stage(log, appended.base, appended.next, appended.buffers, name)
        ticket.add_callback(lambda done: self.events.append(name if done.error is None else f"no {name}"))
        return ticket


Story = Callable[[Bench], Coroutine[Any, Any, None]]


def told(tmp_path: Path, story: Story) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        try:
            await story(bench)
        finally:
            bench.disk.syncs.open()
            await bench.committer.close()

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


def test_what_one_turn_appended_to_a_log_shares_one_sync(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        tickets = [bench.stage(log, str(n)) for n in range(20)]
        await tickets[-1]
        assert bench.disk.syncs.passed == 1
        assert bench.metrics.value(m.TURNS) == 1

    told(tmp_path, story)


def test_what_comes_while_a_job_runs_is_written_by_the_next_one(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        bench.disk.syncs.shut()
        first = bench.stage(log, "a")
        await turns()
        later = [bench.stage(log, name) for name in "bcd"]
        await turns()
        bench.disk.syncs.open()
        await later[-1]
        assert first.done
        assert bench.disk.syncs.passed == 2

    told(tmp_path, story)


def test_a_log_whose_sync_is_slow_does_not_hold_up_another(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        slow_disk = GatedDisk()
        slow_disk.syncs.shut()
        slow = bench.stage(bench.log(0, disk=slow_disk), "slow")
        await bench.stage(bench.log(1), "fast")
        assert not slow.done
        slow_disk.syncs.open()
        await slow

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
        good_disk = GatedDisk()
        good_disk.syncs.shut()
        good, bad = bench.log(0, disk=good_disk), bench.log(1)
        pending = bench.stage(good, "a")
        bench.disk.syncs.fail(FAILED)
        for ticket in (bench.stage(bad, "b"), pending):
            with pytest.raises(DiskFailed):
                await ticket
        good_disk.syncs.open()
        await turns(50)
        late = bench.stage(good, "c")
        assert late.error is FAILED
        assert good.marks.durable == 0
        assert bench.committer.failed is FAILED
        assert bench.failures == [FAILED]

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


def test_a_detached_log_is_let_go_when_its_job_is_done(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        log = bench.log()
        bench.disk.syncs.shut()
        ticket = bench.stage(log, "a")
        await turns()
        detached = bench.committer.detach(log, UnknownTopic(topic="orders"))
        with pytest.raises(UnknownTopic):
            await ticket
        await turns(50)
        assert not detached.done
        bench.disk.syncs.open()
        await detached
        assert bench.events == ["no a"]

    told(tmp_path, story)


def test_a_detached_log_without_a_job_is_let_go_at_once(tmp_path: Path) -> None:
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
        await bench.committer.close()
        assert ticket.result() == "a"

    run(whole())


def test_closing_after_a_failure_comes_to_an_end(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bench.disk.syncs.fail(FAILED)
        ticket = bench.stage(bench.log(), "a")
        closing = asyncio.ensure_future(bench.committer.close())
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


def _refuse_to_begin(log: PartitionLog, error: Exception) -> None:
    def begin_write() -> None:
        raise error

    log.begin_write = begin_write  # type: ignore[method-assign]  # a file that cannot be opened


@pytest.mark.parametrize("error", [FAILED, ZeroDivisionError()])
def test_a_job_that_cannot_be_planned_is_the_end_and_leaves_no_ticket_open(
    tmp_path: Path, error: Exception
) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bad, good = bench.log(0), bench.log(1)
        _refuse_to_begin(bad, error)
        tickets = [bench.stage(bad, "a"), bench.stage(good, "b")]
        await bench.committer.close()
        assert [type(ticket.error) for ticket in tickets] == [DiskFailed, DiskFailed]
        assert bench.failures == [bench.committer.failed]

    run(whole())


def test_a_job_whose_end_breaks_is_the_end_and_leaves_no_ticket_open(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bad, good = bench.log(0), bench.log(1)
        bad.end_write = lambda job: _breaks()  # type: ignore[method-assign]  # a fault nobody planned
        tickets = [bench.stage(bad, "a"), bench.stage(good, "b")]
        await bench.committer.close()
        assert all(ticket.done for ticket in tickets)
        assert isinstance(tickets[0].error, DiskFailed)
        assert bench.failures == [bench.committer.failed]

    run(whole())


def test_a_log_that_an_answer_closes_is_let_go_once_and_the_others_are_answered(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        first, other = bench.log(0), bench.log(1)
        detached: list[Ticket[None]] = []

        def detach(_: Ticket[str]) -> None:
            detached.append(bench.committer.detach(first, UnknownTopic(topic="orders")))
            assert not detached[0].done  # its job is not over yet

        tickets = [bench.stage(first, "a"), bench.stage(other, "b")]
        tickets[0].add_callback(detach)
        await bench.committer.close()
        assert detached[0].done
        assert [ticket.result() for ticket in tickets] == ["a", "b"]
        assert bench.failures == []

    run(whole())


def test_an_answer_that_closes_another_log_does_not_keep_a_failure_from_being_told(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        bench.disk.syncs.fail(FAILED)
        logs = [bench.log(n) for n in range(3)]
        tickets = [bench.stage(log, str(n)) for n, log in enumerate(logs)]
        tickets[0].add_callback(lambda _: _drop(bench, logs[1]))
        await bench.committer.close()
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
        await bench.committer.close()
        assert bench.events == ["no a", "1 failure known"]

    run(whole())


def test_an_owner_that_breaks_when_told_leaves_no_ticket_open(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        asyncio.get_running_loop().set_exception_handler(lambda *_: bench.events.append("reported"))
        bench.committer = Committer(threads=4, metrics=bench.metrics, on_failure=lambda _: _breaks())
        bench.disk.syncs.fail(FAILED)
        tickets = [bench.stage(bench.log(n), str(n)) for n in range(3)]
        await bench.committer.close()
        assert [ticket.error for ticket in tickets] == [FAILED, FAILED, FAILED]
        assert bench.events == ["reported", "no 0", "no 1", "no 2"]

    run(whole())

"""What is handed to threads comes back on the loop, how it ended included."""

import asyncio
import threading

import pytest

from onelog.broker.work import LoopWork
from onelog.errors import DiskFailed
from tests.support.virtual_clock import run, turns, virtual_clock

FAILED = DiskFailed(path="orders-0", doing="syncing", found="Input/output error")


def _raise() -> None:
    raise FAILED


@pytest.mark.parametrize("which", ["sync", "run"])
def test_a_job_is_done_in_a_thread_and_told_on_the_loop(which: str) -> None:
    async def story() -> None:
        work = LoopWork(threads=2)
        told: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        threads: list[threading.Thread] = []
        hand_over = getattr(work, which)
        hand_over(lambda: threads.append(threading.current_thread()), told.set_result)
        assert await told is None
        assert threads[0] is not threading.current_thread()
        failing: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        hand_over(_raise, failing.set_result)
        assert await failing is FAILED
        work.close()

    run(story())


def test_syncs_are_one_at_a_time_and_do_not_wait_for_other_jobs() -> None:
    async def story() -> None:
        work = LoopWork(threads=1)
        gate = threading.Event()
        work.run(lambda: _passed(gate), lambda _: None)
        synced: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        work.sync(lambda: None, synced.set_result)
        assert await synced is None
        gate.set()
        work.close()

    run(story())


def _passed(gate: threading.Event) -> None:
    assert gate.wait(30)


def test_work_after_the_close_ends_with_an_error() -> None:
    async def story() -> None:
        work = LoopWork(threads=1)
        work.close()
        told: list[BaseException | None] = []
        work.run(lambda: None, told.append)
        await turns()
        assert isinstance(told[0], RuntimeError)

    run(story())


def test_soon_later_and_now_go_by_the_loop() -> None:
    async def story() -> None:
        work = LoopWork(threads=1)
        done: list[str] = []
        work.later(5.0, lambda: done.append("later"))
        work.later(1.0, lambda: done.append("never")).cancel()
        work.soon(lambda: done.append("soon"))
        before = work.now_s()
        await turns()
        assert done == ["soon"]
        await virtual_clock().advance(5001)
        assert done == ["soon", "later"]
        assert work.now_s() - before > 5
        work.close()

    run(story())


def test_a_fault_is_the_loops_to_report() -> None:
    async def story() -> None:
        told: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
        work = LoopWork(threads=1)
        work.report("on_failure failed", FAILED)
        assert told == ["on_failure failed"]
        work.close()

    run(story())

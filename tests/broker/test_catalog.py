"""A turn's changes in one transaction, in order; barriers; a failure like that of a sync."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onelog import metrics as m
from onelog.broker import directory
from onelog.broker.catalog import MIGRATIONS, Catalog, Statement
from onelog.errors import DiskFailed, DiskFull, OnelogError
from onelog.metrics import Metrics
from tests.support.gates import Gate, GatedCatalog
from tests.support.virtual_clock import run, turns, virtual_clock

FAILED = DiskFailed(path="onelog.db", doing="syncing", found="Input/output error")


class Bench:
    def __init__(self, path: Path) -> None:
        self.gate = Gate()
        self.metrics = Metrics()
        self.failures: list[OnelogError] = []
        self.file = GatedCatalog.behind(self.gate, str(path / "onelog.db"), MIGRATIONS)
        self.catalog = Catalog(self.file, metrics=self.metrics, on_failure=self.failures.append)

    def keys(self) -> list[str]:
        return [key for (key,) in self.catalog.rows("SELECT key FROM meta ORDER BY key")]


def _put(key: str) -> Statement:
    return ("INSERT INTO meta VALUES (?, 'here')", (key,))


def told(tmp_path: Path, story: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        try:
            await story(bench)
        finally:
            bench.gate.open()
            await bench.catalog.close()
            bench.file.close()

    run(whole())


def test_a_change_is_answered_when_its_transaction_is_done(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.gate.shut()
        ticket = bench.catalog.write([_put("a")])
        await turns(50)
        assert not ticket.done
        bench.gate.open()
        await ticket
        assert bench.keys() == ["a"]

    told(tmp_path, story)


def test_the_changes_of_a_turn_share_one_transaction(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        tickets = [bench.catalog.write([_put(key)]) for key in "abc"]
        await tickets[-1]
        assert bench.metrics.value(m.CATALOG_TRANSACTIONS) == 1
        assert bench.keys() == ["a", "b", "c"]

    told(tmp_path, story)


def test_what_comes_while_a_transaction_runs_is_in_the_next_one(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        order: list[str] = []
        bench.gate.shut()
        bench.catalog.write([_put("a")]).add_callback(partial(_note, order, "a"))
        await turns()
        for key in "bc":
            bench.catalog.write([_put(key)]).add_callback(partial(_note, order, key))
        await turns()
        bench.gate.open()
        await bench.catalog.barrier()
        assert order == ["a", "b", "c"]
        assert bench.metrics.value(m.CATALOG_TRANSACTIONS) == 2

    told(tmp_path, story)


def _note(order: list[str], key: str, _: object) -> None:
    order.append(key)


def test_a_barrier_waits_for_every_change_before_it(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        assert bench.catalog.barrier().done
        bench.gate.shut()
        bench.catalog.write([_put("a")])
        behind_waiting = bench.catalog.barrier()
        await turns()
        behind_running = bench.catalog.barrier()
        await turns(50)
        assert not behind_waiting.done
        assert not behind_running.done
        bench.gate.open()
        await behind_waiting
        await behind_running
        assert bench.keys() == ["a"]
        assert bench.catalog.barrier().done

    told(tmp_path, story)


def test_a_failed_transaction_is_the_end(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.gate.shut()
        running = bench.catalog.write([_put("a")])
        await turns()
        waiting = bench.catalog.write([_put("b")])
        bench.gate.fail(FAILED)
        for ticket in (running, waiting):
            with pytest.raises(DiskFailed):
                await ticket
        assert bench.catalog.write([_put("c")]).error is FAILED
        assert bench.catalog.barrier().error is FAILED
        assert bench.failures == [FAILED]
        assert bench.keys() == []

    told(tmp_path, story)


def test_a_transaction_that_ends_after_another_failure_is_not_acknowledged(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.gate.shut()
        ticket = bench.catalog.write([_put("a")])
        await turns()
        bench.catalog.fail(FAILED)
        assert ticket.error is FAILED
        bench.gate.open()
        await turns(50)
        assert bench.failures == [FAILED]

    told(tmp_path, story)


def test_a_statement_that_cannot_be_takes_its_whole_transaction_along(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        await bench.catalog.write([_put("a")])
        with pytest.raises(OnelogError):
            await bench.catalog.write([_put("b"), _put("a")])
        assert bench.keys() == ["a"]

    told(tmp_path, story)


def test_closing_writes_what_is_pending(tmp_path: Path) -> None:
    async def whole() -> None:
        bench = Bench(tmp_path)
        ticket = bench.catalog.write([_put("a")])
        await bench.catalog.close()
        assert ticket.done
        assert bench.keys() == ["a"]
        bench.file.close()

    run(whole())


def test_a_failure_is_told_to_the_owner_before_it_is_answered(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.gate.fail(FAILED)
        known: list[int] = []
        ticket = bench.catalog.write([_put("a")])
        ticket.add_callback(lambda _: known.append(len(bench.failures)))
        with pytest.raises(DiskFailed):
            await ticket
        assert known == [1]

    told(tmp_path, story)


def test_an_owner_that_breaks_when_told_leaves_no_ticket_open(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        reported: list[BaseException] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
        bench.catalog = Catalog(bench.file, metrics=bench.metrics, on_failure=_breaks)
        bench.gate.fail(FAILED)
        tickets = [bench.catalog.write([_put(key)]) for key in "ab"]
        await bench.catalog.close()
        assert [ticket.error for ticket in tickets] == [FAILED, FAILED]
        assert [type(error) for error in reported] == [ZeroDivisionError]

    told(tmp_path, story)


def _breaks(_: OnelogError) -> None:
    raise ZeroDivisionError


def test_a_change_after_the_end_is_refused_and_does_not_wait(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        await bench.catalog.close()
        with pytest.raises(DiskFailed):
            await bench.catalog.write([_put("a")])
        assert bench.catalog.barrier().done

    told(tmp_path, story)


def test_a_transaction_without_room_is_tried_again_in_its_order_and_its_answers_wait(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.gate.error = DiskFull(path="onelog.db", doing="writing a transaction")
        order: list[str] = []
        first = bench.catalog.write([_put("a")])
        first.add_callback(partial(_note, order, "a"))
        barrier = bench.catalog.barrier()
        while bench.catalog._in_flight is not None or not bench.catalog._waiting or bench.catalog._sent == []:
            await turns()
        bench.catalog.write([_put("b")]).add_callback(partial(_note, order, "b"))
        assert not first.done
        assert not barrier.done
        bench.gate.error = None
        await virtual_clock().advance(1000)
        await bench.catalog.barrier()
        assert order == ["a", "b"]
        assert bench.keys() == ["a", "b"]
        assert bench.failures == []

    told(tmp_path, story)


def test_every_transaction_is_counted(tmp_path: Path) -> None:
    async def story(bench: Bench) -> None:
        bench.catalog.write_now([_put("a")])
        await bench.catalog.write([_put("b")])
        assert bench.catalog.transaction == 2
        assert directory.load(bench.catalog.rows).transaction == 2

    told(tmp_path, story)

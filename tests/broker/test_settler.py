"""Rounds: when they begin, that there is one at a time, and what becomes of those who wait for them."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from onelog import metrics as m
from onelog.broker.settler import Settler
from onelog.errors import DiskFailed, DiskFull, PartitionClosed
from onelog.storage import ends as roots
from onelog.storage.settle import Round
from tests.support.brokers import Desk, batch, numbered, open_desk, values
from tests.support.virtual_clock import run, turns

FAILED = DiskFailed(path="orders-0", doing="syncing", found="Input/output error")
SEGMENT = "0" * 20 + ".log"
Story = Callable[[Desk], Coroutine[Any, Any, None]]


def _settler(desk: Desk) -> Settler:
    return desk.broker._parts.settler


def _settled(desk: Desk, partition: int = 0) -> int:
    return desk.broker._parts.served.partition("orders", partition).log.marks.settled


def told(tmp_path: Path, story: Story) -> None:
    async def whole() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            await story(desk)

    run(whole())


async def _rounds(desk: Desk, count: int) -> None:
    """Until so many rounds have ended."""
    while desk.broker.metrics.value(m.ROUNDS) < count:
        await turns()


def test_a_log_that_is_left_alone_is_settled_by_itself(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        await desk.clock.advance(1900)
        assert not (tmp_path / "orders-0").exists()
        await desk.clock.advance(200)
        await _rounds(desk, 1)
        assert _settled(desk) == 1
        assert (tmp_path / "orders-0" / SEGMENT).stat().st_size == batch("a").size
        assert values(desk.read()) == ["a"]

    told(tmp_path, story)


def test_half_full_tails_are_settled_without_waiting(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        desk.broker._parts.committer._tail_bytes_max = 10_000
        for _ in range(6):
            await desk.append(batch(b"x" * 1000))
        await _rounds(desk, 1)
        assert _settled(desk) > 0

    told(tmp_path, story)


def test_one_round_at_a_time_and_the_next_one_begins_when_it_has_ended(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        desk.disk.settling.shut()
        first = _settler(desk).round()
        await desk.append(batch("b"), partition=1)
        later = [_settler(desk).round() for _ in range(3)]
        await turns(50)
        assert not first.done
        desk.disk.settling.open()
        await first
        assert _settled(desk, 1) == 0
        for ticket in later:
            await ticket
        assert _settled(desk, 1) == 1
        assert desk.broker.metrics.value(m.ROUNDS) == 2

    told(tmp_path, story)


def test_appends_and_reads_go_on_during_a_round(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        desk.disk.settling.shut()
        settling = _settler(desk).round()
        await desk.append(batch("b"))
        assert values(desk.read()) == ["a", "b"]
        desk.disk.settling.open()
        await settling
        assert values(desk.read()) == ["a", "b"]
        assert values(desk.read(1)) == ["b"]
        assert _settled(desk) == 1

    told(tmp_path, story)


def test_what_is_settled_before_its_sync_is_durable_and_answered(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        desk.syncs.shut()
        ticket = desk.append(batch("a"))
        await turns()
        await desk.settle()
        assert ticket.done
        assert values(desk.read()) == ["a"]

    told(tmp_path, story)


def test_a_tail_that_a_reader_holds_is_dropped_and_his_batches_stay(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        held = desk.read()
        await desk.settle()
        assert _settled(desk) == 1
        assert values(held) == ["a"]

    told(tmp_path, story)


def test_producers_are_known_across_a_settled_tail(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        first = await desk.append(numbered(0, "a"))
        await desk.settle()
        assert await desk.append(numbered(0, "a")) == first

    told(tmp_path, story)


def test_a_failed_sync_of_a_segment_is_the_end(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        desk.disk.settling.fail(FAILED)
        with pytest.raises(DiskFailed):
            await _settler(desk).round()
        assert desk.failures == [FAILED]
        assert desk.append(batch("b")).error is FAILED
        assert _settler(desk).round().error is FAILED

    told(tmp_path, story)


def test_a_log_without_room_is_left_out_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        await desk.append(batch("b"), partition=1)
        place = desk.broker._parts.served.partition("orders", 0).log.first_frame
        assert place is not None
        desk.disk.settling.error = DiskFull(path="orders-0", doing="writing")
        await desk.settle()
        assert (_settled(desk, 0), _settled(desk, 1)) == (0, 0)
        assert _settler(desk)._store.ends.first == place.lsn
        assert desk.failures == []
        desk.disk.settling.error = None
        await desk.clock.advance(1100)
        await _rounds(desk, 2)
        assert (_settled(desk, 0), _settled(desk, 1)) == (1, 1)
        assert values(desk.read()) == ["a"]

    told(tmp_path, story)


def test_a_root_without_room_has_no_effect_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))

        def full(*_: object) -> None:
            raise DiskFull(path="onelog.ends.new", doing="writing")

        with monkeypatch.context() as no_room:
            no_room.setattr(roots, "write", full)
            await desk.settle()
        assert _settled(desk) == 0
        assert values(desk.read()) == ["a"]
        await desk.clock.advance(1100)
        await _rounds(desk, 1)
        assert _settled(desk) == 1

    told(tmp_path, story)


def test_a_log_that_closes_while_serving_does_not_hold_the_commit_log(tmp_path: Path) -> None:
    async def whole() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            await desk.append(batch("a"))
            await desk.settle()
            await desk.append(batch("b"))
            (tmp_path / "orders-0" / SEGMENT).rename(tmp_path / "away")
            desk.broker._parts.served.partition("orders", 0).log._handles.forget(str(tmp_path / "orders-0"))
            with pytest.raises(PartitionClosed):
                desk.read()
            await desk.settle()
            store = _settler(desk)._store
            assert store.ends.first == store.commit_log.end
            assert list(tmp_path.glob("onelog.tail.*"))
        (tmp_path / "away").rename(tmp_path / "orders-0" / SEGMENT)
        async with open_desk(tmp_path) as desk:
            assert values(desk.read()) == ["a", "b"]
            assert not list(tmp_path.glob("onelog.tail.*"))

    run(whole())


def test_a_fault_of_ours_in_a_round_is_the_end_and_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        monkeypatch.setattr(Round, "root", lambda *_, **__: 1 / 0)
        behind = desk.broker._parts.committer.behind()
        with pytest.raises(DiskFailed, match="ZeroDivisionError"):
            await _settler(desk).round()
        assert isinstance(behind.error, DiskFailed)
        assert len(desk.failures) == 1

    told(tmp_path, story)


def test_what_waits_for_the_commit_log_to_be_past_it_is_told(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        assert desk.broker._parts.committer.behind().done
        await desk.append(batch("a"))
        behind = desk.broker._parts.committer.behind()
        assert not behind.done
        await desk.settle()
        assert behind.done

    told(tmp_path, story)


def test_a_stop_settles_everything_and_the_root_says_that_nothing_is_pending(tmp_path: Path) -> None:
    async def whole() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
        ends = roots.decoded((tmp_path / "onelog.ends").read_bytes(), path="onelog.ends")
        assert ends.is_clean
        assert [said.next for said in ends.logs.values()] == [1]

    run(whole())


def test_a_log_whose_segment_a_round_cannot_open_is_closed_and_the_others_are_settled(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.append(batch("a"))
        await desk.settle()
        await desk.append(batch("b"))
        await desk.append(batch("x"), partition=1)
        (tmp_path / "orders-0" / SEGMENT).unlink()
        desk.broker._parts.served.partition("orders", 0).log._handles.forget(str(tmp_path / "orders-0"))
        await desk.settle()
        with pytest.raises(PartitionClosed, match="No such file"):
            desk.read()
        assert _settled(desk, 1) == 1
        assert list(tmp_path.glob("onelog.tail.*"))
        assert desk.failures == []

    told(tmp_path, story)

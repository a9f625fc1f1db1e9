"""Growth is refused before the disk is full, and allowed again when there is clearly room."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onelog.broker.broker import Commit
from onelog.broker.space import MARGIN_BYTES, Space
from onelog.errors import DiskFailed, DiskFull
from onelog.storage.disk import RealDisk
from tests.support.brokers import ORDERS, SMALL_FILES, batch, open_desk, values
from tests.support.virtual_clock import run

RESERVE = SMALL_FILES.tail_bytes_max + MARGIN_BYTES


def _free(monkeypatch: pytest.MonkeyPatch, room: Callable[[], int]) -> None:
    monkeypatch.setattr(RealDisk, "free_bytes", lambda self, path: room())


def test_below_the_reserve_records_are_refused_and_everything_else_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        room = [RESERVE]
        _free(monkeypatch, lambda: room[0])
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            room[0] = RESERVE - 1
            await desk.clock.advance(1000)
            with pytest.raises(DiskFull, match="keeping"):
                await desk.append(batch("b"))
            assert values(desk.read()) == ["a"]
            assert await desk.broker.delete_records("orders", 0, 1) == 1
            assert await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 1)]) == [None]
            room[0] = RESERVE
            await desk.clock.advance(1000)
            assert isinstance(desk.append(batch("b")).error, DiskFull), "it may be full again at once"
            room[0] = RESERVE + MARGIN_BYTES // 2
            await desk.clock.advance(1000)
            assert (await desk.append(batch("b"))).first == 1
            assert desk.failures == []

    run(story())


def test_a_disk_that_does_not_say_is_not_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            space = desk.broker._parts.space
            assert isinstance(space, Space)

            def fails() -> int:
                raise DiskFailed(path="data", doing="asking for free space", found="Input/output error")

            _free(monkeypatch, fails)
            space.look()
            assert space.refusal is None

    run(story())

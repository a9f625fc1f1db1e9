"""A start tells storage what the catalog says, and the catalog what storage found."""

import logging
import shutil
from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import Commit
from onelog.storage.disk import StoreRefused
from tests.support.brokers import ORDERS, batch, open_desk, values
from tests.support.virtual_clock import run

OS = {"durability": "os"}


def _copy(tmp_path: Path, name: str) -> Path:
    """The directory as it is now: what a kill would leave."""
    target = tmp_path / name
    # A file of the commit log may just be made, in a thread.
    shutil.copytree(tmp_path / "data", target, ignore=shutil.ignore_patterns("*.new"))
    return target


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path / "data") as desk:
            await desk.topic()
            await desk.append(batch("a"))
            await desk.settle()
            await desk.append(batch("b"))
            killed = _copy(tmp_path, "killed")
        async with open_desk(killed) as desk:
            assert values(desk.read()) == ["a", "b"]
            assert desk.broker.describe_partition("orders", 0).leader_epoch == 0

    run(story())


def test_a_start_says_that_the_stop_before_was_not_clean_and_a_first_or_clean_one_does_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        caplog.set_level(logging.INFO, logger="onelog")
        async with open_desk(tmp_path / "data") as desk:
            await desk.topic()
            await desk.append(batch("a"))
            killed = _copy(tmp_path, "killed")
        async with open_desk(tmp_path / "data"):
            assert "not clean" not in caplog.text
        async with open_desk(killed):
            assert caplog.text.count("the stop before was not clean") == 1

    run(story())


def test_after_a_stop_that_was_not_clean_clients_of_os_topics_notice(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path / "data") as desk:
            await desk.topic(settings=OS)
            await desk.append(batch("a"))
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 9)])
            killed = _copy(tmp_path, "killed")
        async with open_desk(killed) as desk:
            assert values(desk.read()) == ["a"]
            assert desk.broker.describe_partition("orders", 0).leader_epoch == 1
            (position,) = (await desk.broker.positions("billing")).values()
            assert position.offset == 1, "it was beyond the end"
            assert desk.broker.metrics.value(m.POSITIONS_BROUGHT_BACK) == 1
        async with open_desk(tmp_path / "data") as desk:
            assert desk.broker.describe_partition("orders", 0).leader_epoch == 0
            (position,) = (await desk.broker.positions("billing")).values()
            assert position.offset == 9, "a clean stop takes nothing back"

    run(story())


def test_a_position_beyond_the_end_of_a_sync_topic_stays_as_committed(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path / "data") as desk:
            await desk.topic()
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 9)])
            killed = _copy(tmp_path, "killed")
        async with open_desk(killed) as desk:
            (position,) = (await desk.broker.positions("billing")).values()
            assert position.offset == 9

    run(story())


def test_a_catalog_from_yesterday_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path / "data") as desk:
            await desk.topic()
        yesterday = _copy(tmp_path, "yesterday")
        for _ in range(2):
            async with open_desk(tmp_path / "data") as desk:
                await desk.append(batch("a"))
        shutil.copy(yesterday / "onelog.db", tmp_path / "data" / "onelog.db")
        with pytest.raises(StoreRefused, match="found epoch"):
            async with open_desk(tmp_path / "data"):
                pass

    run(story())


def test_a_directory_of_another_catalog_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        for name in ("data", "other"):
            async with open_desk(tmp_path / name) as desk:
                await desk.topic()
        shutil.copy(tmp_path / "other" / "onelog.db", tmp_path / "data" / "onelog.db")
        with pytest.raises(StoreRefused, match="found directory"):
            async with open_desk(tmp_path / "data"):
                pass

    run(story())


def test_a_directory_of_the_first_form_is_adopted_with_a_line_that_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        caplog.set_level(logging.INFO, logger="onelog")
        async with open_desk(tmp_path / "data") as desk:
            await desk.topic()
            await desk.append(batch("a"))
        for path in (tmp_path / "data").glob("onelog.commit.*"):
            path.unlink()
        (tmp_path / "data" / "onelog.ends").unlink()
        (tmp_path / "data" / "onelog.format").write_bytes(b"onelog data directory\nversion: 1\n")
        caplog.clear()
        for _ in range(2):
            async with open_desk(tmp_path / "data") as desk:
                assert values(desk.read()) == ["a"]
        assert caplog.text.count("1 logs are adopted as they are") == 1

    run(story())

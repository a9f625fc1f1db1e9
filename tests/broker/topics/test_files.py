"""Logs are opened one by one: a damaged one stays closed and says why, the others serve."""

from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import NewTopic
from onelog.errors import DiskFailed, OnelogError, PartitionClosed
from tests.support.brokers import batch, open_desk, values
from tests.support.virtual_clock import run, turns

SEGMENT = "0" * 20 + ".log"


def test_a_log_that_cannot_be_opened_stays_closed_and_the_others_serve(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            for partition in range(2):
                await desk.append(batch("a"), partition=partition)
        (tmp_path / "orders-0" / SEGMENT).unlink()
        (tmp_path / "orders-0" / SEGMENT).mkdir()
        async with open_desk(tmp_path) as desk:
            with pytest.raises(PartitionClosed, match="orders/0 is closed"):
                desk.read()
            refused = desk.append(batch("b"))
            assert isinstance(refused.error, PartitionClosed)
            assert values(desk.read(partition=1)) == ["a"]
            assert desk.failures == []

    run(story())


def test_bytes_that_were_cut_at_the_start_are_counted(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
        # As another program leaves it that was killed.
        (tmp_path / ".kafka_cleanshutdown").unlink()
        with (tmp_path / "orders-0" / SEGMENT).open("ab") as file:
            file.write(b"torn")
        async with open_desk(tmp_path) as desk:
            assert desk.broker.metrics.value(m.BYTES_CUT) == 4
            assert values(desk.read()) == ["a"]

    run(story())


def test_removed_segments_are_counted(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            for partition in range(2):
                await desk.append(batch("a"), partition=partition)
            await desk.settle()
            await desk.broker.delete_topics(["orders"])
            await desk.topic()  # waits for the files of its predecessor
            assert desk.broker.metrics.value(m.SEGMENTS_REMOVED) == 2

    run(story())


def test_a_removal_of_segments_that_is_late_never_meets_the_next_topics_files(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"segment.bytes": str(1 << 20)})
            for _ in range(3):
                await desk.append(batch(b"x" * 900_000))
            await desk.settle()
            desk.disk.removals.shut()
            await desk.broker.delete_records("orders", 0, 2)
            deleting = desk.broker.delete_topics(["orders"])
            making = desk.broker.create_topics([NewTopic("orders")])
            await deleting
            await turns(100)
            assert not making.done
            desk.disk.removals.open()
            await making
            await desk.append(batch("new"))
            assert values(desk.read()) == ["new"]
            await desk.settle()
            assert (tmp_path / "orders-0" / SEGMENT).exists()

    run(story())


def test_a_sync_of_a_directory_that_fails_is_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            await desk.settle()
            failure = DiskFailed(path="orders-0", doing="moving it", found="Input/output error")
            desk.disk.removals.fail(failure)
            await desk.broker.delete_topics(["orders"])
            made = desk.broker.create_topics([NewTopic("orders")])
            with pytest.raises(OnelogError):
                await made
            assert desk.failures == [failure]

    run(story())


def test_a_topic_that_is_durable_when_its_predecessors_removal_fails_is_not_said_to_be_made(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            await desk.settle()
            desk.disk.removals.shut()
            await desk.broker.delete_topics(["orders"])
            made = desk.broker.create_topics([NewTopic("orders")])
            await desk.broker.barrier()
            assert not made.done
            failure = DiskFailed(path="orders-0", doing="moving it", found="Input/output error")
            desk.disk.removals.fail(failure)
            with pytest.raises(DiskFailed):
                await made
            assert desk.failures == [failure]

    run(story())


def test_the_directory_of_all_logs_is_told_with_what_is_free(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            directory = desk.broker.describe_directory()
            assert directory.path == str(tmp_path)
            assert directory.free_bytes > 0

    run(story())

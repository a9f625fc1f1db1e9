"""Where logs begin: durable first, then said, then the files; by hand, by age, by size."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import AlterTopic, Spot
from onelog.errors import DiskFailed, OffsetOutOfRange, PartitionClosed, UnknownTopic
from onelog.storage.log import RemovalJob, SegmentInfo
from tests.support.brokers import SMALL_FILES, Desk, batch, open_desk, values
from tests.support.virtual_clock import START_MS, run, turns

SMALL = {"segment.bytes": str(1 << 20)}
HALF = b"x" * 600_000
DAY_MS = 86_400_000


def _segments(path: Path, partition: int = 0) -> list[int]:
    return sorted(int(p.stem) for p in (path / f"orders-{partition}").glob("*.log"))


async def _three_segments(desk: Desk, settings: dict[str, str]) -> None:
    """Offsets 0, 1 and 2, each in a segment of its own."""
    await desk.topic(settings={**SMALL, **settings})
    for _ in range(3):
        await desk.append(batch(HALF, timestamp_ms=desk.clock.now_ms))
    await desk.settle()


async def _files_settle(desk: Desk) -> None:
    await desk.broker._parts.files._run(lambda: 0)
    await turns()


def test_a_raised_start_is_durable_before_it_is_said_or_a_file_goes(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await _three_segments(desk, {})
            desk.transactions.shut()
            deleting = desk.broker.delete_records("orders", 0, 2)
            await turns(50)
            assert not deleting.done
            assert desk.broker.describe_partition("orders", 0).start == 0
            assert _segments(tmp_path) == [0, 1, 2]
            desk.transactions.open()
            assert await deleting == 2
            with pytest.raises(OffsetOutOfRange):
                desk.read(1)
            await _files_settle(desk)
            assert _segments(tmp_path) == [2]
            assert desk.broker.metrics.value(m.SEGMENTS_REMOVED) == 2
        async with open_desk(tmp_path) as desk:
            assert desk.broker.describe_partition("orders", 0).start == 2

    run(story())


def test_records_in_a_segment_that_stays_are_not_read_any_more(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"), batch("b"))
            assert await desk.broker.delete_records("orders", 0, 1) == 1
            assert values(desk.read(1)) == ["b"]
            assert (await desk.append(batch("c"))).log_start == 1

    run(story())


def test_everything_that_is_there_may_be_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            assert await desk.broker.delete_records("orders", 0, Spot.LATEST) == 0
            await desk.append(batch("a", "b"))
            assert await desk.broker.delete_records("orders", 0, Spot.LATEST) == 2
            assert desk.read(2).batches == []
            assert (await desk.append(batch("c"))).first == 2
        async with open_desk(tmp_path) as desk:
            assert values(desk.read(2)) == ["c"]

    run(story())


@pytest.mark.parametrize("offset", [-1, 2])
def test_a_start_is_within_what_is_visible(tmp_path: Path, offset: int) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            desk.syncs.shut()
            desk.append(batch("b"))
            with pytest.raises(OffsetOutOfRange):
                await desk.broker.delete_records("orders", 0, offset)
            with pytest.raises(UnknownTopic):
                await desk.broker.delete_records("nothing", 0, 0)

    run(story())


def test_a_start_never_goes_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", "b", "c"))
            desk.transactions.shut()
            first = desk.broker.delete_records("orders", 0, 2)
            second = desk.broker.delete_records("orders", 0, 1)
            await turns(50)
            assert not second.done
            desk.transactions.open()
            assert (await first, await second) == (2, 2)
            assert await desk.broker.delete_records("orders", 0, 0) == 2
        async with open_desk(tmp_path) as desk:
            assert desk.broker.describe_partition("orders", 0).start == 2

    run(story())


def test_retention_ms_lets_old_segments_go_and_the_timer_looks(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(
            tmp_path, settings=replace(SMALL_FILES, retention_check_interval_ms=1000)
        ) as desk:
            await _three_segments(desk, {"retention.ms": str(DAY_MS)})
            desk.clock.now_ms += DAY_MS
            await desk.append(batch("new", timestamp_ms=desk.clock.now_ms))
            await desk.settle()
            await desk.clock.advance(1000)
            await desk.broker.barrier()
            assert desk.broker.describe_partition("orders", 0).start == 2
            desk.clock.now_ms += 1
            await desk.clock.advance(1000)
            await desk.broker.barrier()
            await _files_settle(desk)
            assert _segments(tmp_path) == [2]

    run(story())


def test_the_last_records_of_a_silent_topic_go_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"retention.ms": str(DAY_MS)})
            await desk.append(batch("a", timestamp_ms=START_MS))
            await desk.settle()
            desk.clock.now_ms += DAY_MS + 1
            retention = desk.broker._parts.retention
            await retention.check()
            await desk.append(batch("b", timestamp_ms=desk.clock.now_ms))
            await desk.settle()
            await retention.check()
            assert desk.broker.describe_partition("orders", 0).start == 1
            await _files_settle(desk)
            assert _segments(tmp_path) == [1]

    run(story())


def test_retention_bytes_lets_go_what_is_too_much(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await _three_segments(desk, {"retention.bytes": "1"})
            await desk.broker._parts.retention.check()
            assert desk.broker.describe_partition("orders", 0).start == 2

    run(story())


def test_minus_one_keeps_everything(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await _three_segments(desk, {"retention.ms": "-1", "retention.bytes": "-1"})
            desk.clock.now_ms += 1000 * DAY_MS
            await desk.broker._parts.retention.check()
            assert desk.broker.describe_partition("orders", 0).start == 0

    run(story())


def test_segment_bytes_and_segment_ms_end_a_segment(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={**SMALL, "segment.ms": "1000"})
            await desk.append(batch(HALF))
            await desk.append(batch("same"))
            await desk.settle()
            assert _segments(tmp_path) == [0]
            await desk.append(batch(HALF))
            await desk.settle()
            assert _segments(tmp_path) == [0, 2]
            desk.clock.now_ms += 1000
            await desk.append(batch("later"))
            await desk.settle()
            assert _segments(tmp_path) == [0, 2, 3]
            assert desk.broker.describe_partition("orders", 0).segment_count == 3

    run(story())


def test_settings_of_segments_are_in_force_for_what_comes_after_them(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch(HALF))
            await desk.broker.alter_topics([AlterTopic("orders", SMALL)])
            await desk.append(batch(HALF))
            await desk.settle()
            assert _segments(tmp_path) == [0, 1]

    run(story())


def test_index_interval_bytes_says_how_dense_the_index_is(tmp_path: Path) -> None:
    async def story() -> None:
        sizes = []
        for number, interval in enumerate(("100", "100000")):
            path = tmp_path / str(number)
            async with open_desk(path) as desk:
                await desk.topic(settings={"index.interval.bytes": interval})
                for _ in range(20):
                    await desk.append(batch(b"x" * 200))
            sizes.append((path / "orders-0" / ("0" * 20 + ".index")).stat().st_size)
        assert sizes[0] > sizes[1]

    run(story())


def test_forgotten_producers_may_begin_anywhere_after_a_day(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", producer_id=1, producer_epoch=0, base_sequence=0))
            log = desk.broker._parts.served.partition("orders", 0).log
            assert len(log.producers) == 1
            desk.clock.now_ms += DAY_MS
            await desk.broker._parts.retention.check()
            assert len(log.producers) == 0

    run(story())


def _damage(desk: Desk) -> None:
    def fails() -> list[SegmentInfo]:
        raise PartitionClosed(topic="orders", partition=0, reason="no whole batch")

    desk.broker._parts.served.partition("orders", 0).log.segments = fails  # type: ignore[method-assign]  # a damaged segment


def test_a_damaged_log_is_closed_and_the_others_are_looked_at(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(
            tmp_path, settings=replace(SMALL_FILES, retention_check_interval_ms=1000)
        ) as desk:
            await desk.topic(partition_count=2, settings={**SMALL, "retention.bytes": "1"})
            _damage(desk)
            for start in (1, 2):
                for _ in range(2):
                    await desk.append(batch(HALF), partition=1)
                await desk.settle()
                await desk.clock.advance(1000)
                await desk.broker.barrier()
                assert desk.broker.describe_partition("orders", 1).start == 2 * start - 1
            with pytest.raises(PartitionClosed):
                desk.read()

    run(story())


def test_a_fault_of_ours_does_not_end_retention(tmp_path: Path) -> None:
    async def story() -> None:
        reported: list[BaseException] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
        async with open_desk(
            tmp_path, settings=replace(SMALL_FILES, retention_check_interval_ms=1000)
        ) as desk:
            await _three_segments(desk, {"retention.bytes": "1"})
            retention = desk.broker._parts.retention
            real = retention._start_of
            retention._start_of = _breaks  # type: ignore[assignment,method-assign]  # a fault nobody planned
            await desk.clock.advance(1000)
            assert [type(error) for error in reported] == [ZeroDivisionError]
            retention._start_of = real  # type: ignore[method-assign]
            await desk.clock.advance(1000)
            await desk.broker.barrier()
            assert desk.broker.describe_partition("orders", 0).start == 2

    run(story())


def _breaks(*_: object) -> int:
    raise ZeroDivisionError


def test_files_that_cannot_be_let_go_keep_no_other_log_from_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2, settings={**SMALL, "retention.bytes": "1"})
            for partition in (0, 1):
                for _ in range(2):
                    await desk.append(batch(HALF), partition=partition)
            await desk.settle()

            def fails() -> RemovalJob:
                raise DiskFailed(path="orders-0", doing="closing", found="Input/output error")

            log = desk.broker._parts.served.partition("orders", 0).log
            log.remove_segments = fails  # type: ignore[method-assign]  # a handle that does not close
            await desk.broker._parts.retention.check()
            await _files_settle(desk)
            assert _segments(tmp_path, 1) == [1]
            assert [type(failure) for failure in desk.failures] == [DiskFailed]

    run(story())

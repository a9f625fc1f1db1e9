"""Where things stand in a log."""

from functools import partial
from pathlib import Path

import pytest

from onelog.broker.broker import OffsetAt, Spot
from onelog.errors import UnknownLeaderEpoch, UnknownPartition, UnknownTopic
from onelog.model import Isolation
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support.brokers import batch, open_desk
from tests.support.virtual_clock import run, turns


def test_the_ends_of_a_log(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            at = desk.broker.list_offset
            assert at("orders", 0, at=Spot.EARLIEST) == at("orders", 0, at=Spot.LATEST) == (0, -1, 0)
            await desk.append(batch("a", "b", "c"))
            await desk.broker.delete_records("orders", 0, 1)
            desk.syncs.shut()
            desk.append(batch("not visible"))
            await turns(50)
            assert at("orders", 0, at=Spot.EARLIEST) == OffsetAt(1, -1, 0)
            assert at("orders", 0, at=Spot.LATEST) == OffsetAt(3, -1, 0)

    run(story())


def test_the_first_record_may_stand_behind_the_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            at = partial(desk.broker.list_offset, "orders", 0, at=Spot.FIRST_RECORD)
            assert at() == (-1, -1, -1)
            holed = Batch.build([Record(None, b"a", 5), Record(None, b"b", 6)], offset_deltas=[99, 103])
            await desk.append(holed, batch("c", timestamp_ms=7))
            assert at() == OffsetAt(99, 5, 0)
            for start, first in ((100, 103), (104, 104)):
                await desk.broker.delete_records("orders", 0, start)
                assert at().offset == first
            await desk.broker.delete_records("orders", 0, 105)
            assert at() == (-1, -1, -1)

    run(story())


def test_what_was_appended_takes_its_offsets_before_it_is_visible(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            desk.append(batch("a", "b"))
            info = desk.broker.describe_partition("orders", 0)
            assert (info.high_watermark, info.offset_next) == (0, 2)

    run(story())


def test_the_first_record_of_a_time_or_later(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", "b", "c", timestamp_ms=[10, 30, 20]), batch("d", timestamp_ms=40))
            found = [desk.broker.list_offset("orders", 0, at=at) for at in (0, 11, 30, 31, 41)]
            assert found == [(0, 10, 0), (1, 30, 0), (1, 30, 0), (3, 40, 0), (-1, -1, -1)]

    run(story())


def test_the_record_of_the_latest_time(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            assert desk.broker.list_offset("orders", 0, at=Spot.MAX_TIMESTAMP) == (-1, -1, -1)
            await desk.append(batch("a", "b", "c", timestamp_ms=[10, 30, 20]))
            desk.syncs.shut()
            desk.append(batch("not visible", timestamp_ms=90))
            assert desk.broker.list_offset("orders", 0, at=Spot.MAX_TIMESTAMP) == (1, 30, 0)
            assert desk.broker.list_offset("orders", 0, at=31) == (-1, -1, -1)

    run(story())


def test_a_committed_reader_sees_the_stable_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"), batch("b"))
            log = desk.broker._parts.served.partition("orders", 0).log
            log.marks = log.marks._replace(stable=1)
            found = desk.broker.list_offset("orders", 0, at=Spot.LATEST, isolation=Isolation.READ_COMMITTED)
            assert found.offset == 1

    run(story())


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            with pytest.raises(UnknownTopic):
                desk.broker.list_offset("nothing", 0, at=Spot.LATEST)
            with pytest.raises(UnknownPartition):
                desk.broker.describe_partition("orders", 1)
            with pytest.raises(UnknownLeaderEpoch):
                desk.broker.list_offset("orders", 0, at=Spot.LATEST, leader_epoch=1)

    run(story())

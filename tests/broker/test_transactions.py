"""Transactions as readers see them, before and after a start."""

from pathlib import Path

from onelog.broker.broker import Aborted, OffsetAt, ReadResult, Spot
from onelog.errors import UnknownTopic
from onelog.model import Isolation, View
from onelog.records.batch import Batch
from onelog.records.control import Marker, Verdict
from tests.support.brokers import DIALECT, MIB, Desk, batch, open_desk, read, values
from tests.support.virtual_clock import run, turns

ABORTED = Marker(Verdict.ABORTED, 0)
COMMITTED = Marker(Verdict.COMMITTED, 0)
COMMITTED_ONLY = Isolation.READ_COMMITTED


async def _story(desk: Desk) -> None:
    """Of producer 7 aborted 0-1, committed 4; of 8 committed 2; of nobody 5; of 8 open 7; of nobody 8."""
    await desk.topic()
    await desk.append(_of(7, 0, "undone", "undone"))
    await desk.append(_of(8, 0, "eight"))
    await _end(desk, ABORTED, 7)
    await desk.append(_of(7, 2, "seven"))
    await desk.append(batch("plain"))
    await _end(desk, COMMITTED, 7)
    await _end(desk, COMMITTED, 8)
    await desk.append(_of(8, 1, "open"), batch("behind"))


def _of(producer_id: int, sequence: int, *words: str) -> Batch:
    return batch(
        *words, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True
    )


async def _end(desk: Desk, marker: Marker, producer_id: int) -> None:
    await desk.broker.end_transaction("orders", 0, marker, producer_id=producer_id, producer_epoch=0)


def _fetch(desk: Desk, offset: int = 0, *, view: View = View.RAW) -> ReadResult:
    (result,) = desk.broker.fetch(
        [read(offset)], bytes_max=MIB, isolation=COMMITTED_ONLY, view=view, dialect=DIALECT
    )
    assert isinstance(result, ReadResult)
    return result


def _check(desk: Desk) -> None:
    result = _fetch(desk)
    assert result.offset_next == 8
    assert result.marks.stable == 8
    assert list(result.aborted) == [Aborted(7, 0, 3)]
    assert list(_fetch(desk, 4).aborted) == []
    assert values(_fetch(desk, view=View.CLEAN)) == ["eight", "seven", "plain"]
    assert len(desk.read().batches) == 9


def test_readers_of_committed_data_see_no_open_and_no_aborted_records(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await _story(desk)
            _check(desk)
            await desk.settle()
            _check(desk)

    run(story())


def test_a_start_finds_the_same_transactions(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await _story(desk)
        async with open_desk(tmp_path) as desk:
            _check(desk)
            await _end(desk, COMMITTED, 8)
            assert _fetch(desk).offset_next == 11
            assert values(_fetch(desk, 8, view=View.CLEAN)) == ["open", "behind"]

    run(story())


def test_the_end_for_readers_of_committed_data_is_the_stable_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await _story(desk)

            def at(spot: Spot, isolation: Isolation) -> OffsetAt:
                return desk.broker.list_offset("orders", 0, at=spot, isolation=isolation)

            assert at(Spot.LATEST, COMMITTED_ONLY).offset == 8
            assert at(Spot.LATEST, Isolation.READ_UNCOMMITTED).offset == 10
            assert at(Spot.FIRST_RECORD, COMMITTED_ONLY).offset == 2
            assert at(Spot.FIRST_RECORD, Isolation.READ_UNCOMMITTED).offset == 0

    run(story())


def test_a_marker_that_is_not_synced_ends_nothing_for_readers(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(_of(7, 0, "a"))
            desk.syncs.shut()
            ending = desk.broker.end_transaction("orders", 0, COMMITTED, producer_id=7, producer_epoch=0)
            await turns()
            assert _fetch(desk).batches == []
            desk.syncs.open()
            await ending
            assert len(_fetch(desk).batches) == 2

    run(story())


def test_a_waiting_reader_of_committed_data_is_woken_by_the_marker(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            record = _of(7, 0, "a" * 500)
            waiting = desk.broker.wait_fetch(
                [read()],
                bytes_max=MIB,
                bytes_min=record.size,
                wait_ms=1000,
                isolation=COMMITTED_ONLY,
                dialect=DIALECT,
            )
            await desk.append(record)
            assert not waiting.done
            await _end(desk, COMMITTED, 7)
            await turns()
            # The marker is smaller than what is waited for, and has let go what is large enough.
            (result,) = waiting.result()
            assert isinstance(result, ReadResult)
            assert len(result.batches) == 2

    run(story())


def test_a_marker_for_a_topic_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            ending = desk.broker.end_transaction("nothing", 0, COMMITTED, producer_id=7, producer_epoch=0)
            assert isinstance(ending.error, UnknownTopic)

    run(story())

"""Reading many partitions: bounds, waiting, and what ends a wait."""

from pathlib import Path
from typing import Any

import pytest

from onelog import metrics as m
from onelog.broker.broker import BrokerSettings, Read, ReadResult
from onelog.errors import OffsetOutOfRange, OnelogError, StaleLeaderEpoch, UnknownLeaderEpoch, UnknownTopic
from onelog.model import Isolation, View
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support.brokers import DIALECT, MIB, ORDERS, Desk, answered, batch, open_desk, read, values
from tests.support.virtual_clock import run, turns

SIZE = batch("a").size


def _found(results: list[ReadResult | OnelogError]) -> list[list[str]]:
    return [values(r) for r in results if isinstance(r, ReadResult)]


def _fetch(desk: Desk, *reads: Read, bytes_max: int = MIB) -> list[ReadResult | OnelogError]:
    return desk.broker.fetch(reads, bytes_max=bytes_max, dialect=DIALECT)


def test_only_the_first_batch_of_all_may_go_over_a_bound(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=3)
            for partition in (1, 2):
                await desk.append(batch("a"), batch("b"), partition=partition)
            reads = [read(partition=p, bytes_max=1) for p in range(3)]
            assert _found(_fetch(desk, *reads)) == [[], ["a"], []]
            reads = [read(partition=p) for p in range(3)]
            assert _found(_fetch(desk, *reads, bytes_max=1)) == [[], ["a"], []]
            assert _found(_fetch(desk, *reads, bytes_max=3 * SIZE)) == [[], ["a", "b"], ["a"]]

    run(story())


def test_a_batch_larger_than_the_bound_leaves_less_than_nothing_for_the_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            for partition in (0, 1):
                await desk.append(batch(b"x" * 9000), partition=partition)
            reads = [read(partition=p) for p in range(2)]
            first, second = _fetch(desk, *reads, bytes_max=1)
            assert isinstance(first, ReadResult)
            assert isinstance(second, ReadResult)
            assert (len(first.batches), second.batches) == (1, [])
            assert len(desk.read(partition=1, bytes_max=-1).batches) == 1

    run(story())


def test_nothing_is_read_for_partitions_that_have_no_room_left(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            for partition in (0, 1):
                await desk.append(batch("a"), partition=partition)
            desk.broker._parts.served.partition("orders", 1).log.read = None  # type: ignore[method-assign,assignment]  # not to be called
            assert _found(_fetch(desk, read(), read(partition=1), bytes_max=SIZE)) == [["a"], []]
            (_, refused) = _fetch(desk, read(), read(7, partition=1), bytes_max=SIZE)
            assert isinstance(refused, OffsetOutOfRange)

    run(story())


def test_an_offset_inside_a_batch_brings_the_whole_batch(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", "b", "c"), batch("d"))
            result = desk.read(2)
            assert values(result) == ["a", "b", "c", "d"]
            assert result.offset_next == 4

    run(story())


def test_one_partitions_refusal_leaves_the_others_their_records(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            results = _fetch(desk, read(topic="nothing"), read(9), read(0))
            assert isinstance(results[0], UnknownTopic)
            assert isinstance(results[1], OffsetOutOfRange)
            assert _found(results[2:]) == [["a"]]

    run(story())


@pytest.mark.parametrize(("epoch", "refusal"), [(1, UnknownLeaderEpoch), (-2, StaleLeaderEpoch)])
def test_a_reader_with_another_leader_epoch_is_refused(
    tmp_path: Path, epoch: int, refusal: type[OnelogError]
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            (result,) = _fetch(desk, Read(ORDERS, 0, 0, MIB, leader_epoch=epoch))
            assert isinstance(result, refusal)

    run(story())


def test_what_was_handed_out_is_counted_by_dialect(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            desk.read()
            await desk.wait_read(read())
            assert desk.broker.metrics.value(m.RECORDS_FETCHED, DIALECT) == 2
            assert desk.broker.metrics.value(m.BYTES_FETCHED, DIALECT) == 2 * SIZE

    run(story())


def test_a_wait_is_over_at_once_when_there_is_enough(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            assert desk.wait_read(read(), bytes_min=SIZE).done
            assert desk.wait_read(read(1), bytes_min=0).done
            assert desk.wait_read(read(1), wait_ms=0).done
            assert desk.wait_read().done
            assert not desk.wait_read(read(), bytes_min=SIZE + 1).done

    run(story())


def test_a_wait_ends_when_enough_is_durable_and_not_before(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            waiting = desk.wait_read(read(), read(partition=1), bytes_min=2 * SIZE)
            await desk.append(batch("a"))
            await turns()
            assert not waiting.done
            desk.syncs.shut()
            appended = desk.append(batch("b"), partition=1)
            await turns(50)
            assert not waiting.done
            desk.syncs.open()
            await appended
            assert _found(await waiting) == [["a"], ["b"]]

    run(story())


def test_a_record_that_was_appended_before_the_wait_and_is_durable_after_it_ends_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            desk.append(batch("a"))
            await turns(50)
            waiting = desk.wait_read(read())
            desk.syncs.open()
            assert _found(await waiting) == [["a"]]

    run(story())


def test_a_wait_ends_in_time_with_what_there_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            waiting = desk.wait_read(read(), bytes_min=10 * SIZE, wait_ms=500)
            await desk.clock.advance(499)
            assert not waiting.done
            await desk.clock.advance(1)
            assert _found(waiting.result()) == [["a"]]

    run(story())


def test_no_wait_is_longer_than_the_broker_allows(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=BrokerSettings(fetch_wait_max_ms=100)) as desk:
            await desk.topic()
            waiting = desk.wait_read(read(), wait_ms=1_000_000)
            await desk.clock.advance(100)
            assert waiting.done

    run(story())


def test_a_wait_for_more_than_has_room_ends_when_the_room_is_full(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            waiting = desk.wait_read(read(bytes_max=2 * SIZE + 1), bytes_min=100 * SIZE)
            for name in "abc":
                await desk.append(batch(name))
            await turns()
            assert not waiting.done  # nothing was read for as long as the bytes could not suffice
            assert desk.wait_read(read(bytes_max=2 * SIZE + 1), bytes_min=100 * SIZE).done

    run(story())


def test_many_waiters_are_not_read_for_until_there_is_enough(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            partition = desk.broker._parts.served.partition("orders", 0)
            waits = [desk.wait_read(read(), bytes_min=10 * SIZE) for _ in range(20)]
            reads = 0
            real = partition.read

            def counted(*args: Any, **kwargs: Any) -> list[Batch]:
                nonlocal reads
                reads += 1
                return real(*args, **kwargs)

            partition.read = counted  # type: ignore[method-assign]  # only counts
            for _ in range(10):
                assert reads == 0
                await desk.append(batch("a"))
            for wait in waits:
                assert len(answered(await wait).batches) == 10
            assert reads == 20

    run(story())


def test_a_deleted_topic_ends_the_wait(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.topic("others")
            waiting = desk.wait_read(read(), read(topic="others"))
            await desk.broker.delete_topics(["orders"])
            gone, other = await waiting
            assert isinstance(gone, UnknownTopic)
            assert isinstance(other, ReadResult)

    run(story())


def test_a_start_that_is_raised_over_the_offset_ends_the_wait(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"), batch("b"))
            waiting = desk.wait_read(read(1), bytes_min=10 * SIZE)
            await desk.broker.delete_records("orders", 0, 1)
            await turns()
            assert not waiting.done
            await desk.broker.delete_records("orders", 0, 2)
            with pytest.raises(OffsetOutOfRange):
                answered(await waiting)

    run(story())


def test_a_cancelled_wait_leaves_nothing_behind(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            waiting = desk.wait_read(read())
            waiting.cancel()
            assert not desk.broker._parts.served.partition("orders", 0)._waiters
            await desk.append(batch("a"))
            await desk.clock.advance(10_000)
            assert not waiting.done

    run(story())


def test_a_clean_view_leaves_out_what_only_transactions_know(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            marker = Batch.build(
                [Record(key=bytes(4), value=bytes(6), timestamp_ms=0)],
                producer_id=7,
                producer_epoch=0,
                transactional=True,
                control=True,
            )
            await desk.append(batch("a"), marker, batch("b"))
            raw = desk.read()
            clean = answered(desk.broker.fetch([read()], bytes_max=MIB, view=View.CLEAN, dialect=DIALECT))
            assert len(raw.batches) == 3
            assert values(clean) == ["a", "b"]
            assert clean.offset_next == 3

    run(story())


def test_a_committed_view_ends_where_the_stable_part_ends(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"), batch("b"))
            log = desk.broker._parts.served.partition("orders", 0).log
            log.marks = log.marks._replace(stable=1)
            for isolation, found in (
                (Isolation.READ_COMMITTED, ["a"]),
                (Isolation.READ_UNCOMMITTED, ["a", "b"]),
            ):
                results = desk.broker.fetch([read()], bytes_max=MIB, isolation=isolation, dialect=DIALECT)
                assert _found(results) == [found]

    run(story())


def test_a_look_of_our_own_is_not_counted_as_read(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", "b"))
            found = answered(desk.broker.fetch([read()], bytes_max=MIB, dialect=None))
            waited = desk.broker.wait_fetch([read()], bytes_max=MIB, bytes_min=1, wait_ms=9, dialect=None)
            assert values(found) == values(answered(await waited)) == ["a", "b"]
            assert desk.broker.metrics.total(m.RECORDS_FETCHED) == 0

    run(story())

"""One log and its answers: order, what waits for what, and what a damaged log says."""

import errno
from pathlib import Path

import pytest

from onelog.binary.compression import Codec
from onelog.broker.partition import Partition
from onelog.errors import (
    DiskFailed,
    InvalidRecord,
    OffsetOutOfRange,
    OutOfOrderSequence,
    PartitionClosed,
    StaleLeaderEpoch,
    Throttled,
    UnknownLeaderEpoch,
    UnknownTopic,
)
from onelog.model import Isolation
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage.log import SegmentInfo
from tests.support.brokers import Desk, batch, numbered, open_desk, read, values
from tests.support.virtual_clock import run, turns


def _partition(desk: Desk) -> Partition:
    return desk.broker._parts.served.partition("orders", 0)


def test_appends_have_their_order_before_anything_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            tickets = [desk.append(batch("a", "b")), desk.append(batch("c"), batch("d"))]
            desk.syncs.open()
            assert [(r.first, r.end) for r in [await t for t in tickets]] == [(0, 2), (2, 4)]
            assert values(desk.read()) == ["a", "b", "c", "d"]

    run(story())


def test_no_reader_sees_a_record_that_is_not_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            desk.syncs.shut()
            ticket = desk.append(batch("b"))
            await turns(50)
            assert values(desk.read()) == ["a"]
            assert desk.read(1).batches == []  # where the next record will be: nothing, and no error
            assert desk.broker.describe_partition("orders", 0).high_watermark == 1
            desk.syncs.open()
            await ticket
            assert values(desk.read()) == ["a", "b"]

    run(story())


def test_a_repeated_batch_waits_for_its_original_and_has_its_offsets(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            first = desk.append(numbered(0, "a", "b"))
            again = desk.append(numbered(0, "a", "b"))
            await turns(50)
            assert not again.done
            desk.syncs.open()
            assert await again == await first
            assert values(desk.read()) == ["a", "b"]
            assert desk.append(numbered(0, "a", "b")).done  # durable long since

    run(story())


def test_a_refused_sequence_waits_for_what_it_was_refused_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            desk.append(numbered(0, "a"))
            gap = desk.append(numbered(5, "b"))
            await turns(50)
            assert not gap.done
            desk.syncs.open()
            with pytest.raises(OutOfOrderSequence):
                await gap

    run(story())


def test_one_refused_batch_refuses_all_of_its_append(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            with pytest.raises(OutOfOrderSequence):
                await desk.append(numbered(0, "a"), numbered(9, "b"))
            assert (await desk.append(numbered(0, "c"))).first == 0

    run(story())


@pytest.mark.parametrize("offset", [-1, 3])
def test_an_offset_outside_names_what_the_log_holds(tmp_path: Path, offset: int) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", "b"))
            assert desk.read(2).batches == []
            with pytest.raises(OffsetOutOfRange) as refusal:
                desk.read(offset)
            assert (refusal.value.start, refusal.value.end) == (0, 2)

    run(story())


def test_whoever_knows_another_leader_epoch_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            partition = _partition(desk)
            partition.leader_epoch = 3
            for epoch in (-1, 3):
                partition.check_epoch(epoch)
            with pytest.raises(StaleLeaderEpoch):
                partition.check_epoch(2)
            with pytest.raises(UnknownLeaderEpoch):
                partition.check_epoch(4)

    run(story())


def test_a_log_that_cannot_be_read_is_closed_and_the_others_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            await desk.append(batch("a"))
            await desk.append(batch("b"), partition=1)
            await desk.settle()
            (tmp_path / "orders-0" / ("0" * 20 + ".log")).write_bytes(b"")
            waiting = desk.wait_read(read(1), wait_ms=60_000)
            for _ in range(2):
                with pytest.raises(PartitionClosed):
                    desk.read()
            with pytest.raises(PartitionClosed):
                await desk.append(batch("c"))
            assert isinstance((await waiting)[0], PartitionClosed)
            with pytest.raises(PartitionClosed):
                desk.broker.describe_partition("orders", 0)
            assert values(desk.read(partition=1)) == ["b"]
        async with open_desk(tmp_path) as desk:
            assert values(desk.read(partition=1)) == ["b"]

    run(story())


def test_a_fault_of_the_disk_while_reading_closes_the_log_with_its_reason(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            partition = _partition(desk)

            def fails(*_: object, **__: object) -> None:
                raise DiskFailed(path="orders-0", doing="reading", found="Input/output error")

            partition.log.find_time = fails  # type: ignore[method-assign]  # a disk that fails to read
            with pytest.raises(PartitionClosed, match="Input/output error"):
                partition.find_time(0, isolation=Isolation.READ_UNCOMMITTED)
            assert not partition.is_open

    run(story())


def test_after_a_failed_sync_the_next_append_is_refused_before_it_has_an_offset(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            failure = DiskFailed(path="orders-0", doing="syncing", found="Input/output error")
            desk.syncs.fail(failure)
            with pytest.raises(DiskFailed):
                await desk.append(batch("a"))
            assert desk.append(batch("b")).error is failure
            assert _partition(desk).marks.appended == 1
            assert desk.failures == [failure]

    run(story())


def test_what_a_partition_is_made_of_is_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            assert desk.broker.describe_partition("orders", 0).segment_count == 1
            await desk.append(batch("a"))
            info = desk.broker.describe_partition("orders", 0)
            assert (info.start, info.high_watermark, info.stable, info.leader_epoch) == (0, 1, 1, 0)
            assert info.segment_count == 1
            assert info.size_bytes == batch("a").size

    run(story())


def _garbage(*, codec: Codec = Codec.NONE) -> Batch:
    """Two records by its header, which its checksum confirms; what stands there is none."""
    numbers = {"last_offset_delta": 1, "base_timestamp_ms": 2000, "max_timestamp_ms": 2000}
    return Batch.seal(b"\xff" * 40, record_count=2, attributes=codec.value, **numbers)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_garbage_that_a_producer_sent_is_the_answer_to_who_looks_into_it_and_closes_nothing(
    tmp_path: Path, codec: Codec
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", timestamp_ms=1000), _garbage(codec=codec))
            partition = _partition(desk)
            with pytest.raises(InvalidRecord):
                partition.find_time(1500, isolation=Isolation.READ_UNCOMMITTED)
            with pytest.raises(InvalidRecord):
                partition.find_max_timestamp(isolation=Isolation.READ_UNCOMMITTED)
            assert partition.is_open
            await desk.append(batch("b", timestamp_ms=3000))
            assert [b.record_count for b in desk.read().batches] == [1, 2, 1]

    run(story())


def test_a_lack_of_file_handles_is_said_and_passes(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            partition = _partition(desk)
            real = partition.log.read
            lack = DiskFailed(path="orders-0", doing="opening", found="Too many open files")
            lack.__cause__ = OSError(errno.EMFILE, "Too many open files")

            def fails(*_: object, **__: object) -> list[Batch]:
                raise lack

            partition.log.read = fails  # type: ignore[method-assign]  # no handle is free
            with pytest.raises(PartitionClosed, match="Too many open files") as refusal:
                desk.read()
            assert refusal.value.retriable
            partition.log.read = real  # type: ignore[method-assign]  # now there are some
            assert values(desk.read()) == ["a"]

    run(story())


def test_who_describes_a_damaged_log_closes_it_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            partition = _partition(desk)

            def fails() -> list[SegmentInfo]:
                raise PartitionClosed(topic="orders", partition=0, reason="no whole batch")

            partition.log.segments = fails  # type: ignore[method-assign]  # a damaged segment
            with pytest.raises(PartitionClosed, match="no whole batch"):
                partition.info()
            assert not partition.is_open

    run(story())


def test_a_log_that_is_let_go_leaves_no_index_behind(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            await _partition(desk).close(UnknownTopic(topic="orders"))
            assert list((tmp_path / "orders-0").glob("*index")) == []

    run(story())


def test_a_damaged_log_is_told_in_the_broker_s_own_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            await desk.settle()
            (tmp_path / "orders-0" / ("0" * 20 + ".log")).write_bytes(b"")
            for _ in range(2):
                with pytest.raises(PartitionClosed):
                    desk.read()

    run(story())
    assert caplog.text.count("orders/0 is closed") == 1


def test_a_bit_that_flipped_on_disk_is_served_to_nobody_who_could_not_see_it(tmp_path: Path) -> None:
    """Kafka's clients hold every batch against its checksum; a reader of bare records cannot."""

    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("bob"))
            await desk.settle()
            segment = tmp_path / "orders-0" / ("0" * 20 + ".log")
            segment.write_bytes(segment.read_bytes().replace(b"bob", b"BOB"))
            partition = _partition(desk)
            taken = partition.read(0, bytes_max=1000, isolation=Isolation.READ_UNCOMMITTED)
            assert len(taken) == 1
            with pytest.raises(PartitionClosed, match="checksum"):
                partition.read(0, bytes_max=1000, isolation=Isolation.READ_UNCOMMITTED, is_checked=True)
            assert not partition.is_open

    run(story())


def test_an_append_that_waits_for_room_has_its_place_among_those_that_wait(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            committer = desk.broker._parts.committer
            committer._lacks_room = True
            first, second = desk.append(batch("a", "b")), desk.append(batch("c"))
            assert desk.broker.describe_partition("orders", 0).offset_next == 3
            assert _partition(desk).marks.appended == 0
            committer._lacks_room = False
            committer._go_on()
            assert ((await first).first, (await second).first) == (0, 2)
            assert desk.broker.describe_partition("orders", 0).offset_next == 3

    run(story())


def test_a_batch_with_a_hole_that_was_measured_wrongly_comes_again(tmp_path: Path) -> None:
    """Somebody before it was refused when there was room, so the log ends earlier than it was told."""

    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(numbered(0, "first"))
            committer = desk.broker._parts.committer
            committer._lacks_room = True
            refused = desk.append(numbered(5, "a"))
            records = [Record(None, b"b", 0)]
            placed = desk.append(Batch.build(records, offset_deltas=[4]))
            plain = desk.append(batch("c"))
            committer._lacks_room = False
            committer._go_on()
            with pytest.raises(OutOfOrderSequence):
                await refused
            assert isinstance(placed.error, Throttled)
            assert (await plain).first == 1

    run(story())


def test_an_os_topic_answers_and_shows_what_is_written(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"durability": "os"})
            await desk.topic("careful")
            desk.syncs.shut()
            careful = desk.append(batch("x"), topic="careful")
            waiting = desk.wait_read(read(), wait_ms=60_000)
            assert (await desk.append(batch("a"))).first == 0
            assert values(desk.read()) == ["a"]
            assert (await waiting)[0] is not None
            info = desk.broker.describe_partition("orders", 0)
            assert (info.high_watermark, info.stable) == (1, 1)
            assert desk.read().marks.durable == 1, "to those outside: what they may see"
            assert _partition(desk).log.marks.durable == 0
            assert await desk.broker.delete_records("orders", 0, 1) == 1
            assert not careful.done
            assert desk.read(topic="careful").batches == []

    run(story())

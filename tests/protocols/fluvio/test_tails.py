"""Streams: one frame until it is acknowledged, whole batches, and what ends them."""

import struct
from typing import Any

import pytest

from onelog.protocols.fluvio.tails import FRAME_BYTES_MAX, bytes_wanted
from onelog.records.batch import Batch
from onelog.records.control import Marker, Verdict, build_marker
from onelog.records.record import Header, Record
from tests.support import fluvio_unit_wire as wire
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer
from tests.support.fluvio_records import batch_of
from tests.support.fluvio_unit_wire import Streamed


def store(house: FluvioHouse, *values: bytes, topic: str = "orders", partition: int = 0) -> None:
    """One batch, as Kafka writes it."""
    house.append(Batch.build([Record(None, value, 5) for value in values]), topic=topic, partition=partition)


def came(unit: FluvioPeer) -> list[Streamed]:
    """The frames of streams that have come."""
    return [wire.streamed(frame[4:]) for frame in unit.frames()]


def opened(unit: FluvioPeer, offset: int = 0, **options: Any) -> Streamed:
    """A stream, with the one frame that it sends at once."""
    unit.send(wire.stream("orders", options.pop("partition", 0), offset, **options))
    [found] = came(unit)
    return found


def acknowledge(unit: FluvioPeer, stream_id: int, offset: int) -> list[Streamed]:
    """What the stream sends upon it."""
    unit.send(wire.acknowledge((stream_id, offset)))
    answer, *frames = unit.frames()
    assert wire.acknowledged(answer[4:]) == [(stream_id, 0)]
    return [wire.streamed(frame[4:]) for frame in frames]


def seen(frame: Streamed) -> list[tuple[int, bytes]]:
    assert frame.code == 0
    return [(offset, value) for offset, _, value in wire.values(frame.records)]


def test_a_stream_sends_what_there_is_and_waits_for_the_acknowledgement(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    store(house, b"a", b"b")
    frame = opened(unit)
    assert (frame.topic, frame.stream_id, seen(frame)) == ("orders", 1, [(0, b"a"), (1, b"b")])
    assert frame.part[2:5] == (2, 0, 0)
    store(house, b"c")
    assert came(unit) == []
    [more] = acknowledge(unit, 1, 2)
    assert seen(more) == [(2, b"c")]
    assert acknowledge(unit, 1, 3) == []
    store(house, b"d")
    [more] = came(unit)
    assert seen(more) == [(3, b"d")]


def test_a_stream_at_the_end_sends_nothing_until_something_comes(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    store(house, b"a")
    unit.send(wire.stream("orders", 0, 1))
    assert came(unit) == []
    store(house, b"b")
    [frame] = came(unit)
    assert (frame.stream_id, seen(frame)) == (1, [(1, b"b")])


def test_an_offset_within_a_batch_gets_the_whole_batch(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a", b"b", b"c")
    assert seen(opened(unit, 2)) == [(0, b"a"), (1, b"b"), (2, b"c")]


@pytest.mark.parametrize("bytes_max", [0, 1, 100])
def test_a_batch_is_whole_and_there_is_one_whatever_was_asked_for(
    house: FluvioHouse, unit: FluvioPeer, bytes_max: int
) -> None:
    house.make()
    for value in (b"a", b"b", b"c"):
        store(house, bytes(300) + value)
    frame = opened(unit, bytes_max=bytes_max)
    assert [offset for offset, _ in seen(frame)] == [0]
    for offset in (1, 2):
        [frame] = acknowledge(unit, 1, offset)
        assert [place for place, _ in seen(frame)] == [offset]


def test_a_frame_is_no_larger_than_asked_for_where_more_than_one_batch_fits(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    # Keys take one byte more in Fluvio than in the log.
    for _ in range(9):
        house.append(Batch.build([Record(b"k", b"v", 5)] * 20))
    one = len(opened(unit, bytes_max=1).records)
    frames = [opened(unit, bytes_max=size) for size in (2 * one - 1, 2 * one, 2 * one + 1)]
    assert [len(frame.records) for frame in frames] == [one, 2 * one, 2 * one]


def test_no_limit_is_a_limit_of_ours(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    for _ in range(3):
        store(house, bytes(FRAME_BYTES_MAX // 2 - 100))
    assert [offset for offset, _ in seen(opened(unit, bytes_max=-1))] == [0, 1]
    assert bytes_wanted(-1) == bytes_wanted(0x7FFFFFFF) == FRAME_BYTES_MAX


def test_a_batch_that_is_larger_than_any_frame_arrives(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make(max_message_bytes=str(8 << 20))
    store(house, bytes(FRAME_BYTES_MAX + 1))
    assert [len(value) for _, value in seen(opened(unit))] == [FRAME_BYTES_MAX + 1]


def test_an_acknowledgement_may_go_back_or_ahead(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    for value in (b"a", b"b", b"c"):
        store(house, value)
    opened(unit)
    [again] = acknowledge(unit, 1, 1)
    assert seen(again) == [(1, b"b"), (2, b"c")]
    assert acknowledge(unit, 1, 5) == []
    store(house, b"d", b"e", b"f")
    [ahead] = came(unit)
    assert seen(ahead) == [(3, b"d"), (4, b"e"), (5, b"f")]


def test_many_streams_have_numbers_of_their_own_and_hold_up_nobody(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make(partitions=3)
    for partition in range(3):
        store(house, b"%d" % partition, partition=partition)
    unit.send(*(wire.stream("orders", partition, correlation_id=10 + partition) for partition in range(3)))
    frames = unit.frames()
    assert [int.from_bytes(frame[:4], "big") for frame in frames] == [10, 11, 12]
    assert [wire.streamed(frame[4:]).stream_id for frame in frames] == [1, 2, 3]
    # The first two are never acknowledged.
    store(house, b"more", partition=2)
    [frame] = acknowledge(unit, 3, 1)
    assert seen(frame) == [(1, b"more")]


def test_one_connections_numbers_say_nothing_to_another(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a")
    opened(unit)
    other = house.unit()
    assert wire.acknowledged(other.ask(wire.acknowledge((1, 1)))) == [(1, 3002)]


def test_behind_the_end_there_is_no_stream(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a")
    frame = opened(unit, 99)
    assert (frame.code, frame.stream_id, frame.records) == (2, 1, b"")
    assert frame.part.extra == b"start offset: 99 is greater than leo: 1"
    assert frame.part[2:5] == (0, 0, 0)


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_below_the_first_offset_both_are_told(house: FluvioHouse, unit: FluvioPeer, offset: int) -> None:
    house.make()
    store(house, b"a", b"b", b"c")
    house.delete_below(2)
    frame = opened(unit, offset)
    assert (frame.code, frame.part.extra) == (71, struct.pack(">qq", offset, 2))
    assert seen(opened(unit, 2))[-1] == (2, b"c")


def test_what_a_reader_wants_and_was_deleted_meanwhile_ends_its_stream(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    for value in (b"a", b"b", b"c"):
        store(house, value)
    opened(unit, bytes_max=1)
    house.delete_below(2)
    [frame] = acknowledge(unit, 1, 1)
    assert (frame.code, frame.part.extra) == (71, struct.pack(">qq", 1, 2))
    assert wire.acknowledged(unit.ask(wire.acknowledge((1, 2)))) == [(1, 3002)]


@pytest.mark.parametrize(("topic", "partition"), [("missing", 0), ("orders", 9)])
def test_what_is_not_here_is_6_and_no_stream(
    house: FluvioHouse, unit: FluvioPeer, topic: str, partition: int
) -> None:
    house.make()
    frame = wire.streamed(unit.ask(wire.stream(topic, partition)))
    assert (frame.code, frame.stream_id) == (6, 0)


@pytest.mark.parametrize("is_acknowledged", [True, False])
def test_a_topic_that_is_deleted_ends_its_streams_with_2007(
    house: FluvioHouse, unit: FluvioPeer, is_acknowledged: bool
) -> None:
    house.make()
    store(house, b"a")
    opened(unit)
    if is_acknowledged:
        acknowledge(unit, 1, 1)
    house.delete_topic("orders")
    [frame] = came(unit)
    assert (frame.code, frame.stream_id, frame.part[2:6]) == (2007, 1, (0, 0, 0, b""))
    assert house.unit().ask(wire.acknowledge((1, 1)))[-2:] == struct.pack(">h", 3002)


def test_a_topic_of_the_same_name_is_another_one(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a")
    opened(unit)
    house.delete_topic("orders")
    house.make()
    store(house, b"new")
    [frame] = came(unit)
    assert frame.code == 2007


def test_a_partition_that_closes_ends_its_streams(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a")
    opened(unit)
    house.close_partition("orders", 0)
    [frame] = came(unit)
    assert frame.code == 56


def test_what_no_reader_may_see_is_passed_over(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    unit.send(wire.stream("orders"))
    for _ in range(2):
        house.append(
            build_marker(Marker(Verdict.ABORTED, 0), producer_id=7, producer_epoch=0, timestamp_ms=5)
        )
    assert came(unit) == []
    store(house, b"seen")
    [frame] = came(unit)
    assert seen(frame) == [(2, b"seen")]


def test_a_frame_tells_where_to_go_on_where_that_is_not_behind_its_records(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    transaction: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "transactional": True}
    house.append(Batch.build([Record(None, b"done", 5)], base_sequence=0, **transaction))
    house.append(build_marker(Marker(Verdict.COMMITTED, 0), producer_id=7, producer_epoch=0, timestamp_ms=5))
    frame = opened(unit)
    assert (seen(frame), frame.part.next_filter_offset, frame.part.high_watermark) == ([(0, b"done")], 2, 2)
    # Who does not know of it goes on behind the records, which is the same.
    assert acknowledge(unit, 1, 1) == []
    store(house, b"next")
    [frame] = came(unit)
    assert seen(frame) == [(2, b"next")]


def test_records_of_others_lose_what_fluvio_cannot_say_and_it_is_counted(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    house.append(Batch.build([Record(b"k", None, 5, (Header("h", b"1"),))]))
    assert wire.values(opened(unit).records) == [(0, b"k", b"")]
    text = house.metrics.text()
    assert 'onelog_losses_total{dialect="fluvio",reason="headers"} 1' in text
    assert 'onelog_losses_total{dialect="fluvio",reason="null_value"} 1' in text


def test_a_batch_that_nobody_can_read_ends_the_stream_behind_those_before_it(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    store(house, b"a")
    house.append(
        Batch.seal(
            b"garbage" * 3,
            record_count=1,
            attributes=0,
            last_offset_delta=0,
            base_timestamp_ms=5,
            max_timestamp_ms=5,
        )
    )
    assert seen(opened(unit)) == [(0, b"a")]
    [frame] = acknowledge(unit, 1, 1)
    assert (frame.code, frame.records) == (2, b"")
    assert b"batch at offset 1" in frame.part.extra


def test_a_produce_wakes_a_tail_on_its_own_connection(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    unit.send(wire.stream("orders", correlation_id=5), wire.produce("orders", (0, batch_of(b"a"))))
    frames: list[bytes] = []
    while len(frames) < 2:
        frames += unit.frames()
    assert sorted(int.from_bytes(frame[:4], "big") for frame in frames) == [1, 5]


def test_a_connection_that_is_gone_leaves_nothing_behind(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a")
    opened(unit)
    acknowledge(unit, 1, 1)
    assert house.waiters("orders", 0) == 1
    unit.close()
    assert house.waiters("orders", 0) == 0


def test_a_stream_that_is_over_leaves_nothing_behind(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, b"a")
    opened(unit)
    house.delete_below(1)
    [frame] = acknowledge(unit, 1, 0)
    assert frame.code == 71
    assert house.waiters("orders", 0) == 0


@pytest.mark.parametrize("version", [0, 10, 11, 15, 16, 17, 18, 22, 23, 24, 25])
def test_every_version_of_a_stream_is_served(house: FluvioHouse, unit: FluvioPeer, version: int) -> None:
    house.make()
    store(house, b"a")
    smartmodules = b"\0" * ((4 if 11 <= version <= 18 else 0) + (2 if 16 <= version <= 18 else 0))
    smartmodules += b"\0\0\0\0" if version >= 18 else b""
    unit.send(wire.stream("orders", version=version, smartmodules=smartmodules))
    [frame] = unit.frames()
    assert seen(wire.streamed(frame[4:], version=version)) == [(0, b"a")]

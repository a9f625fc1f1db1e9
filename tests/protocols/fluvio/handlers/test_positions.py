"""Acknowledgements, and consumers' offsets in the one store of positions."""

from typing import Any

from onelog.broker.broker import Commit, JoinGroup, MemberProtocol
from onelog.model import TopicName
from onelog.records.batch import Batch
from onelog.records.record import Record
from tests.support import fluvio_unit_wire as wire
from tests.support.fluvio_peer import FluvioHouse, FluvioPeer
from tests.support.fluvio_unit_wire import Kept

ORDERS = TopicName("orders")


def opened(house: FluvioHouse, unit: FluvioPeer, consumer: str | None = "c1") -> int:
    """A stream at the end of what there is; its number, which no frame has told."""
    unit.send(wire.stream("orders", consumer=consumer))
    unit.frames()
    return 1


def store(house: FluvioHouse, count: int) -> None:
    house.append(Batch.build([Record(None, b"v", 5)] * count))


def position(house: FluvioHouse, group: str, partition: int = 0) -> int:
    found = house.run(lambda: house.broker.positions(group))
    offset: int = found[ORDERS, partition].offset
    return offset


def commit(house: FluvioHouse, group: str, offset: int, *, topic: str = "orders", partition: int = 0) -> None:
    """As any dialect commits."""
    made = Commit(TopicName(topic), partition, offset)
    assert house.run(lambda: house.broker.commit_positions(group, [made])) == [None]


def listed(unit: FluvioPeer, **filters: object) -> list[tuple[str, str, int, int]]:
    answer = unit.ask(wire.consumer_offsets(**filters))  # type: ignore[arg-type]  # filters are texts and a number
    return [each[:4] for each in wire.kept_offsets(answer)]


def test_an_acknowledgement_is_answered_in_its_slot(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    opened(house, unit)
    asked = wire.acknowledge((777, 5), (1, 0), (2, 0))
    assert wire.acknowledged(unit.ask(asked)) == [(777, 3002), (1, 0), (2, 3002)]
    assert wire.acknowledged(unit.ask(wire.acknowledge())) == []


def test_a_consumers_offset_is_a_position_one_apart(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    store(house, 10)
    stream_id = opened(house, unit)
    assert wire.kept(unit.ask(wire.keep(stream_id, 4))) == (4, 0, b"")
    assert position(house, "c1") == 5
    commit(house, "c1", 9)
    assert listed(unit, consumer="c1") == [("c1", "orders", 0, 8)]


def test_any_offset_is_kept(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    stream_id = opened(house, unit)
    for offset in (99, 0, -1, (1 << 63) - 1):
        assert wire.kept(unit.ask(wire.keep(stream_id, offset))) == (offset, 0, b"")
        assert position(house, "c1") == offset + 1
        assert listed(unit) == [("c1", "orders", 0, offset)]


def test_a_position_that_nobody_can_have_is_refused(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    offset, code, extra = wire.kept(unit.ask(wire.keep(opened(house, unit), -5)))
    assert (offset, code) == (0, 2)
    assert b"-5; expected -1 or more" in extra


def test_a_position_above_63_bits_is_the_last_that_fluvio_can_say(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    commit(house, "c1", (1 << 64) - 1)
    assert listed(unit) == [("c1", "orders", 0, (1 << 63) - 1)]


def test_an_unknown_stream_is_3002_and_one_without_a_consumer_has_no_offset(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make()
    assert wire.kept(unit.ask(wire.keep(9, 4))) == (0, 3002, b"")
    stream_id = opened(house, unit, consumer=None)
    assert wire.kept(unit.ask(wire.keep(stream_id, 4))) == (0, 2, b"stream without consumer id")
    assert listed(unit) == []


def test_offsets_are_listed_with_and_without_a_filter(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make(partitions=2)
    house.make("other")
    for group, topic, partition in [("b", "orders", 1), ("a", "orders", 0), ("a", "other", 0)]:
        commit(house, group, 5, topic=topic, partition=partition)
    everything = [("a", "orders", 0, 4), ("a", "other", 0, 4), ("b", "orders", 1, 4)]
    assert listed(unit) == everything
    assert listed(unit, consumer="a") == everything[:2]
    assert listed(unit, topic="orders", partition=1) == everything[2:]
    assert listed(unit, topic="orders", partition=0, consumer="b") == []
    assert listed(unit, topic="missing") == []
    answer = unit.ask(wire.consumer_offsets(version=23))
    assert [each[:4] for each in wire.kept_offsets(answer)] == everything


def test_an_offset_tells_when_it_was_left_in_seconds(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    stream_id = opened(house, unit)
    unit.ask(wire.keep(stream_id, 4))
    then = house.clock.now_ms // 1000
    house.advance(60_000)
    [kept] = wire.kept_offsets(unit.ask(wire.consumer_offsets()))
    assert kept == Kept("c1", "orders", 0, 4, then)


def test_offsets_of_a_topic_go_with_it(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    commit(house, "c1", 5)
    house.delete_topic("orders")
    assert listed(unit) == []
    house.make()
    assert listed(unit) == []


def test_offsets_survive_a_restart(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    unit.ask(wire.keep(opened(house, unit), 4))
    house.restart()
    assert listed(house.unit()) == [("c1", "orders", 0, 4)]


def test_an_offset_is_forgotten_and_one_that_is_not_there_is_gone_already(
    house: FluvioHouse, unit: FluvioPeer
) -> None:
    house.make(partitions=2)
    for partition in (0, 1):
        commit(house, "c1", 5, partition=partition)
    assert unit.ask(wire.forget("orders", 0, "c1")) == b"\0\0"
    assert listed(unit) == [("c1", "orders", 1, 4)]
    for topic, partition, consumer in [("orders", 0, "c1"), ("missing", 0, "c1"), ("orders", 9, "nobody")]:
        assert unit.ask(wire.forget(topic, partition, consumer)) == b"\0\0"


def test_a_group_with_members_is_theirs(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    stream_id = opened(house, unit)
    protocols = [MemberProtocol("range", b"", None)]
    member = JoinGroup("c1", 10_000, 10_000, "consumer", protocols, fresh_id="m", needs_known_id=False)
    [joined] = house.run(lambda: begun(house, member))
    house.advance(5_000)
    while not joined.done:
        house.advance(0)
    offset, code, extra = wire.kept(unit.ask(wire.keep(stream_id, 4)))
    assert (offset, code) == (0, 2)
    assert b"c1" in extra


async def begun(house: FluvioHouse, member: JoinGroup) -> list[Any]:
    return [house.broker.join_group(member)]


def test_what_one_connection_keeps_another_finds_at_once(house: FluvioHouse, unit: FluvioPeer) -> None:
    house.make()
    opened(house, unit)
    unit.send(wire.keep(1, 7), wire.consumer_offsets(consumer="c1"))
    frames: list[bytes] = []
    while len(frames) < 2:
        frames += unit.frames()
    assert [each[:4] for each in wire.kept_offsets(frames[1][4:])] == [("c1", "orders", 0, 7)]

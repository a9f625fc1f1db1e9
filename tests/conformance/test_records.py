"""Produce and fetch: what every dialect owes its own clients, and those of the others."""

import pytest

from tests.conformance.driver import Driver, Feature, Kind, Message, Opened, texts, told
from tests.conformance.drivers import tank
from tests.conformance.drivers.all import PRESENT


def test_what_was_written_is_read_in_order(driver: Driver, topic: str) -> None:
    driver.create_topic(topic)
    offsets = driver.produce(topic, [Message(b"one"), Message(b"two"), Message(b"three")])
    assert offsets in ([0, 1, 2], None)
    driver.produce(topic, [Message(b"four")])
    found = driver.read(topic)
    assert texts(found) == ["one", "two", "three", "four"]
    assert [r.offset for r in found] in ([0, 1, 2, 3], [None] * 4)


def test_reading_begins_where_it_is_asked_to(driver: Driver, topic: str) -> None:
    driver.create_topic(topic)
    driver.produce(topic, [Message(v.encode()) for v in "abcd"])
    assert texts(driver.read(topic, 2)) == ["c", "d"]
    assert driver.read(topic, 4) == []


def test_partitions_are_apart(driver: Driver, topic: str) -> None:
    driver.create_topic(topic, 3)
    for partition in (2, 0):
        driver.produce(topic, [Message(f"in {partition}".encode())], partition=partition)
    assert [texts(driver.read(topic, partition=p)) for p in range(3)] == [["in 0"], [], ["in 2"]]


def test_a_created_topic_is_listed(driver: Driver, topic: str) -> None:
    assert topic not in driver.topics()
    driver.create_topic(topic)
    assert topic in driver.topics()


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_535, 65_536, 1_000_000])
def test_a_value_of_any_size_comes_back(driver: Driver, topic: str, size: int) -> None:
    value = bytes(i * 7 % 256 for i in range(256)) * (size // 256 + 1)
    driver.create_topic(topic)
    driver.produce(topic, [Message(value[:size])])
    assert [r.message.value for r in driver.read(topic)] == [value[:size]]


def test_what_a_dialect_can_say_of_a_message_comes_back(driver: Driver, kind: Kind, topic: str) -> None:
    said = [
        Message(b"first"),
        Message(b"v", b"k"),
        Message(b"v", b""),
        Message(b"v", b"\xff\x00" * 127 + b"!"),
        Message(b"", b"k"),
        Message(None, b"k"),
        Message(b"v", None, (("h", b"1"), ("h", b""), ("n", None))),
    ]
    sayable = [m for m in said if kind.expression.holds(m)]
    assert sayable
    driver.create_topic(topic)
    driver.produce(topic, sayable)
    assert told(driver.read(topic)) == sayable


def test_every_codec_of_a_dialect_is_read_back(driver: Driver, kind: Kind, topic: str) -> None:
    driver.create_topic(topic)
    for codec in kind.codecs:
        driver.produce(topic, [Message(codec.encode() * 100)] * 3, codec=codec)
    assert texts(driver.read(topic)) == [codec * 100 for codec in kind.codecs for _ in range(3)]


def test_all_write_to_one_topic_and_all_read_the_same(opened: Opened, topic: str) -> None:
    opened(PRESENT[0]).create_topic(topic)
    for kind in PRESENT:
        opened(kind).produce(topic, [Message(f"{kind.name} {i}".encode()) for i in range(3)])
    expected = [f"{kind.name} {i}" for kind in PRESENT for i in range(3)]
    assert {kind.name: texts(opened(kind).read(topic)) for kind in PRESENT} == {
        kind.name: expected for kind in PRESENT
    }


def test_a_topic_that_one_dialect_makes_is_there_for_the_others(
    kind: Kind, driver: Driver, opened: Opened, topic: str
) -> None:
    driver.create_topic(topic, 2)
    for other in PRESENT:
        opened(other).produce(topic, [Message(other.name.encode())], partition=1)
    assert len(driver.read(topic, partition=1)) == len(PRESENT)


def test_numbers_that_nobody_has_are_passed_over(
    kind: Kind, driver: Driver, opened: Opened, topic: str
) -> None:
    """TANK's writers may leave holes; to every reader the log goes on behind them."""
    with_holes(opened, topic)
    if Feature.END_BEHIND_HOLES in kind.never:
        each = [r for at in (0, 11, 21) for r in driver.wait(topic, at)]
        assert [(r.offset, r.message.value) for r in each] == [(10, b"a"), (20, b"b"), (30, b"c")]
        return
    assert texts(driver.read(topic)) == ["a", "b", "c"]
    assert texts(driver.read(topic, 15)) == ["b", "c"]
    found = [r.offset for r in driver.read(topic)]
    assert found in ([10, 20, 30], [None] * 3)


def with_holes(opened: Opened, topic: str) -> None:
    """A topic whose three messages stand at 10, 20 and 30."""
    writer = opened(tank.KIND)
    assert isinstance(writer, tank.Tank)
    writer.create_topic(topic)
    writer.produce_numbered(topic, [(10, "a"), (20, "b"), (30, "c")])

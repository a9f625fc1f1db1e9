"""What TANK alone has, asked by a client that was written without a look at the product."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.conformance.driver import Addresses
from tests.support.blocking_wire import Wire
from tests.support.tank_bundles import Message, pack, varint
from tests.support.tank_client import (
    BOUNDARY,
    FROM_NOW,
    NO_SUCH_PARTITION,
    NO_SUCH_TOPIC,
    NUMBER_REFUSED,
    OK,
    Ask,
    Entry,
    TankClient,
)

GIVEN_MS = 1_700_000_000_000


@pytest.fixture
def tank(addresses: Addresses) -> Iterator[TankClient]:
    with closing(TankClient.connect(addresses["tank"])) as client:
        yield client


def messages(*contents: str) -> list[Message]:
    return [Message(c.encode(), None, GIVEN_MS) for c in contents]


def numbered(*pairs: tuple[int, str]) -> bytes:
    return pack([Message(c.encode(), None, GIVEN_MS, n) for n, c in pairs], sparse=True)


def test_an_uncompressed_bundle_comes_back_byte_for_byte(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 1)
    bundles = [
        pack(messages("hello")),
        pack([Message(b"v1", b"k1", GIVEN_MS), Message(b"v2", b"k2", GIVEN_MS)]),
        pack([Message(str(i).encode(), None, GIVEN_MS + i) for i in range(20)]),
        numbered((100, "a"), (101, "b"), (110, "c"), (120, "d")),
    ]
    for bundle in bundles:
        assert tank.produce_bundle(topic, 0, bundle) == OK
    found = tank.fetch(topic, 0, 1)
    assert found.chunk == b"".join(varint(len(b)) + b for b in bundles)
    assert (found.base, found.high_watermark) == (1, 120)
    assert [m.number for m in found.messages] == [*range(1, 24), 100, 101, 110, 120]


def test_a_snappy_bundle_keeps_its_border_and_its_contents(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 1)
    sent = [Message(b"x" * 3000, b"k", GIVEN_MS), Message(b"y", None, GIVEN_MS + 1)]
    assert tank.produce(topic, 0, sent, snappy=True) == OK
    assert tank.produce(topic, 0, messages("after")) == OK
    found = tank.fetch(topic, 0, 1)
    assert [(m.content, m.key, m.timestamp_ms, m.number) for m in found.messages][:2] == [
        (b"x" * 3000, b"k", GIVEN_MS, 1),
        (b"y", None, GIVEN_MS + 1, 2),
    ]
    # Asked for the second message, the chunk begins with the bundle that holds it.
    assert tank.fetch(topic, 0, 2).base == 1
    assert tank.fetch(topic, 0, 3).base == 3


@pytest.mark.parametrize("size", [0, 1, 80, 1000])
def test_bundles_are_whole_and_there_is_at_least_one(tank: TankClient, topic: str, size: int) -> None:
    tank.create_topic(topic, 1)
    for i in range(10):
        tank.produce(topic, 0, messages(f"{i} {'x' * 100}"))
    found = tank.fetch(topic, 0, 1, size=size)
    assert [m.number for m in found.messages] == list(range(1, len(found.messages) + 1))
    assert found.high_watermark == 10


def test_numbers_only_go_up_and_holes_are_skipped(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 1)
    assert tank.produce_bundle(topic, 0, numbered((100, "a"), (102, "b")), base=100) == OK
    assert tank.produce_bundle(topic, 0, numbered((102, "late")), base=102) == NUMBER_REFUSED
    assert tank.produce_bundle(topic, 0, pack(messages("next")), base=0) == OK
    assert tank.produce_bundle(topic, 0, numbered((200, "c")), base=200) == OK
    assert tank.partitions(topic) == [(100, 200)]
    assert [(m.number, m.content) for m in read_all(tank, topic)] == [
        (100, b"a"),
        (102, b"b"),
        (103, b"next"),
        (200, b"c"),
    ]
    assert [m.number for m in tank.fetch(topic, 0, 150).messages] == [200]


def read_all(tank: TankClient, topic: str) -> list[Message]:
    """A chunk may end behind a bundle with holes, for the Java client's sake."""
    found = tank.fetch(topic, 0, 0).messages
    while some := tank.fetch(topic, 0, found[-1].number + 1).messages:
        found += some
    return found


def test_an_explicit_number_of_a_plain_bundle_is_kept(tank: TankClient, topic: str) -> None:
    """The published broker loses it."""
    tank.create_topic(topic, 1)
    assert tank.produce_bundle(topic, 0, pack(messages("a", "b")), base=50) == OK
    assert [m.number for m in tank.fetch(topic, 0, 0).messages] == [50, 51]


def test_what_lies_outside_is_told_with_the_ends(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 1)
    empty = tank.fetch(topic, 0, 2)
    assert (empty.code, empty.high_watermark, empty.first_available) == (BOUNDARY, 0, 0)
    tank.produce(topic, 0, messages("a", "b"))
    at_the_end = tank.fetch(topic, 0, 3)
    assert (at_the_end.code, at_the_end.chunk, at_the_end.high_watermark) == (OK, b"", 2)
    beyond = tank.fetch(topic, 0, 4)
    assert (beyond.code, beyond.high_watermark, beyond.first_available) == (BOUNDARY, 2, 1)


def test_a_waiting_fetch_is_overtaken_on_its_own_connection(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 1)
    tank.produce(topic, 0, messages("before"))
    waiting = tank.send_fetch([Ask(topic, 0, FROM_NOW)], wait_ms=15_000)
    assert tank.status().version == 400
    assert tank.produce(topic, 0, messages("next")) == OK
    (found,) = tank.answer(waiting)
    assert [(m.number, m.content) for m in found.messages] == [(2, b"next")]


def test_a_fetch_of_several_waits_for_any_and_lists_all(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 2)
    waiting = tank.send_fetch([Ask(topic, 0, 0), Ask(topic, 1, 0)], wait_ms=15_000)
    tank.produce(topic, 1, messages("v"))
    found = tank.answer(waiting)
    assert [(f.partition, [m.content for m in f.messages]) for f in found] == [(0, []), (1, [b"v"])]


def test_one_entry_that_is_ready_or_wrong_answers_at_once(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 1)
    asks = [Ask(topic, 0, 0), Ask(topic, 9, 0), Ask("nope", 0, 0), Ask(topic, 0, 0)]
    found = tank.answer(tank.send_fetch(asks, wait_ms=3_600_000))
    assert [f.code for f in found] == [OK, NO_SUCH_PARTITION, NO_SUCH_TOPIC, OK]


def test_less_than_the_minimum_is_not_lost_when_the_time_is_over(tank: TankClient, topic: str) -> None:
    """The published broker hides it."""
    tank.create_topic(topic, 1)
    waiting = tank.send_fetch([Ask(topic, 0, FROM_NOW)], wait_ms=400, bytes_min=1 << 20)
    tank.produce(topic, 0, messages("little"))
    (found,) = tank.answer(waiting)
    assert [m.content for m in found.messages] == [b"little"]


@pytest.mark.parametrize(("version", "code"), [(2, 10), (0, 2)])
@pytest.mark.parametrize(
    "bundle",
    [
        b"",
        b"\x00\x00",
        b"\x3c" + pack(messages("x"))[1:],
        b"\x06" + pack(messages("x"))[1:],
        b"\x84" + pack(messages("x"))[1:],
        b"\x05\xff\xff\xff\xff\x0f",
    ],
    ids=["empty", "no-messages", "count-lies", "codec-2", "bit-7", "bad-snappy"],
)
def test_a_bundle_that_lies_is_refused_and_the_connection_goes_on(
    addresses: Addresses, topic: str, bundle: bytes, version: int, code: int
) -> None:
    with closing(TankClient(Wire.connect(addresses["tank"]), version=version)) as tank:
        tank.create_topic(topic, 1)
        assert tank.produce_bundle(topic, 0, bundle) == code
        assert tank.produce(topic, 0, messages("v")) == OK
        assert [m.number for m in tank.fetch(topic, 0, 0).messages] == [1]


def test_topics_are_made_with_settings_and_named_as_tank_names_them(tank: TankClient, topic: str) -> None:
    assert tank.create_topic(topic, 2, "log.retention.secs=1h\nlog.segment.bytes=1mb\n") == 0
    assert tank.create_topic(topic, 2) == 1
    assert tank.create_topic("bad name!", 1) == 10
    assert tank.create_topic("a.b", 1) == 10
    assert tank.create_topic("x" * 65, 1) == 10
    assert tank.create_topic(f"{topic}-0", 0) == 10
    assert tank.create_topic(f"{topic}-c", 1, "log.segment.bytes=1") == 4
    assert tank.topics()[topic] == 2
    assert tank.partitions(topic) == [(0, 0), (0, 0)]
    assert tank.partitions("nope") == []
    assert tank.stands_alone()
    assert tank.reload_config("nope", 0) == 1


def test_one_request_may_write_to_a_partition_many_times(tank: TankClient, topic: str) -> None:
    tank.create_topic(topic, 1)
    entries = [Entry(topic, 0, pack(messages(str(i)))) for i in range(86)]
    assert tank.answer(tank.send_produce(entries)) == [OK] * 86
    assert [m.content.decode() for m in tank.fetch(topic, 0, 0).messages] == [str(i) for i in range(86)]

import struct

import pytest

from onelog.metrics import REFUSALS
from tests.support import tank_wire as wire
from tests.support.tank_peer import TankHouse, TankPeer

NOWHERE = (1 << 64) - 1


def created(peer: TankPeer, *args: str | int) -> int:
    """The code of a creation; the name comes back as it was sent."""
    request = wire.create(*args, request=7)  # type: ignore[arg-type]  # name, partitions, config
    answer = peer.ask(request)
    name = str(args[0]).encode()
    assert answer[:-1] == b"\x07" + struct.pack("<II", 6 + len(name), 7) + bytes([len(name)]) + name
    return answer[-1]


def spans(peer: TankPeer, topic: str, *partitions: int) -> list[tuple[int, ...]]:
    """First and last of each partition, and a reason where they are unknown."""
    listed = b"".join(struct.pack("<H", partition) for partition in partitions)
    answer = peer.ask(wire.frame(6, struct.pack("<I", 9) + wire.text(topic) + listed))
    prefix = struct.pack("<I", 9) + wire.text(topic)
    assert answer[:5] == struct.pack("<BI", 6, len(answer) - 5)
    assert answer[5:].startswith(prefix)
    at = 5 + len(prefix) + 2
    found: list[tuple[int, ...]] = []
    for _ in range(int.from_bytes(answer[at - 2 : at], "little")):
        first, last = struct.unpack_from("<QQ", answer, at)
        at += 16
        if first == last == NOWHERE:
            found.append((first, last, answer[at]))
            at += 1
        else:
            found.append((first, last))
    assert at == len(answer)
    return found


def reloaded(peer: TankPeer, topic: str, partition: int) -> int:
    tail = wire.text(topic) + struct.pack("<H", partition)
    answer = peer.ask(wire.frame(8, struct.pack("<I", 3) + tail))
    assert answer[5:-1] == struct.pack("<I", 3) + tail
    return answer[-1]


# ---- created


def test_a_topic_is_made_and_is_there_already_the_second_time(peer: TankPeer) -> None:
    assert created(peer, "orders", 3) == 0
    assert created(peer, "orders", 3) == 1
    assert peer.house.broker.topic("orders").partition_count == 3


@pytest.mark.parametrize("name", ["a", "A-b_9", "x" * 64])
def test_what_tank_can_say_is_created(peer: TankPeer, name: str) -> None:
    assert created(peer, name) == 0


@pytest.mark.parametrize("name", ["", "bad name!", "a.b", "x" * 65, "-a", "a-", "_a", "a_", ".", "a/b"])
def test_what_tank_cannot_say_is_not_created(peer: TankPeer, name: str) -> None:
    assert created(peer, name) == 10
    assert peer.house.broker.topics() == []
    assert peer.house.metrics.value(REFUSALS, "tank", "invalid_name") == 1


@pytest.mark.parametrize("count", [0, 10_001, 0xFFFF])
def test_a_topic_has_partitions_but_not_without_end(peer: TankPeer, count: int) -> None:
    assert created(peer, "orders", count) == 10


def test_settings_act(peer: TankPeer) -> None:
    assert created(peer, "orders", 1, "log.retention.secs=1h\nlog.segment.bytes=1mb\n") == 0
    assert peer.house.broker.topic("orders").settings == {
        "retention.ms": "3600000",
        "segment.bytes": "1048576",
    }


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ("log.segment.bytes=1", 4),
        ("log.segment.bytes=64", 4),
        ("log.retention.secs=soon", 4),
        ("who.knows=1", 4),
        ("log.cleanup.policy=cleanup", 11),
        ("retention.segments.count=2", 11),
    ],
)
def test_settings_that_would_not_act_are_refused(peer: TankPeer, config: str, code: int) -> None:
    assert created(peer, "orders", 1, config) == code
    assert peer.house.broker.topics() == []


def test_what_stands_behind_a_creation_finds_the_topic(peer: TankPeer) -> None:
    [answer] = peer.begin(wire.create("orders"))
    assert answer.is_held
    assert answer.frame()[-1] == 0
    peer.produce(b"x")


# ---- found


def test_topics_of_all_dialects_are_listed(peer: TankPeer) -> None:
    peer.house.make("a.topic.of-others", 2)
    peer.house.make("orders")
    answer = peer.ask(wire.frame(0x0B, struct.pack("<IB", 5, 0)))
    listed = wire.text("a.topic.of-others") + b"\x01\x02\x00" + wire.text("orders") + b"\x01\x01\x00"
    assert answer == wire.frame(0x0B, struct.pack("<IIB", 5, 2, 0) + listed)


def test_topics_that_tank_could_not_create_are_written_and_read(peer: TankPeer) -> None:
    name = "a.topic.of.others." + "x" * 230
    peer.house.make(name)
    peer.produce(b"x", topic=name)
    assert wire.bundles(peer.fetch(0, topic=name).chunk) == [wire.bundle(b"x")]
    assert spans(peer, name) == [(1, 1)]


def test_partitions_tell_their_first_and_last_number(peer: TankPeer) -> None:
    peer.house.make("orders", 4)
    peer.produce(b"a", b"b")
    assert peer.codes(wire.produce(("orders", [(1, wire.sparse((100, b"a"), (105, b"b")))]))) == b"\x00"
    peer.produce(b"a", b"b", b"c", b"d", partition=3)
    peer.house.delete_below(2, partition=3)
    assert spans(peer, "orders") == [(1, 2), (100, 105), (0, 0), (3, 4)]


def test_300_partitions_are_one_answer(peer: TankPeer) -> None:
    peer.house.make("orders", 300)
    assert spans(peer, "orders") == [(0, 0)] * 300


def test_listed_partitions_are_told_in_the_order_of_the_list(peer: TankPeer) -> None:
    peer.house.make("orders", 2)
    peer.produce(b"a", partition=1)
    assert spans(peer, "orders", 1, 0, 7, 1) == [(1, 1), (0, 0), (NOWHERE, NOWHERE, 0xFF), (1, 1)]


def test_an_unknown_topic_has_no_partitions(peer: TankPeer) -> None:
    assert spans(peer, "nope") == spans(peer, "nope", 0) == []


def test_a_partition_whose_messages_are_all_gone_goes_on_behind_them(peer: TankPeer) -> None:
    peer.house.make()
    peer.produce(b"a", b"b")
    peer.house.delete_below(2)
    assert spans(peer, "orders") == [(3, 2)]


def test_a_closed_partition_says_so(peer: TankPeer) -> None:
    peer.house.make("orders", 2)
    peer.house.close_partition("orders", 0)
    assert spans(peer, "orders") == [(NOWHERE, NOWHERE, 0xFB), (0, 0)]


def test_partitions_see_what_their_own_connection_wrote_before(peer: TankPeer) -> None:
    peer.house.make()
    produce = wire.produce(("orders", [(0, wire.bundle(b"a"))]))
    answer = peer.begin(produce, wire.frame(6, struct.pack("<I", 9) + wire.text("orders")))[1]
    assert answer.frame()[-16:] == struct.pack("<QQ", 1, 1)


# ---- reloaded


def test_settings_need_no_reload_so_it_succeeds(peer: TankPeer) -> None:
    peer.house.make("orders", 2)
    assert [reloaded(peer, "orders", partition) for partition in (0, 1)] == [0, 0]


def test_a_reload_of_the_unknown_is_told_in_the_codes_that_clients_read(house: TankHouse) -> None:
    house.make()
    assert reloaded(house.tank(), "nope", 0) == 1
    assert reloaded(house.tank(), "orders", 1) == 10

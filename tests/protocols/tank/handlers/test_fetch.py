import pytest

from onelog.metrics import LOSSES, RECORDS_FETCHED
from onelog.protocols.tank.handlers import fetch as subject
from onelog.records.batch import Batch
from onelog.records.record import Header, Record
from tests.support import tank_wire as wire
from tests.support.tank_peer import TankHouse, TankPeer
from tests.support.tank_wire import END

HOUR_MS = 3_600_000


def filled(peer: TankPeer, *sizes: int) -> None:
    """A topic of bundles with so many messages each."""
    peer.house.make()
    for size in sizes:
        peer.produce(*[b"x"] * size)


# ---- where it begins


def test_0_is_the_first_message_that_there_is(peer: TankPeer) -> None:
    filled(peer, 1, 3, 2)
    part = peer.fetch(0)
    assert (part.code, part.base, part.last) == (0, 1, 6)
    assert len(wire.bundles(part.chunk)) == 3


@pytest.mark.parametrize(("sequence", "base"), [(1, 1), (2, 2), (3, 2), (4, 2), (5, 5), (6, 5)])
def test_a_chunk_begins_with_the_bundle_that_holds_the_message(
    peer: TankPeer, sequence: int, base: int
) -> None:
    filled(peer, 1, 3, 2)
    part = peer.fetch(sequence)
    assert (part.code, part.base, part.last) == (0, base, 6)


def test_at_the_end_there_is_nothing_and_the_first_number_is_told(peer: TankPeer) -> None:
    filled(peer, 1, 3)
    for sequence in (5, END):
        assert peer.fetch(sequence) == wire.Part(0, 0, base=1, last=4)


@pytest.mark.parametrize("sequence", [0, 1, END])
def test_an_empty_partition_is_at_its_end(peer: TankPeer, sequence: int) -> None:
    peer.house.make()
    assert peer.fetch(sequence) == wire.Part(0, 0, base=0, last=0)


@pytest.mark.parametrize("sequence", [6, 100, END - 1])
def test_behind_the_next_message_there_is_no_place_to_begin(peer: TankPeer, sequence: int) -> None:
    filled(peer, 1, 3)
    assert peer.fetch(sequence, wait=HOUR_MS) == wire.Part(0, 1, base=0, last=4, first=1)


def test_an_empty_partition_has_only_one_place_to_begin(peer: TankPeer) -> None:
    peer.house.make()
    assert peer.fetch(2, wait=HOUR_MS) == wire.Part(0, 1, base=0, last=0, first=0)


def test_below_what_was_deleted_there_is_no_place_to_begin(peer: TankPeer) -> None:
    filled(peer, 1, 3, 2)
    peer.house.delete_below(4)
    assert peer.fetch(4) == wire.Part(0, 1, base=0, last=6, first=5)
    assert peer.fetch(0).base == 5
    peer.house.delete_below(6)
    assert peer.fetch(0) == wire.Part(0, 0, base=7, last=6)
    assert peer.fetch(6) == wire.Part(0, 1, base=0, last=6, first=7)


def test_deleted_messages_of_a_bundle_do_not_come_back(peer: TankPeer) -> None:
    filled(peer, 3)
    peer.house.delete_below(1)
    part = peer.fetch(0)
    assert (part.base, wire.bundles(part.chunk)) == (2, [wire.bundle(b"x", b"x")])


def test_a_log_that_begins_above_1_has_nothing_below(peer: TankPeer) -> None:
    peer.house.make()
    assert peer.codes(wire.produce(("orders", [(0, wire.sparse((100, b"a"), (102, b"b")))]))) == b"\x00"
    for sequence in (1, 50, 99):
        assert peer.fetch(sequence) == wire.Part(0, 1, base=0, last=102, first=100)
    assert peer.fetch(0).chunk == peer.fetch(100).chunk != b""


# ---- holes


def test_a_sparse_bundle_says_its_number_itself(peer: TankPeer) -> None:
    peer.house.make()
    bundle = wire.sparse((1, b"a"), (5, b"b"))
    assert peer.codes(wire.produce(("orders", [(0, bundle)]))) == b"\x00"
    for sequence in (0, 1, 3, 5):
        part = peer.fetch(sequence)
        assert (part.code, part.base, part.last, wire.bundles(part.chunk)) == (0xFE, None, 5, [bundle])


def test_a_hole_is_skipped_without_an_error(peer: TankPeer) -> None:
    filled(peer, 2)
    for bundle in (wire.sparse((10, b"a")), wire.sparse((20, b"b"))):
        assert peer.codes(wire.produce(("orders", [(0, bundle)]))) == b"\x00"
    for sequence, bundle in ((3, wire.sparse((10, b"a"))), (11, wire.sparse((20, b"b")))):
        part = peer.fetch(sequence)
        assert (part.code, wire.bundles(part.chunk)[0]) == (0xFE, bundle)


def test_a_bundle_behind_a_hole_that_does_not_say_its_number_begins_a_chunk(peer: TankPeer) -> None:
    filled(peer, 2)
    request = wire.produce(("orders", [(0, wire.bundle(b"a"), 50), (0, wire.bundle(b"b"))]), numbered=True)
    request_next = wire.produce(("orders", [(0, wire.bundle(b"c"))]))
    assert peer.codes(request) == b"\x00\x00"
    assert peer.codes(request_next) == b"\x00"
    first, second = peer.fetch(0), peer.fetch(3)
    assert (first.base, first.last, len(wire.bundles(first.chunk))) == (1, 52, 1)
    assert (second.code, second.base, len(wire.bundles(second.chunk))) == (0, 50, 3)


# ---- what is not there


def test_an_unknown_topic_is_its_name_and_nothing_else_at_once(peer: TankPeer) -> None:
    answer = peer.ask(wire.fetch(("nope", [(0, 0), (1, 0)]), wait=HOUR_MS))
    assert answer == bytes.fromhex("02 11000000 0d000000 01000000 01 04 6e6f7065 02 ffff")


def test_an_unknown_partition_is_a_code_and_nothing_else_at_once(peer: TankPeer) -> None:
    filled(peer)
    answer = peer.ask(wire.fetch(("orders", [(9, 0)]), wait=HOUR_MS))
    assert answer == bytes.fromhex("02 14000000 10000000 01000000 01 06 6f7264657273 01 0900 ff")


def test_topics_and_entries_come_back_in_their_order_and_as_often(peer: TankPeer) -> None:
    peer.house.make("a", 2)
    peer.house.make("b")
    peer.produce(b"one", topic="a", partition=1)
    peer.produce(b"two", topic="b")
    request = wire.fetch(
        ("b", [(0, 0)]), ("nope", [(3, 0)]), ("a", [(1, 0), (0, 0), (7, 0), (1, 1)]), ("b", [])
    )
    answer = wire.fetched(peer.ask(request))
    assert [(name, count) for name, count, _ in answer.topics] == [("b", 1), ("nope", 1), ("a", 4), ("b", 0)]
    found = answer.topics[2][2]
    assert found is not None
    assert [(part.partition, part.code) for part in found] == [(1, 0), (0, 0), (7, 0xFF), (1, 0)]
    assert [wire.bundles(part.chunk) for part in found] == [
        [wire.bundle(b"one")],
        [],
        [],
        [wire.bundle(b"one")],
    ]
    assert answer.topics[1][2] is None


def test_a_fetch_of_nothing_is_answered_with_nothing(peer: TankPeer) -> None:
    assert wire.fetched(peer.ask(wire.fetch(request=7, wait=HOUR_MS))) == wire.Fetched(7)


# ---- sizes


@pytest.mark.parametrize(
    ("size", "count"), [(0, 1), (1, 1), (112, 1), (113, 2), (224, 2), (225, 3), (1 << 20, 60)]
)
def test_bundles_are_whole_and_the_size_is_reached_or_passed(peer: TankPeer, size: int, count: int) -> None:
    peer.house.make()
    bundle = wire.bundle(b"x" * 100)
    assert len(bundle) == 111
    assert peer.codes(wire.produce(("orders", [(0, bundle)] * 60))) == bytes(60)
    assert wire.bundles(peer.fetch(1, size=size).chunk) == [bundle] * count
    assert peer.fetch(1, size=size).last == 60


def test_every_entry_gets_a_bundle_however_small_its_size_is(peer: TankPeer) -> None:
    peer.house.make("orders", 3)
    for partition in range(3):
        peer.produce(b"x" * 1000, partition=partition)
    answer = wire.fetched(peer.ask(wire.fetch(("orders", [(p, 0, 10) for p in range(3)]))))
    [(_, _, parts)] = answer.topics
    assert parts is not None
    assert [len(wire.bundles(part.chunk)) for part in parts] == [1, 1, 1]


def test_a_bundle_larger_than_anything_asked_for_comes_whole(peer: TankPeer) -> None:
    filled(peer, 1)
    large = wire.bundle(b"x" * 5_000_000)
    assert peer.codes(wire.produce(("orders", [(0, large)]))) == b"\x00"
    assert wire.bundles(peer.fetch(2, size=10).chunk) == [large]


def test_one_answer_has_a_bound_and_its_last_entries_wait_for_the_next(
    peer: TankPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "ANSWER_BYTES_MAX", 1000)
    peer.house.make("orders", 3)
    for partition in range(3):
        for _ in range(3):
            peer.produce(b"x" * 400, partition=partition)
    [(_, _, parts)] = wire.fetched(peer.ask(wire.fetch(("orders", [(p, 0) for p in range(3)])))).topics
    assert parts is not None
    assert [len(wire.bundles(part.chunk)) for part in parts] == [3, 0, 0]
    assert {(part.code, part.base, part.last) for part in parts} == {(0, 1, 3)}


def test_the_newest_number_is_right_behind_a_bundle_of_70_000(peer: TankPeer) -> None:
    peer.house.make()
    assert peer.codes(wire.produce(("orders", [(0, wire.bundle(*[b""] * 70_000))]))) == b"\x00"
    for sequence in (0, 70_001):
        assert peer.fetch(sequence).last == 70_000
    [bundle] = wire.bundles(peer.fetch(69_999).chunk)
    assert bundle[:4] == b"\x00" + wire.varint(70_000)


def test_a_chunk_is_read_on_until_it_is_as_large_as_asked_for(
    peer: TankPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "READ_BYTES_MAX", 200)
    peer.house.make()
    assert peer.codes(wire.produce(("orders", [(0, wire.bundle(b"x" * 50))] * 40))) == bytes(40)
    assert len(wire.bundles(peer.fetch(0).chunk)) == 40


# ---- waiting


@pytest.mark.parametrize("sequence", [0, 1, END])
def test_a_fetch_at_the_end_waits_for_the_next_message(peer: TankPeer, sequence: int) -> None:
    peer.house.make()
    [waiting] = peer.begin(wire.fetch(("orders", [(0, sequence)]), wait=10_000))
    peer.house.advance(9_000)
    assert not waiting.is_there()
    peer.produce(b"a")
    part = wire.fetched(waiting.frame()).only
    assert (part.code, part.base, part.last, wire.bundles(part.chunk)) == (0, 1, 1, [wire.bundle(b"a")])


def test_the_end_is_where_it_was_when_the_request_came(peer: TankPeer) -> None:
    filled(peer, 2)
    [waiting] = peer.begin(wire.fetch(("orders", [(0, END)]), wait=10_000))
    other = peer.house.tank()
    other.produce(b"a")
    part = wire.fetched(waiting.frame()).only
    assert (part.base, wire.bundles(part.chunk)) == (3, [wire.bundle(b"a")])


def test_a_sparse_bundle_that_was_waited_for_comes_with_its_base(peer: TankPeer) -> None:
    peer.house.make()
    [waiting] = peer.begin(wire.fetch(("orders", [(0, 1)]), wait=10_000))
    assert peer.codes(wire.produce(("orders", [(0, wire.sparse((100, b"a")))]))) == b"\x00"
    part = wire.fetched(waiting.frame()).only
    assert (part.code, part.base, part.last) == (0, 100, 100)


def test_a_wait_ends_exactly_when_it_said_with_nothing(peer: TankPeer) -> None:
    filled(peer, 2)
    [waiting] = peer.begin(wire.fetch(("orders", [(0, 3)]), wait=700))
    peer.house.advance(699)
    assert not waiting.is_there()
    peer.house.advance(1)
    assert wire.fetched(waiting.frame()).only == wire.Part(0, 0, base=1, last=2)


def test_a_wait_without_end_ends_with_the_brokers_patience(peer: TankPeer) -> None:
    peer.house.make()
    [waiting] = peer.begin(wire.fetch(("orders", [(0, 1)]), wait=END))
    peer.house.advance(HOUR_MS)
    assert wire.fetched(waiting.frame()).only.chunk == b""


def test_a_waiting_fetch_holds_up_nobody_and_is_overtaken(peer: TankPeer) -> None:
    filled(peer, 1)
    fetch = wire.fetch(("orders", [(0, END)]), request=1, wait=10_000)
    produce = wire.produce(("orders", [(0, wire.bundle(b"a"))]), request=2)
    waiting, produced = peer.begin(fetch, produce)
    assert wire.codes(produced.frame()) == b"\x00"
    part = wire.fetched(waiting.frame()).only
    assert (part.base, wire.bundles(part.chunk)) == (2, [wire.bundle(b"a")])


def test_a_fetch_sees_what_its_own_connection_wrote_before_it(peer: TankPeer) -> None:
    filled(peer)
    produce = wire.produce(("orders", [(0, wire.bundle(b"a"))]))
    at_once, at_end, waiting = peer.begin(
        produce,
        wire.fetch(("orders", [(0, 1)])),
        wire.fetch(("orders", [(0, END)])),
        wire.fetch(("orders", [(0, END)]), wait=1000),
    )[1:]
    assert wire.bundles(wire.fetched(at_once.frame()).only.chunk) == [wire.bundle(b"a")]
    assert wire.fetched(at_end.frame()).only == wire.Part(0, 0, base=1, last=1)
    peer.produce(b"b")
    assert wire.fetched(waiting.frame()).only.base == 2


def test_a_wait_over_several_partitions_is_answered_once_with_all_of_them(peer: TankPeer) -> None:
    peer.house.make("orders", 3)
    [waiting] = peer.begin(wire.fetch(("orders", [(0, 1), (1, END), (2, 0), (1, 1)]), wait=10_000))
    peer.produce(b"a", partition=1)
    [(_, _, parts)] = wire.fetched(waiting.frame()).topics
    assert parts is not None
    assert [(part.partition, part.base, part.last) for part in parts] == [
        (0, 0, 0),
        (1, 1, 1),
        (2, 0, 0),
        (1, 1, 1),
    ]


@pytest.mark.parametrize("place", [(0, 1), (9, 0), (1, 5)])
def test_an_entry_that_has_something_to_say_lets_nobody_wait(peer: TankPeer, place: tuple[int, int]) -> None:
    peer.house.make("orders", 2)
    peer.produce(b"a")
    request = wire.fetch(("orders", [(1, 1), place]), wait=HOUR_MS, least=1 << 20)
    [(_, _, parts)] = wire.fetched(peer.ask(request)).topics
    assert parts is not None
    assert parts[0] == wire.Part(1, 0, base=0, last=0)


def test_the_least_size_counts_bundles_as_they_are_sent(peer: TankPeer) -> None:
    peer.house.make()
    [waiting] = peer.begin(wire.fetch(("orders", [(0, 1)]), wait=10_000, least=30))
    peer.produce(b"xy")  # 13 bytes and their length
    assert len(wire.bundle(b"xy")) == 13
    peer.house.advance(1)
    assert not waiting.is_there()
    peer.produce(b"xy")
    peer.house.advance(1)
    assert not waiting.is_there()
    peer.produce(b"xy")
    assert len(wire.bundles(wire.fetched(waiting.frame()).only.chunk)) == 3


def test_what_came_is_not_lost_when_time_is_over_before_there_was_enough(peer: TankPeer) -> None:
    peer.house.make()
    [waiting] = peer.begin(wire.fetch(("orders", [(0, END)]), wait=1000, least=1 << 20))
    peer.produce(b"a")
    peer.house.advance(500)
    assert not waiting.is_there()
    peer.house.advance(500)
    part = wire.fetched(waiting.frame()).only
    assert (part.base, wire.bundles(part.chunk)) == (1, [wire.bundle(b"a")])


def test_what_was_waited_for_is_counted_once(peer: TankPeer) -> None:
    peer.house.make()
    for least in (0, 30):
        [waiting] = peer.begin(wire.fetch(("orders", [(0, END)]), wait=10_000, least=least))
        peer.produce(b"x" * 50)
        assert waiting.frame()
    assert peer.house.metrics.value(RECORDS_FETCHED, "tank") == 2


def test_a_topic_that_goes_ends_the_wait(peer: TankPeer) -> None:
    peer.house.make()
    [waiting] = peer.begin(wire.fetch(("orders", [(0, 1)]), wait=HOUR_MS))
    peer.house.delete_topic("orders")
    assert wire.fetched(waiting.frame()).topics == [("orders", 1, None)]


def test_a_wait_that_nobody_wants_any_more_leaves_nothing_behind(peer: TankPeer) -> None:
    peer.house.make()
    [waiting] = peer.begin(wire.fetch(("orders", [(0, 1)]), wait=HOUR_MS))
    waiting.cancel()
    assert peer.house.waiters("orders", 0) == 0


# ---- what other dialects wrote


def test_what_tank_cannot_say_is_counted_as_a_loss(house: TankHouse) -> None:
    house.make()
    records = [Record(b"k" * 256, b"v", 1), Record(None, None, 1), Record(None, b"v", 1, (Header("h", b""),))]
    house.append(Batch.build(records))
    [bundle] = wire.bundles(house.tank().fetch(0).chunk)
    assert bundle == wire.bundle(b"v", b"", b"v", at=1)
    for reason in ("long_key", "null_value", "headers"):
        assert house.metrics.value(LOSSES, "tank", reason) == 1

"""The TANK client of the tests says what tank-cli and the Java client say, and reads what the real broker answers."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.golden_files import Exchange, exchange, replaying
from tests.support.tank_bundles import Message, pack, unpack, unpack_chunk
from tests.support.tank_client import (
    BOUNDARY,
    FETCH_SIZE,
    FROM_NOW,
    NO_SUCH_PARTITION,
    NO_SUCH_TOPIC,
    PING,
    Ask,
    Entry,
    Status,
    TankClient,
)

GIVEN = 1_700_000_000_000
TOPIC = "p37291"


def _at(*contents: str, key: str = "") -> list[Message]:
    return [Message(c.encode(), key.encode() or None, GIVEN) for c in contents]


def _numbered(*pairs: tuple[int, str], timestamp_ms: int = GIVEN) -> bytes:
    return pack([Message(c.encode(), None, timestamp_ms, n) for n, c in pairs], sparse=True)


def _texts(client: TankClient, number: int, *, partition: int = 0, size: int = FETCH_SIZE) -> list[str]:
    found = client.fetch(TOPIC, partition, number, size=size)
    return [f"{m.number} {m.content.decode()}" for m in found.messages]


KEYED = [Message(b"v1", b"k1", GIVEN), Message(b"v2", b"k2", GIVEN)]
TWENTY = _at(*map(str, range(20)))
SAME_3 = [Entry(TOPIC, 0, pack(_at(c))) for c in "abc"]
X, Y = pack(_at("x")), pack(_at("y"))
MIXED = [Entry("nope", 0, X), Entry("nope", 1, X), Entry(TOPIC, 77, X), Entry(TOPIC, 1, Y)]
LOW = _numbered((50, "a"), (51, "b"))
ABC_100 = _numbered((100, "a"), (101, "b"), (102, "c"))

ANSWERED: list[tuple[str, int, Callable[[TankClient], Any], Any]] = [
    ("02_create", 1, lambda c: c.create_topic(TOPIC, 3), 0),
    ("03_create_again", 2, lambda c: c.create_topic(TOPIC, 3), 1),
    ("04_create_bad_name", 3, lambda c: c.create_topic("bad name!", 1), 10),
    ("05_produce_one", 1, lambda c: c.produce(TOPIC, 0, _at("hello")), 0),
    ("06_produce_three", 1, lambda c: c.produce(TOPIC, 0, _at("one", "two", "three")), 0),
    ("07_produce_keys", 1, lambda c: c.produce(TOPIC, 0, KEYED), 0),
    ("08_produce_20", 1, lambda c: c.produce(TOPIC, 0, TWENTY), 0),
    ("09_produce_same_3", 1, lambda c: c.answer(c.send_produce(SAME_3)), [0, 0, 0]),
    ("10_produce_mixed", 1, lambda c: c.answer(c.send_produce(MIXED)), [0xFF, 0xFF, 1, 0]),
    ("11_produce_sparse", 1, lambda c: c.produce_bundle(TOPIC, 2, ABC_100, base=100), 0),
    ("12_produce_too_low", 1, lambda c: c.produce_bundle(TOPIC, 2, LOW, base=50), 10),
    ("13_produce_none", 1, lambda c: c.answer(c.send_produce([])), []),
    ("16_fetch_size_1", 1, lambda c: _texts(c, 1, size=1), ["1 hello", "2 one", "3 two", "4 three"]),
    ("19_fetch_sparse", 1, lambda c: _texts(c, 101, partition=2, size=1 << 20), ["100 a", "101 b", "102 c"]),
    ("22_discover_partitions", 9, lambda c: c.partitions(TOPIC), [(1, 29), (1, 1), (100, 102)]),
    ("23_discover_partitions_none", 9, lambda c: c.partitions("nope"), []),
    ("24_topology", 9, lambda c: c.stands_alone(), True),
    ("25_status", 9, lambda c: c.status(), Status(3, 8, 400)),
    ("prog_16_t_gold_discover_partitions", 1, lambda c: c.partitions("gold"), [(1, 6), (100, 230)]),
    ("prog_17_0_reload_config", 1, lambda c: c.reload_config("gold", 0), 2),
]


@pytest.mark.parametrize(("name", "first_id", "call", "expected"), ANSWERED, ids=[r[0] for r in ANSWERED])
def test_it_asks_as_the_programs_ask_and_reads_their_brokers_answer(
    name: str, first_id: int, call: Callable[[TankClient], Any], expected: Any
) -> None:
    with replaying(exchange("tank", name), greeting=PING) as wire:
        assert call(TankClient(wire, first_id=first_id)) == expected


def test_a_fetch_beyond_the_end_is_told_the_end_and_the_beginning() -> None:
    with replaying(exchange("tank", "18_fetch_beyond"), greeting=PING) as wire:
        found = TankClient(wire).fetch(TOPIC, 0, 31, size=1 << 20)
        assert (found.code, found.high_watermark, found.first_available) == (BOUNDARY, 29, 1)


def test_a_fetch_of_several_positions_is_read_in_their_order() -> None:
    asks = [Ask(TOPIC, 0, 1, 20), Ask(TOPIC, 1, 1, 20), Ask(TOPIC, 9, 1, 20)]
    asks += [Ask("nope", 0, 1, 1), Ask("nope", 1, 1, 1)]
    with replaying(exchange("tank", "21_fetch_v0_multi"), greeting=PING) as wire:
        client = TankClient(wire, version=0, first_id=7)
        found = client.answer(client.send_fetch(asks))
    assert [f.code for f in found] == [0, 0, NO_SUCH_PARTITION, NO_SUCH_TOPIC]
    assert [m.content for m in found[0].messages] == [b"hello", b"one", b"two", b"three"]


@pytest.mark.parametrize("name", ["20_fetch_v3", "prog_23_0_get_d_p_1_1"])
def test_version_3_has_a_byte_of_flags(name: str) -> None:
    captured = exchange("tank", name)
    topic, size = ("gold", FETCH_SIZE) if name.startswith("prog") else (TOPIC, 20)
    with replaying(captured, greeting=PING) as wire:
        client = TankClient(wire)
        (found,) = client.answer(client.send_fetch([Ask(topic, 0, 1, size)], flags=1))
        assert found.messages


def test_java_is_version_0_with_an_id_of_its_own() -> None:
    with replaying(exchange("tank", "prog_34_java_tool_put_javamsg"), greeting=PING) as wire:
        client = TankClient(wire, version=0, client_id="JC01", first_id=0)
        sent = Message(b"javamsg", None, 0x1A1F099672B)
        assert client.answer(client.send_produce([Entry("gold", 0, pack([sent]))])) == [0]


def test_answers_may_overtake() -> None:
    fetch, produce = (exchange("tank", f"prog_2{n}_0_benchmark_p2c_c_3_{n - 6}") for n in (7, 8))
    both = Exchange("p2c", fetch.request + produce.request, produce.answer + fetch.answer)
    with replaying(both, greeting=PING) as wire:
        client = TankClient(wire)
        waiting = client.send_fetch([Ask("gold", 0, FROM_NOW, 10_000)], wait_ms=10_000)
        bundle = produce.request[-402:]
        stored = client.send_produce([Entry("gold", 0, bundle)])
        assert client.next_answered() == stored
        (found,) = client.answer(waiting)
        assert [m.number for m in found.messages] == [7, 8, 9]
        assert client.answer(stored) == [0]


def test_a_second_ping_is_noticed() -> None:
    with replaying(Exchange("pings", b"", PING), greeting=PING) as wire:
        client = TankClient(wire)
        with pytest.raises(AssertionError, match="second ping"):
            client.next_answered()


def test_bundles_are_packed_as_tank_cli_packs_them() -> None:
    captured = exchange("tank", "prog_12_1_produce_s_200_a_10_s_4_a_b_c_d").request[-32:]
    pairs = [(200, "a"), (210, "b"), (220, "c"), (230, "d")]
    assert _numbered(*pairs, timestamp_ms=0x1A1F0994640) == captured
    assert [(m.number, m.content.decode()) for m in unpack(captured, 1)] == pairs


def test_a_snappy_bundle_of_the_real_client_is_unpacked() -> None:
    # The dossier's ninth example, its copies written out in the block format it describes.
    said = 1500
    body = b"\x00" + struct.pack("<Q", GIVEN) + b"\xdc\x0b" + b"A" * said
    packed = pack([Message(b"A" * said, None, GIVEN)], snappy=True)
    assert packed[:3] == bytes.fromhex("05e70b"), "count 1, codec 1, and 1511 bytes once decompressed"
    assert len(packed) < len(body) // 5
    assert [m.content for m in unpack(packed, 1)] == [b"A" * said]
    real = bytes.fromhex("05e70b2c00dcfd1cf0a1010000dc0b41") + b"\xfe\x01\x00" * 23 + b"\x6a\x01\x00"
    assert [len(m.content) for m in unpack(real, 1)] == [said]


def test_a_chunk_goes_on_counting_where_a_sparse_bundle_ends() -> None:
    sparse, plain = _numbered((5, "a"), (9, "b")), pack(_at("c"))
    chunk = b"".join(bytes([len(b)]) + b for b in (sparse, plain))
    assert [m.number for m in unpack_chunk(chunk, 0)] == [5, 9, 10]

"""TANK over real sockets, beside the other dialects: what a plain socket sees."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onelog.broker.broker import NewTopic
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.kafka.producer import Producer
from onelog.metrics import CONNECTIONS, CONNECTIONS_FAULTED
from onelog.model import TopicName
from onelog.protocols.tank.framing import FRAME_BYTES_MAX
from onelog.records.record import Record
from tests.support import tank_wire as wire
from tests.support.hand_clock import HandClock
from tests.support.served_dialects import ServedDialects, served_dialects
from tests.support.toy_server import Line, turns, until

STATUS = wire.frame(0x0A, struct.pack("<I", 7))


@asynccontextmanager
async def peer(served: ServedDialects) -> AsyncIterator[Line]:
    """A connection that has not read its ping yet."""
    line = Line(*await asyncio.open_connection("127.0.0.1", served.port("tank")))
    try:
        yield line
    finally:
        line.close()
        await line.gone()


async def frame(line: Line) -> bytes:
    header = await line.reader.readexactly(5)
    return header + await line.reader.readexactly(int.from_bytes(header[1:], "little"))


@asynccontextmanager
async def broker(path: Path) -> AsyncIterator[ServedDialects]:
    """With one topic."""
    async with served_dialects(path) as served:
        await served.broker.create_topics([NewTopic("orders", 2)])
        yield served


async def test_five_bytes_come_first_and_in_one_piece_and_never_again(tmp_path: Path) -> None:
    async with broker(tmp_path) as served, peer(served) as line:
        assert await line.reader.read(100) == wire.PING
        line.write(STATUS)
        assert (await frame(line))[0] == 0x0A
        _pass(served, 500)
        line.write(STATUS)
        assert (await frame(line))[0] == 0x0A


async def test_a_request_that_came_before_the_ping_was_read_is_served(tmp_path: Path) -> None:
    async with broker(tmp_path) as served, peer(served) as line:
        line.write(STATUS)
        assert await line.reader.readexactly(5) == wire.PING
        assert (await frame(line))[0] == 0x0A


async def test_who_asks_for_nothing_is_closed_after_16_seconds_and_nobody_else(tmp_path: Path) -> None:
    async with (
        broker(tmp_path) as served,
        peer(served) as silent,
        peer(served) as pinging,
        peer(served) as used,
    ):
        for line in (silent, pinging, used):
            assert await frame(line) == wire.PING
        used.write(STATUS)
        await frame(used)
        _pass(served, 15.9)
        pinging.write(wire.PING)
        await turns(20)
        _pass(served, 0.2)
        assert await silent.rest() == await pinging.rest() == b""
        used.write(STATUS)
        assert (await frame(used))[0] == 0x0A


async def test_requests_in_single_bytes_are_served(tmp_path: Path) -> None:
    async with broker(tmp_path) as served, peer(served) as line:
        assert await frame(line) == wire.PING
        for byte in wire.produce(("orders", [(0, wire.bundle(b"hello"))])) + STATUS:
            line.write(bytes([byte]))
            await turns(2)
        assert {(await frame(line))[0] for _ in range(2)} == {1, 0x0A}


async def test_answers_overtake_a_fetch_that_waits(tmp_path: Path) -> None:
    async with broker(tmp_path) as served, peer(served) as line:
        assert await frame(line) == wire.PING
        line.write(wire.fetch(("orders", [(0, wire.END)]), request=1, wait=60_000) + STATUS)
        assert (await frame(line))[0] == 0x0A
        line.write(wire.produce(("orders", [(0, wire.bundle(b"hello"))]), request=2))
        answers = {answer[0]: answer for answer in [await frame(line), await frame(line)]}
        assert wire.codes(answers[1]) == b"\x00"
        assert wire.bundles(wire.fetched(answers[2]).only.chunk) == [wire.bundle(b"hello")]


async def test_a_thousand_pipelined_requests_get_a_thousand_answers(tmp_path: Path) -> None:
    async with broker(tmp_path) as served, peer(served) as line:
        assert await frame(line) == wire.PING
        for request in range(1000):
            line.write(wire.produce(("orders", [(0, wire.bundle(b"%d" % request))]), request=request))
        answers = [await frame(line) for _ in range(1000)]
        assert sorted(int.from_bytes(answer[5:9], "little") for answer in answers) == list(range(1000))
        line.write(wire.fetch(("orders", [(0, 1)])))
        found = wire.bundles(wire.fetched(await frame(line)).only.chunk)
        assert found == [wire.bundle(b"%d" % request) for request in range(1000)]


async def test_a_creation_and_a_produce_in_one_piece_are_done_one_after_the_other(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        assert await frame(line) == wire.PING
        line.write(wire.create("fresh") + wire.produce(("fresh", [(0, wire.bundle(b"x"))])))
        assert (await frame(line))[-1] == 0
        assert wire.codes(await frame(line)) == b"\x00"


async def test_the_longest_wait_that_can_be_said_is_over_with_its_connection(tmp_path: Path) -> None:
    async with broker(tmp_path) as served:
        async with peer(served) as line:
            line.write(wire.fetch(("orders", [(0, wire.END)]), wait=wire.END))
            partition = served.broker._parts.served.partition(TopicName("orders"), 0)
            await until(lambda: partition._waiters)
        await turns(20)
        _pass(served, 6)  # answers that are owed have so long to leave
        await until(lambda: not partition._waiters)


BAD = {
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
    "an unknown kind": wire.frame(0x63, b""),
    "between brokers": wire.frame(0x09, bytes(30)),
    "more than 256 MiB": b"\x01" + struct.pack("<I", (256 << 20) + 1),
    "more than a frame": b"\x01" + struct.pack("<I", FRAME_BYTES_MAX + 1),
    "a truncated produce": wire.frame(1, b"\x02\x00\x01"),
    "a truncated fetch": wire.frame(2, b"\x02\x00\x01"),
}


@pytest.mark.parametrize("name", BAD)
async def test_garbage_closes_its_connection_behind_its_answers_and_no_other(
    tmp_path: Path, name: str
) -> None:
    async with broker(tmp_path) as served, peer(served) as good, peer(served) as bad:
        bad.write(STATUS + BAD[name] + STATUS)
        assert (await frame(bad), (await frame(bad))[0]) == (wire.PING, 0x0A)
        assert await bad.rest() == b""
        assert served.broker.metrics.value(CONNECTIONS_FAULTED, "tank") == 1
        good.write(STATUS)
        assert (await frame(good), (await frame(good))[0]) == (wire.PING, 0x0A)


@pytest.mark.parametrize(
    "bundle",
    [b"", b"\x00\x00", b"\x04", b"\x05\xff\xff\xff\x7f" + bytes(40), b"\x00\xff\xff\xff\x7f" + bytes(8)],
    ids=["empty", "no messages", "cut off", "snappy of 256 MiB", "2^28 messages"],
)
async def test_bundles_that_kill_or_bloat_the_reference_do_nothing_here(
    tmp_path: Path, bundle: bytes
) -> None:
    """An empty one, or one of no messages, aborts TANK's own broker."""
    async with broker(tmp_path) as served, peer(served) as line:
        assert await frame(line) == wire.PING
        line.write(wire.produce(("orders", [(0, bundle), (0, wire.bundle(b"good"))])))
        assert wire.codes(await frame(line)) == b"\x0a\x00"
        line.write(wire.fetch(("orders", [(0, 0)])))
        assert wire.bundles(wire.fetched(await frame(line)).only.chunk) == [wire.bundle(b"good")]


@given(data=st.binary(min_size=1, max_size=200), kind=st.sampled_from([1, 2, 5, 6, 7, 8]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nonsense_never_is_a_fault_of_ours(
    tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture, data: bytes, kind: int
) -> None:
    async def story() -> None:
        async with broker(tmp_path_factory.mktemp("nonsense")) as served, peer(served) as line:
            line.write(wire.frame(kind, data) + wire.frame(0x63, b""))
            await line.rest()

    asyncio.run(story())
    assert "fault of ours" not in caplog.text


async def test_what_tank_writes_kafka_reads_and_the_other_way_round(tmp_path: Path) -> None:
    async with broker(tmp_path) as served, peer(served) as line:
        assert await frame(line) == wire.PING
        keyed = b"\x04" + wire.message(b"v", key=b"k", at=5)
        line.write(wire.produce(("orders", [(0, keyed), (0, wire.sparse((10, b"w"), at=6))])))
        assert wire.codes(await frame(line)) == b"\x00\x00"

        def kafka() -> list[tuple[int, Record]]:
            with KafkaClient(f"127.0.0.1:{served.port()}") as client:
                Producer(client).send("orders", [Record(b"K", b"x", 7)], partition=0)
                return list(Consumer(client).iterate("orders", 0, 0))

        records = [Record(b"k", b"v", 5), Record(None, b"w", 6), Record(b"K", b"x", 7)]
        assert await served.talk(kafka) == list(zip([0, 9, 10], records, strict=True))
        line.write(wire.fetch(("orders", [(0, 11)])))
        [bundle] = wire.bundles(wire.fetched(await frame(line)).only.chunk)
        assert bundle == b"\x04" + wire.message(b"x", key=b"K", at=7)


async def test_connections_are_counted(tmp_path: Path) -> None:
    async with broker(tmp_path) as served, peer(served) as line:
        assert await frame(line) == wire.PING
        assert served.broker.metrics.value(CONNECTIONS, "tank") == 1


def _pass(served: ServedDialects, seconds: float) -> None:
    """Time has passed, and the server has looked at its connections before and after it."""
    clock = served.broker.clock
    assert isinstance(clock, HandClock)
    served.server.look()
    clock.now_s += seconds
    served.server.look()

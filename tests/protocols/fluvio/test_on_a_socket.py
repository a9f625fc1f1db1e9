"""Fluvio over real sockets, beside the other dialects: what a plain socket sees."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onelog.broker.broker import NewTopic
from onelog.metrics import CONNECTIONS, CONNECTIONS_FAULTED
from onelog.server.limits import ServerLimits
from tests.support import fluvio_wire as wire
from tests.support.hand_clock import HandClock
from tests.support.served_dialects import ServedDialects, served_dialects
from tests.support.toy_server import Line, until

WATCHERS = 300
DOORS = pytest.mark.parametrize("door", ["fluvio-sc", "fluvio-spu"])


@asynccontextmanager
async def peer(served: ServedDialects, door: str = "fluvio-sc") -> AsyncIterator[Line]:
    line = Line(*await asyncio.open_connection("127.0.0.1", served.port(door)))
    try:
        yield line
    finally:
        line.close()
        await line.gone()


async def frame(line: Line) -> tuple[int, bytes]:
    """The number of the request that it answers, and what it says."""
    size = int.from_bytes(await line.reader.readexactly(4), "big")
    data = await line.reader.readexactly(size)
    return int.from_bytes(data[:4], "big"), data[4:]


@DOORS
@pytest.mark.parametrize("step", [1, 7, 1000])
async def test_requests_come_in_any_pieces_and_several_at_once(tmp_path: Path, door: str, step: int) -> None:
    async with served_dialects(tmp_path) as served, peer(served, door) as line:
        data = wire.api_versions() * 3
        for start in range(0, len(data), step):
            line.write(data[start : start + step])
            await asyncio.sleep(0)
        answers = [await frame(line) for _ in range(3)]
        assert answers == [answers[0]] * 3
        assert answers[0][0] == 1


async def test_the_number_1_is_used_twice_and_both_are_answered(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(wire.api_versions(correlation_id=1))
        assert (await frame(line))[0] == 1
        line.write(wire.watch("SPU", correlation_id=1) + wire.list_objects("Topic", correlation_id=2))
        # A reply leaves before what a stream has to say in the same turn.
        assert [(await frame(line))[0] for _ in range(2)] == [2, 1]


@DOORS
@pytest.mark.parametrize(
    "bad", [wire.frame(9999, 0, b""), wire.frame(18, 2, b"\x00\x09cut"), b"GET / HTTP/1.1\r\n"]
)
async def test_what_cannot_be_read_closes_its_connection_and_no_other(
    tmp_path: Path, door: str, bad: bytes
) -> None:
    async with served_dialects(tmp_path) as served, peer(served, door) as line, peer(served, door) as other:
        line.write(wire.api_versions() + bad)
        assert (await frame(line))[0] == 1
        assert await line.rest() == b""
        other.write(wire.api_versions())
        assert (await frame(other))[0] == 1
        assert served.broker.metrics.value(CONNECTIONS_FAULTED, "fluvio") == 1


async def test_an_unknown_kind_of_object_closes(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(wire.watch("Nonsense"))
        assert await line.rest() == b""


@DOORS
async def test_a_connection_that_is_idle_for_ten_minutes_stays_open(tmp_path: Path, door: str) -> None:
    async with served_dialects(tmp_path) as served, peer(served, door) as line:
        line.write(wire.api_versions())
        await frame(line)
        clock = served.broker.clock
        assert isinstance(clock, HandClock)
        for _ in range(3):
            served.server.look()
            clock.now_s += 660
        served.server.look()
        line.write(wire.api_versions())
        assert (await frame(line))[0] == 1


async def test_the_unit_is_told_at_the_address_of_its_listener(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(wire.list_objects("SPU"))
        _, said = await frame(line)
        assert served.port("fluvio-spu").to_bytes(2, "big") + b"\0\0\0\1\1\0\x09127.0.0.1" in said


async def test_a_change_is_told_on_the_same_connection_before_its_answer_and_later_requests_wait(
    tmp_path: Path,
) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(wire.watch("Topic", correlation_id=2) + wire.watch("Partition", correlation_id=3))
        assert [(await frame(line))[0] for _ in range(2)] == [2, 3]
        changes = wire.create("orders", correlation_id=4), wire.delete("orders", correlation_id=6)
        line.write(changes[0] + wire.list_objects("Topic", correlation_id=5) + changes[1])
        assert [(await frame(line))[0] for _ in range(7)] == [2, 3, 4, 5, 3, 2, 6]


async def test_many_who_watch_hear_of_every_topic_that_comes_and_goes(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served:
        lines = [
            Line(*await asyncio.open_connection("127.0.0.1", served.port("fluvio-sc")))
            for _ in range(WATCHERS)
        ]
        for line in lines:
            line.write(wire.watch("Topic"))
        for line in lines:
            await frame(line)
        for n in range(3):
            await served.broker.create_topics([NewTopic(f"t{n}", 1)])
            await served.broker.delete_topics([f"t{n}"])
        heard = [[await frame(line) for _ in range(6)] for line in lines]
        assert all(told == heard[0] for told in heard)
        assert [f"t{n}".encode() in told[1] for n in range(3) for told in heard[0][2 * n : 2 * n + 2]] == [
            True
        ] * 6
        for line in lines:
            line.close()
        await asyncio.gather(*(line.gone() for line in lines))
        await until(lambda: served.broker.metrics.value(CONNECTIONS, "fluvio") == 0)


async def test_a_watcher_that_does_not_read_costs_others_nothing(tmp_path: Path) -> None:
    limits = ServerLimits(reply_bytes_max=1 << 16)
    async with served_dialects(tmp_path, limits=limits) as served, peer(served) as deaf, peer(served) as line:
        deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]  # the transport of a socket reads
        for _ in range(50):
            deaf.write(wire.watch("Partition"))
        line.write(wire.watch("Topic"))
        await frame(line)
        for n in range(20):
            await served.broker.create_topics([NewTopic(f"wide-{n}", 200)])
            assert f"wide-{n}".encode() in (await frame(line))[1]

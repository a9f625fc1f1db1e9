"""FlyMQ through the real server: its ports, its hostile peers, and the dialects beside it."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onelog.client.flymq.client import FlyMQClient
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.kafka.producer import Producer
from onelog.client.rustlog.client import RustLogClient
from onelog.metrics import CONNECTIONS_FAULTED
from onelog.records.record import Header, Record
from tests.support.flymq_wire import (
    MAX_MESSAGE_SIZE,
    Frame,
    consume,
    create,
    data,
    error_of_programs,
    fetch,
    fetched,
    frame,
    i32,
    produce,
    subscribe,
    text,
)
from tests.support.hand_clock import HandClock
from tests.support.served_dialects import ServedDialects, served_dialects
from tests.support.toy_server import Line, turns

LIST = frame(0x08)
NOTHING = frame(0x08, bytes(4))


@asynccontextmanager
async def peer(served: ServedDialects, listener: str = "shared") -> AsyncIterator[Line]:
    line = Line(*await asyncio.open_connection("127.0.0.1", served.port(listener)))
    try:
        yield line
    finally:
        line.close()
        await line.gone()


async def answer(line: Line) -> Frame:
    head = await line.reader.readexactly(8)
    assert head[:2] == b"\xaf\x01"
    payload = await line.reader.readexactly(int.from_bytes(head[4:], "big"))
    return Frame(head[2], head[3], payload)


@pytest.mark.parametrize("listener", ["shared", "flymq", "flymq-sdk"])
async def test_frames_are_served_on_every_port_byte_by_byte(tmp_path: Path, listener: str) -> None:
    async with served_dialects(tmp_path) as served, peer(served, listener) as line:
        for byte in LIST:
            line.write(bytes([byte]))
            await turns(2)
        assert await line.reader.readexactly(len(NOTHING)) == NOTHING


async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(create("t", 2) + produce("t", b"a", partition=0) * 3 + fetch("t", 0))
        line.write(frame(0x99) + frame(0x09, text("t")) + LIST)
        answers = [await answer(line) for _ in range(8)]
        assert [each.opcode for each in answers] == [3, 1, 1, 1, 7, 0xFF, 9, 8]
        assert [record[0] for record in fetched(answers[4].payload).records] == [0, 1, 2]
        assert answers[7].payload == bytes(4)


@pytest.mark.parametrize("listener", ["flymq", "shared"])
async def test_a_wrong_magic_closes_without_a_word_behind_what_is_owed(tmp_path: Path, listener: str) -> None:
    async with served_dialects(tmp_path) as served, peer(served, listener) as line:
        line.write(LIST + b"\x00")
        assert await line.rest() == NOTHING
        assert served.broker.metrics.value(CONNECTIONS_FAULTED, "flymq") == 1


async def test_a_peer_that_does_not_speak_flymq_is_closed_on_its_own_port(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served, "flymq") as line:
        line.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await line.rest() == b""


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b"\xaf\x02\x08\x01\0\0\0\0", "invalid protocol version"),
        (LIST[:4] + (MAX_MESSAGE_SIZE + 1).to_bytes(4, "big"), "message too large"),
        (LIST[:4] + b"\xff\xff\xff\xff" + bytes(100_000), "message too large"),
    ],
)
async def test_a_frame_that_cannot_be_ends_its_connection_with_words_and_no_other(
    tmp_path: Path, broken: bytes, said: str
) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as good, peer(served) as bad:
        good.write(LIST)
        assert await good.reader.readexactly(len(NOTHING)) == NOTHING
        bad.write(LIST + broken)
        assert await bad.reader.readexactly(len(NOTHING)) == NOTHING
        assert error_of_programs((await answer(bad)).payload).startswith(said)
        assert await bad.rest() == b""
        good.write(LIST)
        assert await good.reader.readexactly(len(NOTHING)) == NOTHING


async def test_a_connection_that_was_silent_for_five_minutes_is_still_served(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        clock = served.broker.clock
        assert isinstance(clock, HandClock)
        for _ in range(2):
            line.write(LIST)
            assert await line.reader.readexactly(len(NOTHING)) == NOTHING
            served.server.look()
            clock.now_s += 301
            served.server.look()


KILLERS = {
    "fetch, negative partition": fetch("t", 0, partition=-1),
    "subscribe, negative partition": subscribe("t", "g", "latest", partition=-1),
    "lag, negative partition": frame(0x64, text("t") + text("g") + i32(-1)),
    "reset, negative partition": frame(0x61, text("t") + text("g") + i32(-1) + b"\x06latest"),
    "consume, negative partition": consume("t", 0, partition=-1),
    "create, negative count": create("new", -1),
    "users while authentication is off": frame(
        0x73, text("al") + text("pw") + text("") + b"\xff\xff\xff\xff"
    ),
    "rules while authentication is off": frame(0x79, text("t")),
    "roles while authentication is off": frame(0x7D),
    "a list of four billion": frame(0x78, text("t") + b"\0" + b"\xff\xff\xff\xff"),
    "audit, a list of four billion": frame(0x80, bytes(16) + b"\xff\xff\xff\xff"),
    "validation without a schema": frame(0x13, text("t") + data(b"{}")),
    "a name without an end": frame(0x04, b"\xff\xff"),
    "a pattern without an end": fetch("t", 0, filter="(a*)*b"),
}


async def test_what_kills_the_reference_gets_an_answer_here(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(create("t", 1) + produce("t", b"a" * 5000))
        await answer(line)
        await answer(line)
        for name, killer in KILLERS.items():
            line.write(killer + LIST)
            found = await answer(line)
            is_served = name == "a pattern without an end"
            assert (found.opcode == 0xFF) is not is_served, name
            assert (await answer(line)).opcode == 0x08, name


async def test_authentication_while_it_is_off_does_no_harm(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(frame(0x70, text("al") + text("pw")) + frame(0x72))
        assert [(await answer(line)).opcode for _ in range(2)] == [0x71, 0x72]


async def test_bombs_in_a_row_take_the_memory_of_one(tmp_path: Path) -> None:
    bomb = frame(0x01, gzip.compress(bytes(MAX_MESSAGE_SIZE)), flags=3)
    async with served_dialects(tmp_path) as served, peer(served) as line:
        tracemalloc.start()
        line.write(bomb * 12 + LIST)
        for _ in range(12):
            assert (await answer(line)).opcode == 0xFF
        assert (await answer(line)).opcode == 0x08
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * MAX_MESSAGE_SIZE


async def test_a_reader_counts_until_its_connection_is_closed(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served:
        async with peer(served) as line, peer(served) as other:
            line.write(create("t", 1) + subscribe("t", "g", "latest"))
            await answer(line)
            await answer(line)
            other.write(frame(0x62))
            assert (await answer(other)).payload == i32(1) + text("t") + text("g") + i32(1) + i32(0)
        async with peer(served) as line:
            line.write(frame(0x62))
            assert (await answer(line)).payload == i32(0)


async def test_every_dialect_reads_what_flymq_wrote(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served:
        address = f"127.0.0.1:{served.port()}"

        def talk() -> None:
            with (
                FlyMQClient(address) as flymq,
                KafkaClient(address) as kafka,
                RustLogClient(address) as rustlog,
            ):
                flymq.produce("crossed", b"v", key=b"k")
                flymq.produce("crossed", b"")
                values = [(r.key, r.value) for _, r in Consumer(kafka).iterate("crossed", 0, 0)]
                assert values == [(b"k", b"v"), (None, b"")]
                assert [r.payload for r in rustlog.iterate("crossed", 0, 0)] == [b"v", b""]

        await served.talk(talk)


async def test_flymq_reads_what_others_wrote_and_goes_on_where_they_stopped(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served:
        address = f"127.0.0.1:{served.port()}"

        def talk() -> None:
            with (
                FlyMQClient(address) as flymq,
                KafkaClient(address) as kafka,
                RustLogClient(address) as rustlog,
            ):
                flymq.create_topic("crossed")
                Producer(kafka).send(
                    "crossed", [Record(b"k", b"a", 1, (Header("h", b"x"),)), Record(None, None, 1)]
                )
                rustlog.produce("crossed", 0, [b"b"])
                found = [(r.key, r.value) for r in flymq.iterate("crossed", 0, 0)]
                assert found == [(b"k", b"a"), (b"", b""), (b"", b"b")]
                rustlog.commit("g", "crossed", 0, 2)
                assert flymq.subscribe("g", "crossed", 0) == 2
                flymq.commit("g", "crossed", 0, 3)
                assert rustlog.position("g", "crossed", 0) == 3

        await served.talk(talk)


async def test_on_the_programs_own_port_a_fetch_is_answered_as_they_read_it(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served, "flymq-sdk") as line:
        line.write(create("t", 1) + produce("t", b"v") + fetch("t", 0, filter=None))
        answers = [await answer(line) for _ in range(3)]
        assert fetched(answers[2].payload).records == [(0, b"", b"v")]

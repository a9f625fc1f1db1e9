"""Peers that lie, stall or talk nonsense to the real dialects: closed or answered, and nobody else notices."""

import asyncio
import json
import struct
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onelog.metrics import CONNECTIONS_FAULTED
from tests.support.rustlog_wire import (
    BINARY_PING,
    MAX_FRAME_SIZE,
    binary_error,
    encode_frame,
    encode_message,
)
from tests.support.served_dialects import ServedDialects, served_dialects
from tests.support.toy_server import Line, turns, until

PING = encode_message({"type": "Ping"})
PONG = encode_frame(b'{"type":"Pong"}')


@asynccontextmanager
async def peer(served: ServedDialects, listener: str = "shared") -> AsyncIterator[Line]:
    line = Line(*await asyncio.open_connection("127.0.0.1", served.port(listener)))
    try:
        yield line
    finally:
        line.close()
        await line.gone()


async def message(line: Line) -> dict[str, object]:
    (size,) = struct.unpack(">I", await line.reader.readexactly(4))
    answer = json.loads(await line.reader.readexactly(size))
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        bytes(64),
        b"\xff" * 64,
        (MAX_FRAME_SIZE + 1).to_bytes(4, "big") + b"{",
        b"\x7f\xff\xff\xff\x00\x03\x00\x00",
        b"\x00\x00\x00\x10[1,2]",
        b"\x00\x00\x00\x10\x00\xff\x00\x00",
    ],
)
async def test_what_no_dialect_claims_is_closed_quietly(tmp_path: Path, data: bytes) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as good, peer(served) as bad:
        bad.write(data)
        assert await bad.rest() == b""
        assert served.broker.metrics.value(CONNECTIONS_FAULTED, "unknown") == 1
        good.write(PING)
        assert await good.reader.readexactly(len(PONG)) == PONG


@pytest.mark.parametrize("first", [b"{", b" ", b"\n", b"\r", b"\t"])
async def test_json_opens_rustlog_on_the_shared_port(tmp_path: Path, first: bytes) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        payload = (b"" if first == b"{" else first) + b'{"type":"Ping"}'
        for byte in encode_frame(payload):
            line.write(bytes([byte]))
            await turns(2)
        assert await line.reader.readexactly(len(PONG)) == PONG


@pytest.mark.parametrize(
    "frame",
    [
        bytes(4),
        (MAX_FRAME_SIZE + 1).to_bytes(4, "big"),
        b"\xff\xff\xff\xff{}",
        encode_frame(b"{"),
        encode_frame(b'{"type":"Ping"}x'),
        encode_frame(b'{"type":"\xff\xfe"}'),
        encode_frame(b"[]"),
        encode_frame(b"\x01binary"),
        encode_frame(b"\xff\xff"),
    ],
)
async def test_a_broken_rustlog_frame_ends_the_connection_behind_its_answers(
    tmp_path: Path, frame: bytes
) -> None:
    async with served_dialects(tmp_path) as served, peer(served, "rustlog") as line:
        line.write(PING + frame + PING)
        assert await line.reader.readexactly(len(PONG)) == PONG
        answer = await message(line)
        assert (answer["type"], answer["code"], answer["details"]) == ("Error", 400, None)
        assert await line.rest() == b""
        assert served.broker.metrics.value(CONNECTIONS_FAULTED, "rustlog") == 1


@pytest.mark.parametrize("kind", [*range(1, 10), 0xFF])
async def test_a_binary_request_opens_rustlog_on_the_shared_port(tmp_path: Path, kind: int) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        # Without its fields; MetricsFetch, ListTopics and Ping have none.
        for byte in encode_frame(bytes([kind])):
            line.write(bytes([byte]))
            await turns(2)
        size, answered = struct.unpack(">IB", await line.reader.readexactly(5))
        assert answered == (kind if kind in (6, 9, 0xFF) else 0xFE)
        await line.reader.readexactly(size - 1)
        line.write(PING + BINARY_PING)
        assert await line.reader.readexactly(len(PONG)) == PONG
        assert await line.reader.readexactly(len(BINARY_PING)) == BINARY_PING


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (bytes(4), "Frame error: invalid protocol: zero-length frame"),
        ((MAX_FRAME_SIZE + 1).to_bytes(4, "big"), "Frame error: frame too large: 10485761 bytes"),
        (b"\xff\xff\xff\xff", "Frame error: frame too large: 4294967295 bytes"),
    ],
)
async def test_a_broken_frame_behind_binary_requests_ends_the_connection_in_their_form(
    tmp_path: Path, frame: bytes, told: str
) -> None:
    async with served_dialects(tmp_path) as served, peer(served, "rustlog") as line:
        line.write(BINARY_PING + frame + BINARY_PING)
        assert await line.reader.readexactly(len(BINARY_PING)) == BINARY_PING
        code, text = binary_error(await line.rest())
        assert (code, text.startswith(told)) == (1, True)


async def test_a_payload_that_is_no_binary_request_keeps_the_connection(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served, "rustlog") as line:
        endless = encode_frame(b"\x01\x00\x01t\x00\x00\x00\x00\xff\xff\xff\xff")
        line.write(endless + encode_frame(b"\x63") + BINARY_PING)
        for told in ("Decode error: ", "Decode error: unknown request type: 99"):
            header = await line.reader.readexactly(4)
            answer = header + await line.reader.readexactly(int.from_bytes(header, "big"))
            code, text = binary_error(answer)
            assert (code, text.startswith(told)) == (2, True)
        assert await line.reader.readexactly(len(BINARY_PING)) == BINARY_PING


@pytest.mark.parametrize("request_", [{"type": "Nope"}, {}, {"type": "Produce", "topic": 5}])
async def test_a_request_that_is_none_keeps_the_connection(
    tmp_path: Path, request_: dict[str, object]
) -> None:
    async with served_dialects(tmp_path) as served, peer(served, "rustlog") as line:
        line.write(encode_message(request_) + PING)
        assert (await message(line))["code"] == 400
        assert await message(line) == {"type": "Pong"}


async def test_pipelined_frames_are_answered_in_order(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        create = encode_message({"type": "CreateTopic", "topic": "t", "partition_count": 1})
        produce = encode_message({"type": "Produce", "topic": "t", "partition": 0, "records": ["aGk="]})
        fetch = encode_message(
            {"type": "Fetch", "group_id": "", "topic": "t", "partition": 0, "offset": 0, "max_bytes": 10_000}
        )
        line.write(create + produce * 3 + fetch + PING)
        answers = [await message(line) for _ in range(6)]
        assert answers[0]["type"] == "CreateTopicResponse"
        assert [answer["base_offset"] for answer in answers[1:4]] == [0, 1, 2]
        assert answers[4]["next_offset"] == 3
        assert answers[5] == {"type": "Pong"}


async def test_a_peer_that_closes_its_side_still_gets_its_answers(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served, peer(served) as line:
        line.write(encode_message({"type": "CreateTopic", "topic": "t", "partition_count": 1}) + PING)
        line.writer.write_eof()
        assert (await message(line))["success"] is True
        assert await line.rest() == PONG


async def test_lengths_that_lie_take_no_memory(tmp_path: Path) -> None:
    async with served_dialects(tmp_path) as served:
        lines = [Line(*await asyncio.open_connection("127.0.0.1", served.port("rustlog"))) for _ in range(20)]
        tracemalloc.start()
        for line in lines:
            line.write(MAX_FRAME_SIZE.to_bytes(4, "big") + b'{"type":')
        await until(lambda: served.server.connection_count == 20)
        await turns(20)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MAX_FRAME_SIZE
        for line in lines:
            line.close()
            await line.gone()


@given(st.binary(min_size=1, max_size=100))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nonsense_on_any_port_ends_in_a_close_or_an_answer(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    async def talk() -> None:
        async with served_dialects(tmp_path_factory.mktemp("data")) as served:
            for listener in served.server.addresses:
                async with peer(served, listener) as bad, peer(served, "rustlog") as good:
                    bad.write(data)
                    bad.writer.write_eof()
                    await bad.rest()
                    good.write(PING)
                    assert await good.reader.readexactly(len(PONG)) == PONG

    asyncio.run(talk())

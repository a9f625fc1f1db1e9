"""The console as curl and Prometheus see it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from onelog.broker.broker import NewTopic
from onelog.console.http import Console
from onelog.server.listener import ListenerSpec, bind
from tests.support.open_broker import open_broker


@asynccontextmanager
async def console(path: Path, *, timeout_s: float = 10.0, connections_max: int = 64) -> AsyncIterator[int]:
    """A console over a broker with one topic of three partitions; its port."""
    async with open_broker(path) as broker:
        await broker.create_topics([NewTopic("orders", 3)])
        served = Console(broker, timeout_s=timeout_s, connections_max=connections_max)
        sockets = await bind(ListenerSpec("console", ()))
        await served.start(sockets)
        try:
            yield sockets[0].getsockname()[1]
        finally:
            await served.stop()


async def ask(port: int, data: bytes) -> bytes:
    """All that comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def get(target: str, method: str = "GET") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()


async def test_health_tells_how_the_broker_is(tmp_path: Path) -> None:
    async with console(tmp_path) as port:
        head, _, body = (await ask(port, get("/health"))).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        told = json.loads(body)
        assert (told["status"], told["topics"], told["partitions"], told["closed"]) == ("ok", 1, 3, [])


async def test_metrics_are_in_prometheus_text_form(tmp_path: Path) -> None:
    async with console(tmp_path) as port:
        answer = await ask(port, get("/metrics?x=1"))
        assert b"text/plain; version=0.0.4" in answer
        assert b"\nonelog_topics 1\n" in answer


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/"), b"404"),
        (get("/health", "POST"), b"405"),
        (get("/health", "HEAD"), b"200"),
        (b"no http at all\r\n\r\n", b"400"),
        (b"GET /health HTTP/1.1\r\n" + b"a: " + b"x" * 20_000, b"431"),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 20_000, b"413"),
        (b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", b"200"),
    ],
)
async def test_whatever_is_asked_gets_a_status(tmp_path: Path, request_bytes: bytes, status: bytes) -> None:
    async with console(tmp_path) as port:
        assert (await ask(port, request_bytes)).split(b" ")[1] == status


async def test_the_answer_to_head_has_no_body(tmp_path: Path) -> None:
    async with console(tmp_path) as port:
        assert (await ask(port, get("/health", "HEAD"))).endswith(b"\r\n\r\n")


async def test_one_connection_may_ask_twice(tmp_path: Path) -> None:
    async with console(tmp_path) as port:
        first = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        assert (await ask(port, first + get("/health"))).count(b"HTTP/1.1 200") == 2


async def test_silence_is_closed_after_a_while(tmp_path: Path) -> None:
    async with console(tmp_path, timeout_s=0.0) as port:
        assert await ask(port, b"GET /he") == b""


async def test_too_many_connections_are_turned_away(tmp_path: Path) -> None:
    async with console(tmp_path, connections_max=0) as port:
        assert await ask(port, b"") == b""


async def test_stopping_closes_what_is_open(tmp_path: Path) -> None:
    async with console(tmp_path) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
    await reader.read()
    writer.close()

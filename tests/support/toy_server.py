"""A server of toy dialects on a free port, and plain sockets that talk to it."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from onelog.metrics import Metrics
from onelog.server.limits import ServerLimits
from onelog.server.listener import ListenerSpec, Server
from tests.support.hand_clock import HandClock
from tests.support.toy_dialect import ToyEndpoint


@dataclass
class ToyServer:
    """One listener called "toy"."""

    endpoints: Sequence[Any]
    limits: ServerLimits = field(default_factory=ServerLimits)
    clock: HandClock = field(default_factory=HandClock)
    metrics: Metrics = field(default_factory=Metrics)
    lines: "list[Line]" = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server = Server(
            open_handler=lambda endpoint, session: endpoint.handler(None, session),  # type: ignore[arg-type]  # no broker
            metrics=self.metrics,
            clock=self.clock,
            limits=self.limits,
        )

    @property
    def port(self) -> int:
        return self.server.addresses["toy"].port

    async def connect(self) -> "Line":
        line = Line(*await asyncio.open_connection("127.0.0.1", self.port))
        self.lines.append(line)
        return line

    def passed(self, seconds: float) -> None:
        """Time has passed, and the server has looked at its connections before and after it."""
        self.server.look()
        self.clock.now_s += seconds
        self.server.look()


@dataclass
class Line:
    """A peer that writes bytes and reads lines."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def line(self) -> bytes:
        return await self.reader.readline()

    async def ask(self, data: bytes) -> bytes:
        self.write(data)
        return await self.line()

    async def rest(self) -> bytes:
        """All that comes until the server closes; a reset counts as the end."""
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """Vanish as a peer does whose machine forgot the connection."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def toy_server(*endpoints: Any, limits: ServerLimits | None = None) -> AsyncIterator[ToyServer]:
    """Started, and cut off at the end."""
    toy = ToyServer(endpoints or [ToyEndpoint()], limits or ServerLimits())
    await toy.server.start([ListenerSpec("toy", toy.endpoints)])
    try:
        yield toy
    finally:
        for line in toy.lines:
            line.close()
        await toy.server.abort()
        await asyncio.gather(*(line.gone() for line in toy.lines))


async def until(condition: Any) -> None:
    """Give the loop turns until the condition holds; a test's own timeout ends a hopeless wait."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)


async def turns(count: int) -> None:
    """Let the loop turn so often: for what should not happen meanwhile."""
    for _ in range(count):
        await asyncio.sleep(0)

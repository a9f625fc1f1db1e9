"""A broker and its server with every dialect on a shared port, inside a test's own loop.

Blocking clients run beside it in a thread: `await served.talk(fn)`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from onelog.broker.broker import Broker
from onelog.protocols.registry import ENDPOINTS
from onelog.server.limits import ServerLimits
from onelog.server.listener import ListenerSpec, Server
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker

T = TypeVar("T")


@dataclass
class ServedDialects:
    """Where it listens, and what is behind it."""

    broker: Broker
    server: Server

    def port(self, listener: str = "shared") -> int:
        return self.server.addresses[listener].port

    async def talk(self, fn: Callable[[], T]) -> T:
        """Run what blocks in a thread."""
        return await asyncio.to_thread(fn)


@asynccontextmanager
async def served_dialects(path: Path, *, limits: ServerLimits | None = None) -> AsyncIterator[ServedDialects]:
    """Listeners "shared" (all dialects), and one of its own for each dialect."""
    clock = HandClock(now_s=1_700_000_000.0)
    async with open_broker(path, clock=clock) as broker:
        server = Server(
            open_handler=lambda endpoint, session: endpoint.handler(broker, session),
            metrics=broker.metrics,
            clock=clock,
            limits=limits,
        )
        own = [ListenerSpec(endpoint.listener, [endpoint]) for endpoint in ENDPOINTS]
        await server.start([ListenerSpec("shared", [e for e in ENDPOINTS if e.shared]), *own])
        try:
            yield ServedDialects(broker, server)
        finally:
            await server.abort()

"""One listener as its connections see it: what may come in, who they are, what is counted.

A door makes sessions and handlers, keeps the bounds that hold for all connections together,
and says in the log why one of them was closed. It moves no bytes.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onelog.clock import Clock
from onelog.metrics import (
    CONNECTIONS,
    CONNECTIONS_FAULTED,
    CONNECTIONS_OPENED,
    REQUESTS,
    Metrics,
    Series,
)
from onelog.model import Address
from onelog.protocols.contract import (
    Connection,
    Endpoint,
    FrameLimits,
    Handler,
    ProtocolError,
    Session,
)
from onelog.server.limits import ServerLimits, Whisper

if TYPE_CHECKING:
    from onelog.server.pump import Pump

OpenHandler = Callable[[Endpoint, Session], Handler]

LOG = logging.getLogger("onelog.server")
WILDCARD_HOSTS = ("0.0.0.0", "::")
UNKNOWN_DIALECT = "unknown"


class House:
    """What all doors of one server share. Owned by the server."""

    def __init__(
        self, *, open_handler: OpenHandler, metrics: Metrics, clock: Clock, limits: ServerLimits
    ) -> None:
        self.open_handler = open_handler
        self.metrics = metrics
        self.clock = clock
        self.limits = limits
        self.frame_limits = FrameLimits(frame_bytes_max=limits.frame_bytes_max)
        self.advertised: Mapping[str, Address] = {}
        self.pumps: set[Pump] = set()
        self.emptied = asyncio.Event()
        self.is_open = True
        """Not any more: what was accepted while the listeners closed is turned away."""
        self._whisper = Whisper(clock)
        self._alarm = Whisper(clock)
        self._requests: dict[tuple[str, type], Series] = {}

    def say(self, line: str, *args: object) -> None:
        """A line about a peer's fault, unless there were too many of them just now."""
        if self._whisper.admits():
            LOG.info(line, *args)
            self._tell_suppressed(self._whisper)

    def alarm(self, line: str, *args: object, error: BaseException) -> None:
        """A line about a fault of ours, with its traceback; rate-limited as well."""
        if self._alarm.admits():
            LOG.error(line, *args, exc_info=error)
            self._tell_suppressed(self._alarm)

    def count_request(self, dialect: str, message: object) -> None:
        """One more request of this kind. Its class names it."""
        key = (dialect, type(message))
        series = self._requests.get(key)
        if series is None:
            name = type(message).__name__.removesuffix("Request")
            series = self._requests[key] = self.metrics.series(REQUESTS, dialect, name)
        series.value += 1

    def _tell_suppressed(self, whisper: Whisper) -> None:
        suppressed = whisper.take_suppressed()
        if suppressed:
            LOG.info("%d lines like this were kept back", suppressed)


class Door:
    """One listener: its name, the endpoints that may come there, and the house behind it."""

    def __init__(self, house: House, *, name: str, endpoints: Sequence[Endpoint]) -> None:
        self.house = house
        self.name = name
        self.endpoints = tuple(endpoints)
        self.limits = house.limits
        self.scratch = memoryview(bytearray(1 << 16))
        """Where bytes go that nobody will read; shared, because nobody reads them."""
        self._opened = house.metrics.series(CONNECTIONS_OPENED, name)

    def admit(self, pump: "Pump") -> bool:
        """Whether one more connection may stay."""
        house = self.house
        if not house.is_open:
            return False
        if len(house.pumps) >= self.limits.connections_max:
            house.say(
                "%s: a connection is turned away; server.connections_max = %d are open",
                self.name,
                self.limits.connections_max,
            )
            return False
        house.pumps.add(pump)
        house.emptied.clear()
        self._opened.add()
        return True

    def enter(self, endpoint: Endpoint, transport: asyncio.Transport) -> tuple[Session, Connection, Handler]:
        """The two sides of a connection that speaks this endpoint's dialect."""
        session = Session(
            dialect=endpoint.name,
            listener=self.name,
            peer=address_text(transport.get_extra_info("peername")),
            advertised=self._advertised(transport),
        )
        connection = endpoint.connection(self.house.frame_limits)
        handler = self.house.open_handler(endpoint, session)
        self.house.metrics.series(CONNECTIONS, endpoint.name).add()
        return session, connection, handler

    def leave(self, pump: "Pump", session: Session | None) -> None:
        """A connection is gone."""
        if session is not None:
            self.house.metrics.series(CONNECTIONS, session.dialect).add(-1)
        self.house.pumps.discard(pump)
        if not self.house.pumps:
            self.house.emptied.set()

    def blame(self, session: Session, error: ProtocolError) -> None:
        """The peer broke its protocol."""
        self.house.metrics.series(CONNECTIONS_FAULTED, session.dialect).add()
        self.house.say("%s: %s from %s closed: %s", self.name, session.dialect, session.peer, error)

    def blame_unknown(self, transport: asyncio.BaseTransport, reason: str) -> None:
        """Nobody here knows what the peer speaks, if it spoke at all."""
        self.house.metrics.series(CONNECTIONS_FAULTED, UNKNOWN_DIALECT).add()
        peer = address_text(transport.get_extra_info("peername"))
        self.house.say("%s: connection from %s closed: %s", self.name, peer, reason)

    def confess(self, session: Session | None, error: Exception) -> None:
        """The fault is ours."""
        dialect = session.dialect if session is not None else UNKNOWN_DIALECT
        self.house.alarm(
            "%s: a fault of ours closes a connection that speaks %s", self.name, dialect, error=error
        )

    def _advertised(self, transport: asyncio.Transport) -> Mapping[str, Address]:
        """Where clients find the listeners: behind a wildcard, the host that this one came to."""
        advertised = self.house.advertised
        if not any(address.host in WILDCARD_HOSTS for address in advertised.values()):
            return advertised
        local = transport.get_extra_info("sockname")
        host = str(local[0]) if local else "127.0.0.1"
        return {
            name: Address(host, address.port) if address.host in WILDCARD_HOSTS else address
            for name, address in advertised.items()
        }


def address_text(name: Any) -> str:
    """A socket's address as people write it."""
    if not isinstance(name, tuple) or len(name) < 2:
        return "an unknown address"
    return str(Address(str(name[0]), int(name[1])))

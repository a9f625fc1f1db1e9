"""Listening sockets: bind them all, say where they are, hand connections to pumps, let go.

A listener has one port on all its hosts. All are bound before any is served, so that a port
that is taken leaves nothing half open, and the addresses are known before the first client.
"""

import asyncio
import errno
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from onelog.clock import Clock
from onelog.metrics import Metrics
from onelog.model import Address
from onelog.protocols.contract import Endpoint
from onelog.server.door import LOG, Door, House, OpenHandler
from onelog.server.limits import ServerLimits
from onelog.server.pump import Pump

LOOPBACK_HOSTS = ("127.0.0.1", "::1")
BACKLOG = 1024
SWEEP_INTERVAL_S = 1.0
ANY_PORT_TRIES_MAX = 50
# Errors of a family or an address that this machine does not have.
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)


@dataclass(frozen=True)
class ListenerSpec:
    """A listener to open. Port 0 takes any that is free, the same one on all hosts."""

    name: str
    endpoints: Sequence[Endpoint]
    port: int = 0
    hosts: Sequence[str] = LOOPBACK_HOSTS


class ListenFailed(Exception):
    """A listener cannot have its address: which, why, and the option for another.

    is_wrong_host: no port of that host would do.
    """

    def __init__(self, *, name: str, host: str, port: int, reason: str, is_wrong_host: bool = False) -> None:
        shown = f"[{host}]" if ":" in host else host
        advice = f"Give it another port with --listen {name}={shown}:PORT (port 0 takes any free one)."
        if is_wrong_host:
            advice = f"Give it a host of this machine with --listen {name}=HOST:{port}, like 127.0.0.1."
        super().__init__(
            f"listener {name}: cannot listen on {shown}:{port}: {reason}. {advice} "
            "--listen opens exactly the listeners that it names: name every other one that you want, too."
        )
        self.name = name
        self.host = host
        self.port = port


class Server:
    """All listeners of a broker and the connections that came through them."""

    def __init__(
        self,
        *,
        open_handler: OpenHandler,
        metrics: Metrics,
        clock: Clock,
        limits: ServerLimits | None = None,
    ) -> None:
        self._house = House(
            open_handler=open_handler, metrics=metrics, clock=clock, limits=limits or ServerLimits()
        )
        self._servers: list[asyncio.Server] = []
        self._sweeper: asyncio.TimerHandle | None = None
        self.addresses: Mapping[str, Address] = {}

    @property
    def connection_count(self) -> int:
        """Connections open now."""
        return len(self._house.pumps)

    async def start(
        self, listeners: Sequence[ListenerSpec], *, advertised: Mapping[str, Address] | None = None
    ) -> Mapping[str, Address]:
        """Open all listeners, or none; where they are, by name.

        Sessions are told these addresses, except where `advertised` has another.
        """
        bound: list[tuple[ListenerSpec, list[socket.socket]]] = []
        with ExitStack() as undo:
            for spec in listeners:
                sockets = await bind(spec)
                undo.callback(_close_all, sockets)
                bound.append((spec, sockets))
            undo.pop_all()
        self.addresses = {spec.name: _address(spec, sockets) for spec, sockets in bound}
        self._house.advertised = {**self.addresses, **(advertised or {})}
        loop = asyncio.get_running_loop()
        for spec, sockets in bound:
            door = Door(self._house, name=spec.name, endpoints=spec.endpoints)
            for sock in sockets:
                server = await loop.create_server(partial(Pump, door), sock=sock, backlog=BACKLOG)
                self._servers.append(server)
            announce(spec.name, sockets)
        self._sweeper = loop.call_later(SWEEP_INTERVAL_S, self._sweep)
        return self.addresses

    def look(self) -> None:
        """Close what was silent for too long. The server calls it every second."""
        now_s = self._house.clock.monotonic_s()
        for pump in list(self._house.pumps):
            pump.look(now_s)

    async def drain(self, timeout_s: float) -> None:
        """Accept no more, let what was handled be answered, close; what is left is cut off."""
        self._stop_accepting()
        for pump in list(self._house.pumps):
            pump.drain()
        try:
            async with asyncio.timeout(timeout_s):
                await self._emptied()
        except TimeoutError:
            LOG.info("%d connections were still open after %g s; cut off", self.connection_count, timeout_s)
        await self.abort()

    async def abort(self) -> None:
        """Close everything now."""
        self._stop_accepting()
        for pump in list(self._house.pumps):
            pump.abort()
        await self._emptied()
        if self._sweeper is not None:
            self._sweeper.cancel()

    def _stop_accepting(self) -> None:
        self._house.is_open = False
        for server in self._servers:
            server.close()
        self._servers.clear()

    async def _emptied(self) -> None:
        if self._house.pumps:
            await self._house.emptied.wait()

    def _sweep(self) -> None:
        self.look()
        self._sweeper = asyncio.get_running_loop().call_later(SWEEP_INTERVAL_S, self._sweep)


async def bind(spec: ListenerSpec) -> list[socket.socket]:
    """The sockets of a listener, bound to one port on all its hosts.

    An address that this machine does not have is left out as long as another one is there.
    """
    for tries_left in reversed(range(ANY_PORT_TRIES_MAX)):
        try:
            return await _bind_once(spec)
        except ListenFailed as failed:
            # Any free port of the first host may be taken on the second; another one will not be.
            is_taken = isinstance(failed.__cause__, OSError) and failed.__cause__.errno == errno.EADDRINUSE
            if spec.port != 0 or not is_taken or tries_left == 0:
                raise
    raise AssertionError("the last try returns or raises")


async def _bind_once(spec: ListenerSpec) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    port = spec.port
    absent: ListenFailed | None = None
    with ExitStack() as undo:
        undo.callback(_close_all, sockets)
        for family, host in await _resolved(spec):
            try:
                sockets.append(_bound(family, host, port))
            except OSError as error:
                failed = _failed(spec, host, port, error)
                if error.errno not in _ABSENT:
                    raise failed from error
                absent = failed
                continue
            port = sockets[0].getsockname()[1]
        if not sockets:
            raise absent or ListenFailed(name=spec.name, host="", port=port, reason="it has no host")
        undo.pop_all()
    return sockets


async def _resolved(spec: ListenerSpec) -> list[tuple[socket.AddressFamily, str]]:
    loop = asyncio.get_running_loop()
    found: dict[tuple[socket.AddressFamily, str], None] = {}
    for host in spec.hosts:
        try:
            infos = await loop.getaddrinfo(host, spec.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        except OSError as error:
            raise _failed(spec, host, spec.port, error) from error
        for family, _, _, _, address in infos:
            found[family, str(address[0])] = None
    return list(found)


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    with ExitStack() as undo:
        sock = undo.enter_context(socket.socket(family, socket.SOCK_STREAM))
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it; a small answer never waits for another one to fill its packet.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Where silence closes nothing, a peer whose machine is gone is found by the system.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
        undo.pop_all()
    return sock


def _failed(spec: ListenerSpec, host: str, port: int, error: OSError) -> ListenFailed:
    reason = "the port is taken" if error.errno == errno.EADDRINUSE else (error.strerror or str(error))
    is_wrong_host = error.errno in _ABSENT or isinstance(error, socket.gaierror)
    return ListenFailed(
        name=spec.name, host=host, port=port, reason=reason.lower(), is_wrong_host=is_wrong_host
    )


def _close_all(sockets: Sequence[socket.socket]) -> None:
    for sock in sockets:
        sock.close()


def _address(spec: ListenerSpec, sockets: Sequence[socket.socket]) -> Address:
    """Where the listener is, as its first host is called: a name stays a name."""
    host = spec.hosts[0] if len(spec.hosts) == 1 else str(sockets[0].getsockname()[0])
    return Address(host, int(sockets[0].getsockname()[1]))


def announce(name: str, sockets: Sequence[socket.socket]) -> None:
    """Say where a listener is; as a warning where other machines can reach it, since nothing guards it."""
    at = [Address(*sock.getsockname()[:2]) for sock in sockets]
    places = ", ".join(map(str, at))
    if all(address.host.startswith("127.") or address.host == "::1" for address in at):
        LOG.info("%s listens on %s", name, places)
    else:
        LOG.warning("%s listens on %s: open to other machines, without any security", name, places)

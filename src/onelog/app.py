"""Puts a broker together: disk, store, broker, listeners, console. The one module that knows all.

What is started last is stopped first. A failed disk is handed to whoever runs the app, who ends
the process: nothing that was not synced may be answered after it.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from onelog.broker.broker import Broker
from onelog.broker.catalog import MIGRATIONS
from onelog.broker.settings import BrokerSettings
from onelog.clock import Clock, SystemClock
from onelog.config import Config, ConfigError, ServeSettings
from onelog.console.http import Console
from onelog.errors import OnelogError
from onelog.metrics import Metrics
from onelog.open_files import connections_that_fit, limit
from onelog.protocols.contract import Address, Endpoint
from onelog.protocols.registry import ENDPOINTS, configured, kernels_are_compiled
from onelog.protocols.tank.settings import TankSettings
from onelog.server.lifecycle import STOP_TIMEOUT_S
from onelog.server.limits import ServerLimits
from onelog.server.listener import LOOPBACK_HOSTS, ListenerSpec, Server, announce, bind
from onelog.storage.disk import RealDisk
from onelog.storage.handles import OPEN_FILES_MAX
from onelog.storage.store import Store

LOG = logging.getLogger("onelog")
SHARED = "shared"
CONSOLE = "console"
SHARED_PORT = 9092
CONSOLE_PORT = 8088
PORT_MAX = 65535
# A drain may not use up the time that the last syncs and the clean close need.
DRAIN_TIMEOUT_S = STOP_TIMEOUT_S - 2.0
# Segments, and what is open beside them: the catalog, listeners, the console's, a job's new files.
FILES_KEPT = OPEN_FILES_MAX + 112


@dataclass(frozen=True)
class _Listen:
    """A listener as it was asked for."""

    name: str
    hosts: Sequence[str]
    port: int


class App:
    """One broker process, or one inside a program. Owned by the loop that started it."""

    def __init__(self, config: Config, *, clock: Clock | None = None) -> None:
        self._config = config
        self._clock = clock or SystemClock()
        self._stack = AsyncExitStack()
        self.failed: asyncio.Future[OnelogError] = asyncio.get_running_loop().create_future()
        self.addresses: Mapping[str, Address] = {}

    async def start(self) -> Mapping[str, Address]:
        """Open the data directory, recover, listen; where it listens, by name. Or nothing of it."""
        async with AsyncExitStack() as undo:
            self.addresses = await self._start(undo)
            self._stack = undo.pop_all()
        return self.addresses

    async def stop(self) -> None:
        """Drain, sync, close."""
        await self._stack.aclose()

    async def _start(self, undo: AsyncExitStack) -> Mapping[str, Address]:
        serve = self._config.section(ServeSettings)
        listeners = _listeners(serve.listen)
        advertised = _advertised(serve.advertise, {listen.name for listen in listeners})
        metrics = Metrics()
        LOG.info(
            "onelog begins: data in %s, kernels %s",
            serve.data,
            "compiled" if kernels_are_compiled() else "plain (slower)",
        )
        broker = await self._open_broker(undo, serve.data, metrics)
        server = Server(
            open_handler=lambda endpoint, session: endpoint.handler(broker, session),
            metrics=metrics,
            clock=self._clock,
            limits=_limits_that_fit(self._config.section(ServerLimits)),
        )
        endpoints = configured(tank=self._config.section(TankSettings))
        specs = [_spec(listen, endpoints) for listen in listeners if listen.name != CONSOLE]
        addresses = dict(await server.start(specs, advertised=advertised))
        undo.push_async_callback(server.drain, DRAIN_TIMEOUT_S)
        undo.callback(broker.end_waits)
        for listen in listeners:
            if listen.name == CONSOLE:
                addresses[CONSOLE] = await self._open_console(undo, broker, listen)
        return addresses

    async def _open_broker(self, undo: AsyncExitStack, data: str, metrics: Metrics) -> Broker:
        """The broker over its store, which it closes when it is closed itself."""
        with ExitStack() as unopened:
            _check_directory(data)
            store = Store.open(RealDisk(), data, migrations=MIGRATIONS)
            unopened.callback(store.close)
            broker = await Broker.open(
                store=store,
                clock=self._clock,
                metrics=metrics,
                settings=self._config.section(BrokerSettings),
                on_failure=self._fail,
            )
            unopened.pop_all()
        undo.push_async_callback(broker.close)
        return broker

    async def _open_console(self, undo: AsyncExitStack, broker: Broker, listen: _Listen) -> Address:
        sockets = await bind(ListenerSpec(name=CONSOLE, endpoints=(), port=listen.port, hosts=listen.hosts))
        console = Console(broker)
        await console.start(sockets)
        undo.push_async_callback(console.stop)
        announce(CONSOLE, sockets)
        host, port = sockets[0].getsockname()[:2]
        return Address(host, port)

    def _fail(self, error: OnelogError) -> None:
        LOG.error("%s", error)
        if not self.failed.done():
            self.failed.set_result(error)


def _check_directory(data: str) -> None:
    """A slip of the pen is not the disk's fault, which is all that the store can say."""
    path = Path(data)
    there = next((each for each in (path, *path.parents) if each.exists()), None)
    if there is not None and not there.is_dir():
        raise ConfigError(f"{there}: is a file; expected a directory. Name another with --data DIR.")


def _limits_that_fit(limits: ServerLimits) -> ServerLimits:
    """With as many connections as files may be open: one too many would take a segment's place."""
    files_max = limit()
    fits = connections_that_fit(limits.connections_max, files_max=files_max, files_kept=FILES_KEPT)
    if fits == limits.connections_max:
        return limits
    LOG.warning(
        "server.connections_max = %d: only %d files may be open; at most %d connections are taken. "
        "Raise the limit of open files (ulimit -n, LimitNOFILE).",
        limits.connections_max,
        files_max,
        fits,
    )
    return replace(limits, connections_max=fits)


def _listeners(text: str) -> list[_Listen]:
    if not text:
        # A port of 0: a door that opens only when it is named.
        own = [_Listen(e.listener, LOOPBACK_HOSTS, e.port) for e in ENDPOINTS if not e.shared and e.port]
        shared = _Listen(SHARED, LOOPBACK_HOSTS, SHARED_PORT)
        return [shared, *own, _Listen(CONSOLE, LOOPBACK_HOSTS, CONSOLE_PORT)]
    known = {SHARED, CONSOLE, *(e.listener for e in ENDPOINTS)}
    found: dict[str, _Listen] = {}
    for name, address in _address_pairs(text, "listen"):
        if name not in known:
            raise ConfigError(f"listen: there is no listener {name!r}; known are {', '.join(sorted(known))}.")
        if name in found:
            raise ConfigError(f"listen: {name} stands there twice; expected one address for each listener.")
        hosts = LOOPBACK_HOSTS if address.host == "localhost" else (address.host,)
        found[name] = _Listen(name, hosts, address.port)
    return list(found.values())


def _advertised(text: str, opened: set[str]) -> dict[str, Address]:
    pairs = dict(_address_pairs(text, "advertise"))
    for name in pairs.keys() - opened:
        raise ConfigError(f"advertise: no listener {name!r} is open; open are {', '.join(sorted(opened))}.")
    return pairs


def _spec(listen: _Listen, endpoints: Sequence[Endpoint]) -> ListenerSpec:
    is_shared = listen.name == SHARED
    here = tuple(e for e in endpoints if (e.shared if is_shared else e.listener == listen.name))
    return ListenerSpec(name=listen.name, endpoints=here, port=listen.port, hosts=listen.hosts)


def _address_pairs(text: str, what: str) -> list[tuple[str, Address]]:
    """NAME=HOST:PORT, separated by commas; an IPv6 host in brackets."""
    pairs: list[tuple[str, Address]] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, address = item.partition("=")
        host, colon, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not (equals and colon and name and host and port.isdecimal() and int(port) <= PORT_MAX):
            raise ConfigError(f"{what}: {item!r}; expected NAME=HOST:PORT, a port from 0 to {PORT_MAX}.")
        pairs.append((name, Address(host, int(port))))
    return pairs

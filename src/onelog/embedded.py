"""A broker inside a program or a test: `with onelog.Broker(path) as broker:`.

It runs in a thread with a loop of its own and serves on free ports of loopback, to clients of
every dialect. Leaving the block drains it and closes its directory cleanly.
"""

import asyncio
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from onelog.app import App
from onelog.config import load
from onelog.model import Address

ANY_PORTS = ",".join(
    f"{name}=localhost:0" for name in ("shared", "tank", "fluvio-sc", "fluvio-spu", "console")
)


class Broker:
    """One broker over one data directory. Settings are named as in the file: "broker.auto_create_topics"."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        listen: str = ANY_PORTS,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        flags = {"serve.data": os.fspath(path), "serve.listen": listen, **(settings or {})}
        self._config = load(environ={}, flags=flags)
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._loop = asyncio.new_event_loop()
        # A daemon: a program that forgets to stop its broker ends all the same.
        self._thread = threading.Thread(target=self._loop.run_forever, name="onelog-broker", daemon=True)
        self._served: Future[None] | None = None
        self.addresses: Mapping[str, Address] = {}

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of the shared listener."""
        return self.address("shared")

    def address(self, listener: str) -> str:
        """HOST:PORT of a listener."""
        return str(self.addresses[listener])

    def start(self) -> Self:
        """Return when it serves; raises what hinders that."""
        self._thread.start()
        self._served = asyncio.run_coroutine_threadsafe(self._serve(), self._loop)
        self._served.add_done_callback(lambda _: self._ready.set())
        self._ready.wait()
        if self._served.done():
            self.stop()
        return self

    def stop(self) -> None:
        """Drain and close; raises what broke it, if something did."""
        assert self._served is not None
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        try:
            self._served.result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        app = App(self._config)
        self.addresses = await app.start()
        self._ready.set()
        stopping: asyncio.Future[Any] = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait([stopping, app.failed], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await app.stop()
        if app.failed.done():
            raise app.failed.result()

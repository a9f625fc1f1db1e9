"""The console's door: a small HTTP server for people and for what watches the broker.

    GET /health     how the broker is, as JSON; 503 when it has failed
    GET /metrics    its numbers, in Prometheus' text form

One request has little room and little time. What the pages say is in api.py.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import h11

from onelog.console.api import Page, health, metrics

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

LOG = logging.getLogger("onelog.console")

REQUEST_BYTES_MAX: Final = 16 * 1024
REQUEST_TIMEOUT_S: Final = 10.0
CONNECTIONS_MAX: Final = 64
_READ_BYTES: Final = 4096

Show = Callable[["Broker"], Page]
PAGES: Final[dict[str, Show]] = {"/health": health, "/metrics": metrics}


class Console:
    """The HTTP side of one broker. Owns its connections."""

    def __init__(
        self,
        broker: "Broker",
        *,
        timeout_s: float = REQUEST_TIMEOUT_S,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._broker = broker
        self._timeout_s = timeout_s
        self._connections_max = connections_max
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Serve what comes to these bound sockets."""
        for sock in sockets:
            self._servers.append(await asyncio.start_server(self._accept, sock=sock, limit=REQUEST_BYTES_MAX))

    async def stop(self) -> None:
        """Close everything; nothing that matters is lost."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= self._connections_max:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=REQUEST_BYTES_MAX)
        try:
            while True:
                async with asyncio.timeout(self._timeout_s):
                    goes_on = await self._exchange(connection, reader, writer)
                if not goes_on:
                    return
                connection.start_next_cycle()
        except OSError as error:  # a peer that left, or took too long
            LOG.debug("a connection to the console ended: %s", error)
        finally:
            writer.close()

    async def _exchange(
        self, connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One request and its answer; whether another one may follow."""
        is_head = False
        try:
            request = await _request(connection, reader)
            if request is None:
                return False
            is_head = request.method == b"HEAD"
            page = self._answer(request)
        except h11.RemoteProtocolError as error:
            page = Page(
                error.error_status_hint, "text/plain", b"this is no request of HTTP as expected here\n"
            )
        await _send(connection, writer, page, is_head=is_head)
        return connection.our_state is h11.DONE and connection.their_state is h11.DONE

    def _answer(self, request: h11.Request) -> Page:
        path = request.target.partition(b"?")[0].decode("ascii", "replace")
        show = PAGES.get(path)
        if show is None:
            return Page(404, "text/plain", f"there is {' and '.join(PAGES)}\n".encode())
        if request.method not in (b"GET", b"HEAD"):
            return Page(405, "text/plain", b"GET and HEAD only\n", allow="GET, HEAD")
        return show(self._broker)


async def _request(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    """The next request, its body read and thrown away; None when the peer is done."""
    request: h11.Request | None = None
    body_bytes = 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                # No page wants a body; whoever waits to send one gets the answer instead.
                return request
            connection.receive_data(await reader.read(_READ_BYTES))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body_bytes += len(event.data)
            if body_bytes > REQUEST_BYTES_MAX:
                raise h11.RemoteProtocolError("a body that nobody wants", error_status_hint=413)
        elif isinstance(event, h11.EndOfMessage):
            return request
        else:
            return None


async def _send(
    connection: h11.Connection, writer: asyncio.StreamWriter, page: Page, *, is_head: bool
) -> None:
    headers = [
        ("content-type", page.content_type),
        ("content-length", str(len(page.body))),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ]
    if page.allow:
        headers.append(("allow", page.allow))
    events: list[h11.Event] = [h11.Response(status_code=page.status, headers=headers)]
    if not is_head:
        events.append(h11.Data(data=page.body))
    events.append(h11.EndOfMessage())
    for event in events:
        writer.write(connection.send(event) or b"")
    await writer.drain()

"""Which handler serves which request, at each door. One FluvioHandler a connection."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from onelog.protocols.contract import Outcome, Session
from onelog.protocols.fluvio import versions as v
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.handlers import (
    fetch,
    lists,
    mirroring,
    positions,
    produce,
    topics,
    versions,
    watch,
)
from onelog.protocols.fluvio.handlers.context import Context

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

Handlers = Mapping[int, Callable[[Context, Request], Outcome]]

CONTROLLER_HANDLERS: Final[Handlers] = {
    v.API_VERSIONS: versions.of_controller,
    v.CREATE: topics.create,
    v.DELETE: topics.delete,
    v.LIST: lists.list_objects,
    v.WATCH: watch.watch,
    v.MIRROR: mirroring.mirroring,
    v.UPDATE: topics.update,
}
UNIT_HANDLERS: Final[Handlers] = {
    v.API_VERSIONS: versions.of_unit,
    v.PRODUCE: produce.produce,
    v.FETCH: fetch.fetch,
    v.FETCH_OFFSETS: fetch.fetch_offsets,
    v.STREAM_FETCH: fetch.stream_fetch,
    v.UPDATE_OFFSETS: positions.update_offsets,
    v.UPDATE_CONSUMER_OFFSET: positions.update_consumer_offset,
    v.DELETE_CONSUMER_OFFSET: positions.delete_consumer_offset,
    v.FETCH_CONSUMER_OFFSETS: positions.fetch_consumer_offsets,
}


class FluvioHandler:
    """The meaning side of one connection. What it waits for is cancelled by the pump, with the answers."""

    def __init__(self, broker: "Broker", session: Session, handlers: Handlers) -> None:
        self._context = Context(broker, session)
        self._handlers = handlers

    def handle(self, message: Request) -> Outcome:
        """Returns when the order is fixed."""
        self._context.session.client_id = message.client_id
        return self._handlers[message.key](self._context, message)

    def closed(self) -> None:
        """Streams are closed by the pump; nothing else is kept for a connection."""

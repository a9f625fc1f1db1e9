"""Which handler serves which request. One TankHandler a connection."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from onelog.protocols.contract import Outcome, Session
from onelog.protocols.tank.handlers import admin, fetch, produce, topics
from onelog.protocols.tank.handlers.context import Context
from onelog.protocols.tank.messages.admin import DiscoverTopologyRequest, StatusRequest
from onelog.protocols.tank.messages.fetch import FetchRequest
from onelog.protocols.tank.messages.produce import ProduceNumberedRequest, ProduceRequest
from onelog.protocols.tank.messages.topics import (
    CreateTopicRequest,
    DiscoverPartitionsRequest,
    DiscoverTopicsRequest,
    ReloadConfigRequest,
)
from onelog.protocols.tank.settings import TankSettings

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

HANDLERS: Final[Mapping[type, Callable[[Context, Any], Outcome]]] = {
    ProduceRequest: produce.produce,
    ProduceNumberedRequest: produce.produce,
    FetchRequest: fetch.fetch,
    CreateTopicRequest: topics.create,
    DiscoverTopicsRequest: topics.discover_topics,
    DiscoverPartitionsRequest: topics.discover_partitions,
    ReloadConfigRequest: topics.reload_config,
    StatusRequest: admin.status,
    DiscoverTopologyRequest: admin.discover_topology,
}


class TankHandler:
    """The meaning side of one connection. What it waits for is cancelled by the pump, with the answers."""

    def __init__(self, broker: "Broker", session: Session, settings: TankSettings) -> None:
        self._context = Context(broker, session, settings)

    def handle(self, message: Any) -> Outcome:
        """Returns when the order is fixed."""
        return HANDLERS[type(message)](self._context, message)

    def closed(self) -> None:
        """Nothing is kept for a connection."""

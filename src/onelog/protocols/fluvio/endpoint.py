"""Fluvio at the door: two of them. Clients ask the controller what there is, and the unit for records."""

from typing import TYPE_CHECKING

from onelog.protocols.contract import Capabilities, Claim, Connection, FrameLimits, Handler, Session
from onelog.protocols.fluvio.connection import FluvioConnection
from onelog.protocols.fluvio.handlers.context import CONTROLLER, UNIT
from onelog.protocols.fluvio.handlers.handler import CONTROLLER_HANDLERS, UNIT_HANDLERS, FluvioHandler
from onelog.protocols.fluvio.versions import CONTROLLER_APIS, UNIT_APIS

if TYPE_CHECKING:
    from onelog.broker.broker import Broker


class FluvioEndpoint:
    """Ports of its own: the numbers of its requests mean something else at each of them."""

    name = "fluvio"
    shared = False
    capabilities = Capabilities(null_values=False, headers=False)

    def __init__(self, *, is_unit: bool = False) -> None:
        self.listener = UNIT if is_unit else CONTROLLER
        self.port = 9010 if is_unit else 9003
        self._apis = UNIT_APIS if is_unit else CONTROLLER_APIS
        self._handlers = UNIT_HANDLERS if is_unit else CONTROLLER_HANDLERS

    def claims(self, prefix: bytes) -> Claim:
        """Never: nothing in its first bytes is Fluvio's alone."""
        return Claim.NO

    def connection(self, limits: FrameLimits) -> Connection:
        """The bytes side."""
        return FluvioConnection(limits, self._apis)

    def handler(self, broker: "Broker", session: Session) -> Handler:
        """The meaning side."""
        # An administrator's client never comes back when its connection is closed.
        session.may_be_silent = True
        return FluvioHandler(broker, session, self._handlers)

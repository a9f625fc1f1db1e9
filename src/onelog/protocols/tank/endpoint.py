"""TANK at the door: where it listens. The server speaks first there, so nobody can share it."""

from typing import TYPE_CHECKING

from onelog.protocols.contract import Capabilities, Claim, Connection, FrameLimits, Handler, Session
from onelog.protocols.tank.connection import TankConnection
from onelog.protocols.tank.handlers.handler import TankHandler
from onelog.protocols.tank.settings import TankSettings

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

# Who connects and asks for nothing is in the way: TANK's own broker closes them as late.
FIRST_CALL_TIMEOUT_MS = 16_000


class TankEndpoint:
    """A port of its own."""

    name = "tank"
    listener = "tank"
    port = 11011
    shared = False
    capabilities = Capabilities(null_values=False, headers=False, key_bytes_max=255, commits_positions=False)

    def __init__(self, settings: TankSettings | None = None) -> None:
        self._settings = settings or TankSettings()

    def claims(self, prefix: bytes) -> Claim:
        """Never: a client may wait for our first byte before it sends its own."""
        return Claim.NO

    def connection(self, limits: FrameLimits) -> Connection:
        """The bytes side."""
        return TankConnection(limits, self._settings)

    def handler(self, broker: "Broker", session: Session) -> Handler:
        """The meaning side."""
        session.first_call_timeout_ms = FIRST_CALL_TIMEOUT_MS
        return TankHandler(broker, session, self._settings)

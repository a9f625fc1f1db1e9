"""FlyMQ at the door: where it listens and how it is told from others."""

from typing import TYPE_CHECKING

from onelog.protocols.contract import Capabilities, Claim, Connection, FrameLimits, Handler, Session
from onelog.protocols.flymq.connection import FlyMQConnection
from onelog.protocols.flymq.framing import MAGIC
from onelog.protocols.flymq.handlers.handler import FlyMQHandler

if TYPE_CHECKING:
    from onelog.broker.broker import Broker


class FlyMQEndpoint:
    """Its first byte, which no other dialect can begin with.

    for_programs: every connection counts as one of the programs that exist, from its first FETCH
    on. Such a door has a name of its own and no default port.
    """

    name = "flymq"
    capabilities = Capabilities(
        empty_keys=False, null_values=False, headers=False, timestamps=False, waits=False
    )

    def __init__(self, *, for_programs: bool = False) -> None:
        self.listener = "flymq-sdk" if for_programs else "flymq"
        self.port = 0 if for_programs else 9092
        self.shared = not for_programs
        self._for_programs = for_programs

    def claims(self, prefix: bytes) -> Claim:
        """By the magic."""
        if not prefix:
            return Claim.MORE
        return Claim.YES if prefix[0] == MAGIC else Claim.NO

    def connection(self, limits: FrameLimits) -> Connection:
        """The bytes side."""
        return FlyMQConnection(limits, is_program=self._for_programs)

    def handler(self, broker: "Broker", session: Session) -> Handler:
        """The meaning side."""
        return FlyMQHandler(broker, session)

"""RustLog at the door: where it listens and how it is told from others."""

from typing import TYPE_CHECKING, Final

from onelog.protocols.contract import Capabilities, Claim, Connection, FrameLimits, Handler, Session
from onelog.protocols.rustlog import binary_form, json_form
from onelog.protocols.rustlog.connection import RustLogConnection
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, HEADER_BYTES
from onelog.protocols.rustlog.handlers.handler import RustLogHandler

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

_OPENING_BYTES: Final = json_form.OPENING_BYTES | binary_form.REQUESTS.keys()


class RustLogEndpoint:
    """A frame's length in big-endian, then `{` or a request's kind: bytes that no other dialect has there."""

    name = "rustlog"
    listener = "rustlog"
    port = 9092
    shared = True
    capabilities = Capabilities(keys=False, null_values=False, headers=False, timestamps=False, waits=False)

    def claims(self, prefix: bytes) -> Claim:
        """By the length, which has to be possible, and the first byte of the payload."""
        length = int.from_bytes(prefix[:HEADER_BYTES].ljust(HEADER_BYTES, b"\x00"), "big")
        if length > FRAME_BYTES_MAX:
            return Claim.NO
        if len(prefix) <= HEADER_BYTES:
            return Claim.NO if len(prefix) == HEADER_BYTES and length == 0 else Claim.MORE
        if length == 0:
            return Claim.NO
        first = prefix[HEADER_BYTES]
        return Claim.YES if first in _OPENING_BYTES else Claim.NO

    def connection(self, limits: FrameLimits) -> Connection:
        """The bytes side."""
        return RustLogConnection(limits)

    def handler(self, broker: "Broker", session: Session) -> Handler:
        """The meaning side."""
        return RustLogHandler(broker, session)

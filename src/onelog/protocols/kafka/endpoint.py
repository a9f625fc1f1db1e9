"""The door of the Kafka dialect: how it is recognised, and who serves it."""

from typing import TYPE_CHECKING

from onelog.protocols.contract import Capabilities, Claim, FrameLimits, Session
from onelog.protocols.kafka.connection import HEADER_BYTES_MIN, KafkaConnection
from onelog.protocols.kafka.framing import FRAME_BYTES_MAX, LENGTH_BYTES
from onelog.protocols.kafka.handlers.handler import KafkaHandler
from onelog.protocols.kafka.versions import API_VERSIONS, APIS

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

# Length, key and version: what is needed to know that this is a request, and one of ours.
JUDGED_BYTES = 8


class KafkaEndpoint:
    """Stateless; one for all connections."""

    name = "kafka"
    listener = "kafka"
    port = 9092
    shared = True
    capabilities = Capabilities()

    def claims(self, prefix: bytes) -> Claim:
        """A plausible length, a key that we serve, and a version of it; no more bytes are awaited."""
        # What is missing can only make the length larger. Keys are below 256, so byte 4 is zero.
        size = int.from_bytes(prefix[:LENGTH_BYTES].ljust(LENGTH_BYTES, b"\0"), "big")
        if size > FRAME_BYTES_MAX or any(prefix[4:5]):
            return Claim.NO
        if len(prefix) < JUDGED_BYTES:
            return Claim.MORE
        api = APIS.get(int.from_bytes(prefix[4:6], "big"))
        version = int.from_bytes(prefix[6:8], "big", signed=True)
        if api is None or size < HEADER_BYTES_MIN or version < 0:
            return Claim.NO
        # Any version of ApiVersions has an answer.
        is_ours = api.key == API_VERSIONS or version <= api.version_max
        return Claim.YES if is_ours else Claim.NO

    def connection(self, limits: FrameLimits) -> KafkaConnection:
        """The bytes side of a new connection."""
        return KafkaConnection(limits)

    def handler(self, broker: "Broker", session: Session) -> KafkaHandler:
        """The meaning side of a new connection."""
        return KafkaHandler(broker, session)

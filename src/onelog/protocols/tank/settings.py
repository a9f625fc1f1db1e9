"""What can be set of TANK."""

from dataclasses import dataclass

from onelog.protocols.tank.framing import FRAME_BYTES_MAX
from onelog.settings import setting


@dataclass(frozen=True)
class TankSettings:
    """Settings of the dialect."""

    frame_bytes_max: int = setting(
        FRAME_BYTES_MAX,
        help="The largest request, and so the largest bundle in a topic without max.message.bytes. "
        "TANK's own broker takes 256 MiB; server.frame_bytes_max holds as well.",
        unit="bytes",
    )

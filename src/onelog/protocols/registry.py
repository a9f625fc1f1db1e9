"""The dialects that this broker speaks, a line each. Where their bytes overlap, the first one wins."""

from typing import Final

from onelog.protocols.contract import Endpoint
from onelog.protocols.fluvio.endpoint import FluvioEndpoint
from onelog.protocols.flymq.endpoint import FlyMQEndpoint
from onelog.protocols.kafka.endpoint import KafkaEndpoint
from onelog.protocols.rustlog.endpoint import RustLogEndpoint
from onelog.protocols.tank.endpoint import TankEndpoint

ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    KafkaEndpoint(),
    RustLogEndpoint(),
    TankEndpoint(),
    FlyMQEndpoint(),
    FlyMQEndpoint(for_programs=True),
    FluvioEndpoint(),
    FluvioEndpoint(is_unit=True),
)

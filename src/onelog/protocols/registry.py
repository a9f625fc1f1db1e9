"""The dialects that this broker speaks, a line each. Where their bytes overlap, the first one wins.

Some bring compiled modules of their own, which are told of together with those of the records.
"""

from typing import Final

from onelog.protocols.contract import Endpoint
from onelog.protocols.fluvio import kernels as fluvio_kernels
from onelog.protocols.fluvio.endpoint import FluvioEndpoint
from onelog.protocols.flymq.endpoint import FlyMQEndpoint
from onelog.protocols.kafka.endpoint import KafkaEndpoint
from onelog.protocols.rustlog.endpoint import RustLogEndpoint
from onelog.protocols.tank import kernels as tank_kernels
from onelog.protocols.tank.endpoint import TankEndpoint
from onelog.protocols.tank.settings import TankSettings
from onelog.records import kernels, packing

ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    KafkaEndpoint(),
    RustLogEndpoint(),
    TankEndpoint(),
    FlyMQEndpoint(),
    FlyMQEndpoint(for_programs=True),
    FluvioEndpoint(),
    FluvioEndpoint(is_unit=True),
)


def configured(*, tank: TankSettings) -> tuple[Endpoint, ...]:
    """The same, with what was set of them."""
    return tuple(TankEndpoint(tank) if isinstance(each, TankEndpoint) else each for each in ENDPOINTS)


def kernels_are_compiled() -> bool:
    """Whether all modules that can be compiled are: those of the records, and the dialects' own."""
    return all(each.COMPILED for each in (kernels, packing, fluvio_kernels, tank_kernels))

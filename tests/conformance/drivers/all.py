"""Every driver of the suite."""

from tests.conformance.driver import Addresses, Kind
from tests.conformance.drivers import confluent, fluvio, flymq, python_kafka, rustlog, tank
from tests.support.served import Served

KINDS: tuple[Kind, ...] = (
    confluent.KIND,
    python_kafka.KIND,
    rustlog.JSON,
    rustlog.BINARY,
    tank.KIND,
    flymq.PROGRAMS,
    flymq.DOCUMENT,
    fluvio.KIND,
)
PRESENT = tuple(kind for kind in KINDS if not kind.not_yet)
LISTENERS = ("shared", "kafka", "rustlog", "flymq", "tank", "fluvio-sc", "fluvio-spu", "console")


def addresses_of(served: Served) -> Addresses:
    """Where each listener is."""
    return {name: f"127.0.0.1:{port}" for name, port in served.ports.items()}

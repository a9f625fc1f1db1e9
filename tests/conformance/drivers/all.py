"""Every driver of the suite."""

from tests.conformance.driver import Kind
from tests.conformance.drivers import confluent, fluvio, flymq, python_kafka, rustlog, tank

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
LISTENERS = ("shared", "kafka", "rustlog", "flymq", "tank", "console")

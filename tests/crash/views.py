"""A whole topic as each dialect shows it: partition, offset, value of every record."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tests.conformance.driver import Addresses, Kind
from tests.conformance.drivers.all import PRESENT
from tests.crash.fluvio_unit import FluvioUnit
from tests.support.served import Served

Record = tuple[int, int, bytes]
View = Callable[[str, int], Iterable[Record]]
# The suite's drivers that are a view of their own; librdkafka's is the first.
DRIVERS = ("kafka-confluent", "rustlog-json", "rustlog-binary", "tank", "flymq")
UNTOLD = -1
"""The offset of a record in RustLog's binary form."""


def views(served: Served) -> list[tuple[str, View]]:
    """librdkafka's, then those of the tests' own clients."""
    addresses = {name: f"127.0.0.1:{port}" for name, port in served.ports.items()}
    # The suite names the listener of a dialect; on the shared port they are the same.
    addresses |= dict.fromkeys(("kafka", "rustlog", "flymq"), served.bootstrap)
    kinds = {kind.name: kind for kind in PRESENT}
    driven = [(name, partial(_driven, kinds[name], addresses)) for name in DRIVERS]
    return [*driven, ("fluvio", partial(_fluvio, addresses["fluvio-spu"]))]


def _driven(kind: Kind, addresses: Addresses, topic: str, partitions: int) -> Iterator[Record]:
    driver = kind.open(addresses)
    try:
        for number in range(partitions):
            for read in driver.read(topic, partition=number):
                assert read.message.value is not None
                yield number, UNTOLD if read.offset is None else read.offset, read.message.value
    finally:
        driver.close()


def _fluvio(address: str, topic: str, partitions: int) -> Iterator[Record]:
    with FluvioUnit(address) as unit:
        for number in range(partitions):
            for offset, value in unit.read(topic, number):
                yield number, offset, value

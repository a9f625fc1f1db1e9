"""All dialects at work on one topic: each sees the others' order, time and records."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from tests.conformance.driver import Addresses, Kind, Message, Opened, texts
from tests.conformance.drivers import tank
from tests.conformance.drivers.all import PRESENT
from tests.support.rustlog_client import JsonClient
from tests.support.tank_bundles import Message as TankMessage
from tests.support.tank_client import TankClient

COUNT = 30


def test_all_write_to_one_topic_at_once_and_each_keeps_its_order(
    addresses: Addresses, opened: Opened, topic: str
) -> None:
    opened(PRESENT[0]).create_topic(topic)

    def write(kind: Kind) -> None:
        with closing(kind.open(addresses)) as driver:
            for i in range(COUNT):
                driver.produce(topic, [Message(f"{kind.name} {i}".encode())])

    with ThreadPoolExecutor(len(PRESENT)) as pool:
        list(pool.map(write, PRESENT))
    seen = {kind.name: texts(opened(kind).read(topic)) for kind in PRESENT}
    (log, *others) = seen.values()
    assert len(log) == COUNT * len(PRESENT)
    assert all(other == log for other in others)
    for kind in PRESENT:
        own = [value for value in log if value.rpartition(" ")[0] == kind.name]
        assert own == [f"{kind.name} {i}" for i in range(COUNT)]


def test_the_time_of_a_record_is_one_for_all_who_tell_it(addresses: Addresses, topic: str) -> None:
    with (
        closing(TankClient.connect(addresses["tank"])) as by_tank,
        closing(JsonClient.connect(addresses["shared"])) as by_rustlog,
    ):
        by_rustlog.create_topic(topic, 1)
        by_rustlog.produce(topic, 0, [b"now"])
        by_tank.produce(topic, 0, [TankMessage(b"then", None, tank.GIVEN_MS)])
        told_by_rustlog = [r.timestamp_us for r in by_rustlog.fetch(topic, 0, 0).records]
        told_by_tank = [m.timestamp_ms for m in by_tank.fetch(topic, 0, 0).messages]
    assert told_by_rustlog == [ms * 1000 for ms in told_by_tank]
    assert told_by_tank[1] == tank.GIVEN_MS

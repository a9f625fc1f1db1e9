"""Who asks at the end gets what is written next, if its dialect can wait."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.driver import Addresses, Driver, Feature, Kind, Message, Opened, texts
from tests.conformance.drivers.all import PRESENT

WAITING = [kind for kind in PRESENT if Feature.WAITING not in kind.never]


@pytest.mark.parametrize("kind", WAITING, ids=[kind.name for kind in WAITING])
@pytest.mark.parametrize("writer", PRESENT, ids=[f"by-{kind.name}" for kind in PRESENT])
def test_whoever_waits_gets_what_any_dialect_writes_next(
    kind: Kind, writer: Kind, addresses: Addresses, opened: Opened, topic: str
) -> None:
    other = opened(writer)
    other.create_topic(topic)
    other.produce(topic, [Message(b"before")])
    waiter = kind.open(addresses)
    begun = threading.Event()

    def wait() -> list[str]:
        begun.set()
        return texts(waiter.wait(topic, 1))

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(wait)
        assert begun.wait(20)
        # Time for the question to arrive: who did not wait would have its empty answer by now.
        for _ in range(20):
            other.read(topic)
        other.produce(topic, [Message(b"next")])
        assert answer.result(20) == ["next"]
    waiter.close()


def test_waiting_holds_up_nobody_else(
    driver: Driver, opened: Opened, addresses: Addresses, topic: str
) -> None:
    driver.create_topic(topic)
    waiters = [kind.open(addresses) for kind in WAITING]
    with ThreadPoolExecutor(len(waiters)) as pool:
        answers = [pool.submit(waiter.wait, topic, 0) for waiter in waiters]
        other = f"{topic}-2"
        driver.create_topic(other)
        driver.produce(other, [Message(b"v")])
        assert texts(driver.read(other)) == ["v"]
        driver.produce(topic, [Message(b"at last")])
        assert [texts(a.result(20)) for a in answers] == [["at last"]] * len(waiters)
    for waiter in waiters:
        waiter.close()

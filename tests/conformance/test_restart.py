"""What was acknowledged outlives the broker, whether it was asked to stop or killed."""

from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.conformance.driver import Driver, Feature, Kind, Message, texts
from tests.conformance.drivers.all import LISTENERS, PRESENT, addresses_of
from tests.support.served import Served

COUNT = 20


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Path, kill: bool) -> None:
    """Every dialect's records and positions, as every dialect reads them."""
    with Served(tmp_path / "data", ports=dict.fromkeys(LISTENERS, 0)) as served:
        for kind in PRESENT:
            with closing(kind.open(addresses_of(served))) as driver:
                driver.create_topic(topic_of(kind))
                for i in range(COUNT):
                    driver.produce(topic_of(kind), [Message(f"{i}".encode())])
                if Feature.POSITIONS not in kind.never:
                    driver.commit("g", topic_of(kind), 7)
        if kill:
            served.kill()
        else:
            assert served.stop() == 0
        served.start()
        with ExitStack() as stack:
            drivers = {k: stack.enter_context(closing(k.open(addresses_of(served)))) for k in PRESENT}
            assert {(r.name, w.name): read_back(drivers[r], w) for r in PRESENT for w in PRESENT} == {
                (r.name, w.name): [f"{i}" for i in range(COUNT)] for r in PRESENT for w in PRESENT
            }
            with_positions = [k for k in PRESENT if Feature.POSITIONS not in k.never]
            for kind in with_positions:
                assert drivers[kind].position("g", topic_of(kind)) == 7, kind.name


def topic_of(kind: Kind) -> str:
    return f"of-{kind.name}"


def read_back(driver: Driver, writer: Kind) -> list[str]:
    return texts(driver.read(topic_of(writer)))

"""The wheel on a line that is cut while it is at work, and what it says on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.fluvio.conftest import Open
from tests.interop.fluvio.wheel import Wheel
from tests.support.relay import Relay
from tests.support.served import Served

pytestmark = pytest.mark.interop

LOTS = 30
LOT = 50
SERVED = (0, 1002, 1003)  # Produce, FetchOffsets, StreamFetch


@pytest.fixture
def line() -> Iterator[Relay]:
    with Relay() as relay:
        yield relay


@pytest.fixture
def broker(tmp_path: Path, line: Relay) -> Iterator[Served]:
    """Its clients are told that the unit is behind the line."""
    ports = {"fluvio-sc": 0, "fluvio-spu": 0, "kafka": 0}
    options = [f"--advertise=fluvio-spu=127.0.0.1:{line.port}"]
    with Served(tmp_path / "data", ports=ports, options=options) as served:
        line.target = served.ports["fluvio-spu"]
        yield served


def lots() -> list[list[str]]:
    return [[str(lot * LOT + n) for n in range(LOT)] for lot in range(LOTS)]


def test_a_reader_is_cut_off_and_loses_nothing_and_repeats_nothing(
    wheel: Wheel, open_wheel: Open, line: Relay
) -> None:
    wheel("create", topic="orders")
    for lot in lots():
        wheel("produce", topic="orders", records=[["k", value] for value in lot])
    tail = open_wheel()
    # So little at once that there are many frames, and cuts come between and within them.
    tail.begin("follow", topic="orders", count=LOTS * LOT, bytes_max=1)
    found, told = [], tail.said()
    for n in range(LOTS * LOT):
        found.append(next(told)[0])
        if n in (100, 700, 1100):
            assert line.cut() > 0
    assert found == list(range(LOTS * LOT))


def test_the_wheel_takes_the_newest_version_that_both_have(wheel: Wheel, line: Relay) -> None:
    wheel("create", topic="orders")
    wheel("produce", topic="orders", records=[["k", "v"]])
    assert len(wheel.records(topic="orders")) == 1
    # It has 24; the newest that is advertised is 25.
    assert {key: version for key, version in line.asked() if key in SERVED} == dict.fromkeys(SERVED, 24)

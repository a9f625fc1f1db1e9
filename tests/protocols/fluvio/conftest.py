from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fluvio_peer import FluvioHouse, FluvioPeer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FluvioHouse]:
    house = FluvioHouse(tmp_path / "data")
    yield house
    house.close()


@pytest.fixture
def controller(house: FluvioHouse) -> FluvioPeer:
    return house.controller()


@pytest.fixture
def unit(house: FluvioHouse) -> FluvioPeer:
    return house.unit()

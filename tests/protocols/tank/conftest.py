from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tank_peer import TankHouse, TankPeer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[TankHouse]:
    house = TankHouse(tmp_path / "data")
    yield house
    house.close()


@pytest.fixture
def peer(house: TankHouse) -> TankPeer:
    return house.tank()

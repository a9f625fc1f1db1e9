from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka_peer import KafkaHouse, KafkaPeer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[KafkaHouse]:
    house = KafkaHouse(tmp_path / "data")
    yield house
    house.close()


@pytest.fixture
def peer(house: KafkaHouse) -> KafkaPeer:
    return house.peer()

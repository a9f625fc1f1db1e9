from collections.abc import Iterator
from pathlib import Path

import pytest

import onelog


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[onelog.Broker]:
    """One broker for all clients; each test takes topics of its own."""
    # Nobody is waited for when the first member of a group comes, as Kafka's own tests have it.
    settings = {"broker.group_initial_rebalance_delay_ms": 0}
    data = tmp_path_factory.mktemp("kafka") / "data"
    with onelog.Broker(data, listen="shared=127.0.0.1:0", settings=settings) as broker:
        yield broker


@pytest.fixture
def bootstrap(broker: onelog.Broker) -> str:
    return broker.bootstrap


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test has."""
    path = Path(request.node.path).stem
    return f"{path}-{request.node.name}".translate(str.maketrans("[]", "..")).rstrip(".")

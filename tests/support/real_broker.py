"""One broker for a whole run of tests; each test uses topics and groups of its own names.

A conftest takes it with `from tests.support.real_broker import broker as broker`.
"""

from collections.abc import Iterator

import pytest

import onelog


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[onelog.Broker]:
    # Nobody is waited for when the first member of a group comes, as Kafka's own tests have it.
    settings = {"broker.group_initial_rebalance_delay_ms": 0}
    with onelog.Broker(tmp_path_factory.mktemp("broker"), settings=settings) as running:
        yield running

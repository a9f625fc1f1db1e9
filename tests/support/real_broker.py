"""One broker for a whole run of tests; each test uses topics and groups of its own names.

A conftest takes it with `from tests.support.real_broker import broker as broker`.
"""

from collections.abc import Iterator

import pytest

import onelog


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[onelog.Broker]:
    with onelog.Broker(tmp_path_factory.mktemp("broker")) as running:
        yield running

"""One broker process for the suite, and each driver opened once; tests use topics of their own names."""

import itertools
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.conformance.driver import Addresses, Driver, Kind, Opened
from tests.conformance.drivers.all import LISTENERS, PRESENT, addresses_of
from tests.support.served import Served


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("conformance") / "data"
    with Served(data, ports=dict.fromkeys(LISTENERS, 0)) as running:
        yield running


@pytest.fixture(scope="session")
def addresses(served: Served) -> Addresses:
    return addresses_of(served)


@pytest.fixture(scope="session")
def opened(addresses: Addresses) -> Iterator[Opened]:
    """The driver of a kind, opened on first use."""
    drivers: dict[str, Driver] = {}
    with ExitStack() as closed_at_the_end:

        def driver_of(kind: Kind) -> Driver:
            if kind.name not in drivers:
                drivers[kind.name] = closed_at_the_end.enter_context(closing(kind.open(addresses)))
            return drivers[kind.name]

        yield driver_of


@pytest.fixture(params=PRESENT, ids=[kind.name for kind in PRESENT])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each driver in turn."""
    found: Kind = request.param
    return found


@pytest.fixture
def driver(kind: Kind, opened: Opened) -> Driver:
    return opened(kind)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name of the test's own that every dialect can say."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.lower())
    return f"{name[:50].strip('-')}-{next(_NUMBERS)}"


_NUMBERS = itertools.count(1)

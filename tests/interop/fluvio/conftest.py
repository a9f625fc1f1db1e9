from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.fluvio.wheel import Wheel
from tests.support.served import Served

Open = Callable[[], Wheel]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "data", ports={"fluvio-sc": 0, "fluvio-spu": 0, "kafka": 0}) as served:
        yield served


@pytest.fixture
def open_wheel(broker: Served) -> Iterator[Open]:
    """Clients of the wheel's, each in a process of its own."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Wheel(f"127.0.0.1:{broker.ports['fluvio-sc']}"))


@pytest.fixture
def wheel(open_wheel: Open) -> Wheel:
    return open_wheel()

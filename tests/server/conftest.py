"""The server runs on two loops, so its tests do."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def loop_factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    """The loop of a coroutine test; see tests/conftest.py."""
    return asyncio.new_event_loop if request.param == "asyncio" else uvloop.new_event_loop

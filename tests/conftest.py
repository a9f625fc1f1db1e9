"""Tests may be coroutines: each runs in a loop of its own, which is closed behind it."""

import asyncio
import inspect
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import settings

# What everybody's run says is the same for everybody; a hunt for new seeds is asked for by
# `--hypothesis-profile=hunt`.
settings.register_profile("everyday", derandomize=True, database=None, deadline=None)
settings.register_profile("hunt", deadline=None)
settings.load_profile("everyday")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test. A fixture called loop_factory chooses the loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}
    factory = cast("Callable[[], asyncio.AbstractEventLoop] | None", pyfuncitem.funcargs.get("loop_factory"))
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(pyfuncitem.obj(**arguments))
    return True

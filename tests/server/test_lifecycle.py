"""Signals to a process that serves."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from onelog.server.lifecycle import StopSignals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_asks_for_the_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopSignals() as stop:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(10):
            await stop.wait()
    signal.signal(number, before)


PROGRAM = """
import asyncio
from onelog.server.lifecycle import StopSignals

async def main():
    with StopSignals() as stop:
        print("serving", flush=True)
        await stop.wait()
        print("stopping", flush=True)
        while True:  # a loop that is stuck
            pass

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once_even_if_the_loop_is_stuck(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "serving\n"
        process.send_signal(number)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(number)
        assert process.wait(timeout=30) == -number

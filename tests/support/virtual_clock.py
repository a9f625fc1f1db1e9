"""Time that stands still until told: a clock, and a loop whose timers go by it.

Threads of the code under test are real; what the loop waits for with a timer is not.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
START_MS = 1_800_000_000_000


@dataclass
class VirtualClock:
    """Both clocks of the contract, moved together, by hand."""

    now_ms: int = START_MS

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    async def advance(self, ms: int) -> None:
        """Let time pass, and let everything that is due because of it happen."""
        self.now_ms += ms
        await turns()


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose timers wait for the virtual clock."""

    def __init__(self, clock: VirtualClock) -> None:
        self._virtual = clock
        super().__init__()

    def time(self) -> float:
        return self._virtual.monotonic_s()


async def turns(count: int = 5) -> None:
    """Let the loop go round: what was scheduled happens, and what that schedules."""
    for _ in range(count):
        await asyncio.sleep(0)


def run(story: Coroutine[Any, Any, T], *, clock: VirtualClock) -> T:
    """Run a story on a loop of that clock."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(story)

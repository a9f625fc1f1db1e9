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
    """Both clocks of the contract, moved together, by hand. ahead_ms: how wrong the wall's is."""

    now_ms: int = START_MS
    ahead_ms: int = 0

    def wall_ms(self) -> int:
        return self.now_ms + self.ahead_ms

    def monotonic_s(self) -> float:
        return (self.now_ms - START_MS) / 1000

    async def advance(self, ms: int) -> None:
        """Let time pass, and let everything that is due because of it happen."""
        self.now_ms += ms
        await turns()


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose timers wait for the virtual clock."""

    _scheduled: list[asyncio.TimerHandle]  # the base class's own

    def __init__(self) -> None:
        self.clock = VirtualClock()
        super().__init__()

    def time(self) -> float:
        return self.clock.monotonic_s()

    def has_timer_within(self, ms: int) -> bool:
        """Whether something is due that soon."""
        until = self.time() + ms / 1000
        return any(not timer.cancelled() and timer.when() <= until for timer in self._scheduled)


async def turns(count: int = 5) -> None:
    """Let the loop go round: what was scheduled happens, and what that schedules."""
    for _ in range(count):
        await asyncio.sleep(0)


def virtual_clock() -> VirtualClock:
    """The clock of the running loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.clock


def run(story: Coroutine[Any, Any, T]) -> T:
    """Run a story on a loop with a clock of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)

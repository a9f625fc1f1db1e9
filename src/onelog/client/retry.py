"""When to try again, and when to give up: back-off with jitter under one deadline.

The policy is arithmetic; clock, sleep and chance are handed in, so that a test sees every
delay without waiting for one. What may be sent again is the error's to say (`retriable`)
and the caller's to prepare (fresh metadata, the same sequence numbers).
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from onelog.client.errors import ClientError
from onelog.clock import Clock, SystemClock

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How long to try in all, and how long to pause in between."""

    timeout_s: float = 30.0
    delay_first_s: float = 0.05
    delay_max_s: float = 2.0

    def delay_s(self, attempt: int, *, chance: float, remaining_s: float) -> float | None:
        """The pause after the attempt of this number (from 1), or None: give up.

        Half of it is fixed, half is chance, so that clients that lost one broker together
        do not come back together. An attempt that could only begin when time is up is none.
        """
        ceiling = min(self.delay_max_s, self.delay_first_s * 2.0 ** min(attempt - 1, 32))
        delay_s = ceiling * (0.5 + 0.5 * chance)
        return delay_s if delay_s < remaining_s else None


class Deadline:
    """The moment at which all attempts of one call end. Owned by that call."""

    def __init__(self, clock: Clock, timeout_s: float) -> None:
        self._clock = clock
        self._started_s = clock.monotonic_s()
        self.timeout_s = timeout_s

    def waited_s(self) -> float:
        """Since the first attempt began."""
        return self._clock.monotonic_s() - self._started_s

    def remaining_s(self) -> float:
        """What is left; 0 or less when it is over."""
        return self.timeout_s - self.waited_s()


def pause(seconds: float) -> None:
    """Block this thread so long."""
    threading.Event().wait(seconds)


@dataclass(frozen=True)
class Retrier:
    """A policy with the clock, the sleep and the chance to follow it."""

    policy: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = pause
    chance: Callable[[], float] = random.random

    def deadline(self, *, longer_s: float = 0.0) -> Deadline:
        """One deadline from now; longer by what the call itself asks the broker to wait."""
        return Deadline(self.clock, self.policy.timeout_s + longer_s)

    def run(
        self,
        attempt: Callable[[Deadline], T],
        *,
        deadline: Deadline | None = None,
        between: Callable[[ClientError], None] | None = None,
    ) -> T:
        """The result of the first attempt that has one; else the last error, as an end.

        `between` hears each error that is going to be retried, before the pause.
        """
        deadline = deadline or self.deadline()
        tried = 0
        while True:
            tried += 1
            try:
                return attempt(deadline)
            except ClientError as error:
                if not error.retriable:
                    raise
                delay_s = self.policy.delay_s(tried, chance=self.chance(), remaining_s=deadline.remaining_s())
                if delay_s is None:
                    raise error.given_up(attempts=tried, waited_s=deadline.waited_s()) from error.__cause__
                if between is not None:
                    between(error)
                self.sleep(delay_s)

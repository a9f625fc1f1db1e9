"""The time that may take something away: it does not believe a clock that jumps ahead, at first.

Retention and compaction remove for good what is old by the wall clock. When that is suddenly
hours ahead of what has passed, records would go that are young; so time goes on as before until
the jump has stood for a while. A clock that falls back is believed: nothing gets older by it.
"""

from onelog.clock import Clock

# More than a clock is corrected by in one go, unless it was wrong.
JUMP_MS = 600_000
BELIEVED_AFTER_S = 3600.0


class TrustedClock:
    """One clock, looked at now and then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now_ms = clock.wall_ms()
        self._looked_s = clock.monotonic_s()
        self._jumped_s: float | None = None

    def now_ms(self) -> int:
        """The time, as far as it is believed."""
        wall_ms, looked_s = self._clock.wall_ms(), self._clock.monotonic_s()
        steady_ms = self._now_ms + int((looked_s - self._looked_s) * 1000)
        is_ahead = wall_ms > steady_ms + JUMP_MS
        if not is_ahead:
            self._jumped_s = None
        elif self._jumped_s is None:
            self._jumped_s = looked_s
        stands = self._jumped_s is not None and looked_s - self._jumped_s >= BELIEVED_AFTER_S
        self._looked_s = looked_s
        self._now_ms = steady_ms if is_ahead and not stands else wall_ms
        return self._now_ms

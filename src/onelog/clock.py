"""What time it is. Nothing else in the package asks the system for it."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: the wall's, for people and records, and one that never goes back."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970, as the system believes. May jump either way."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some moment; for measuring, never for records."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

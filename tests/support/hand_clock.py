"""A clock that moves when told to, and a sleep that moves it."""

from dataclasses import dataclass, field


@dataclass
class HandClock:
    """Both clocks of the contract, moved by hand; every sleep is written down."""

    now_s: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def wall_ms(self) -> int:
        return int(self.now_s * 1000)

    def monotonic_s(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

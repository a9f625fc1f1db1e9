"""A clock that jumps, and what is believed of it."""

from dataclasses import dataclass

import pytest

from onelog.broker.trusted_clock import BELIEVED_AFTER_S, TrustedClock

DAY_MS = 86_400_000


@dataclass
class _Clock:
    ms: int = 1_000_000
    s: float = 5.0

    def wall_ms(self) -> int:
        return self.ms

    def monotonic_s(self) -> float:
        return self.s

    def pass_by(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)
        self.s += seconds


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


def test_time_that_passes_is_believed(clock: _Clock) -> None:
    trusted = TrustedClock(clock)
    clock.pass_by(30 * 86_400)
    assert trusted.now_ms() == clock.ms


def test_a_jump_ahead_is_believed_when_it_has_stood_for_a_while(clock: _Clock) -> None:
    trusted = TrustedClock(clock)
    clock.ms += DAY_MS
    assert trusted.now_ms() == clock.ms - DAY_MS
    clock.pass_by(BELIEVED_AFTER_S / 2)
    assert trusted.now_ms() == clock.ms - DAY_MS
    clock.pass_by(BELIEVED_AFTER_S / 2)
    assert trusted.now_ms() == clock.ms


def test_a_jump_that_is_taken_back_never_was(clock: _Clock) -> None:
    trusted = TrustedClock(clock)
    clock.ms += DAY_MS
    trusted.now_ms()
    clock.pass_by(BELIEVED_AFTER_S * 0.9)
    clock.ms -= DAY_MS
    assert trusted.now_ms() == clock.ms
    clock.ms += DAY_MS
    clock.pass_by(BELIEVED_AFTER_S * 0.2)
    assert trusted.now_ms() == clock.ms - DAY_MS


def test_a_clock_that_falls_back_is_believed_at_once(clock: _Clock) -> None:
    trusted = TrustedClock(clock)
    clock.ms -= DAY_MS
    assert trusted.now_ms() == clock.ms


def test_a_small_correction_is_no_jump(clock: _Clock) -> None:
    trusted = TrustedClock(clock)
    clock.ms += 500_000
    assert trusted.now_ms() == clock.ms

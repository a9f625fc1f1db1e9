from onelog.clock import SystemClock


def test_the_wall_says_milliseconds_since_1970() -> None:
    assert SystemClock().wall_ms() > 1_700_000_000_000


def test_the_monotonic_clock_never_goes_back() -> None:
    clock = SystemClock()
    times = [clock.monotonic_s() for _ in range(100)]
    assert times == sorted(times)

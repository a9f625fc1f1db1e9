"""How often the server complains."""

from dataclasses import fields

from onelog.server.limits import ServerLimits, Whisper
from tests.support.hand_clock import HandClock


def test_every_bound_is_positive_and_explained() -> None:
    for field in fields(ServerLimits):
        assert getattr(ServerLimits(), field.name) > 0
        assert field.metadata["help"]


def test_a_window_lets_so_many_lines_through_and_counts_the_rest() -> None:
    clock = HandClock()
    whisper = Whisper(clock, lines_max=2, window_s=10.0)
    assert [whisper.admits() for _ in range(5)] == [True, True, False, False, False]
    clock.now_s += 10.0
    assert whisper.admits()
    assert whisper.take_suppressed() == 3
    assert whisper.take_suppressed() == 0

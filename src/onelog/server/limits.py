"""The bounds on what peers can make the server hold, and how often it says so.

Each bound has a unit in its name and a default here, and is a line of the settings page. What a
frame may weigh at most is the smaller of frame_bytes_max and what its dialect allows.
"""

from dataclasses import dataclass

from onelog.clock import Clock
from onelog.settings import setting


@dataclass(frozen=True)
class ServerLimits:
    """Settings of the server. A peer that reaches a bound waits, or is closed."""

    connections_max: int = setting(10_000, help="Connections open at once; one more is closed as it comes.")
    requests_in_flight_max: int = setting(
        256, help="Requests of one connection that were read and not answered yet; then reading stops."
    )
    request_bytes_max: int = setting(
        64 << 20, help="Bytes of those requests; then reading stops.", unit="bytes"
    )
    reply_bytes_max: int = setting(
        4 << 20,
        help="Answers that the peer of a connection has not taken yet; then reading stops.",
        unit="bytes",
    )
    streams_max: int = setting(
        1024, help="Open streams of one connection (watches, tails); one more closes it."
    )
    frame_bytes_max: int = setting(
        100 << 20, help="The largest request, in dialects that do not have a smaller bound.", unit="bytes"
    )
    handshake_timeout_ms: int = setting(
        10_000, help="How long a peer of a shared port may leave open which dialect it speaks.", unit="ms"
    )
    idle_timeout_ms: int = setting(
        600_000, help="Silence, with no request in flight, after which a connection is closed.", unit="ms"
    )
    closing_timeout_ms: int = setting(
        5_000, help="How long a connection that has ended may take over its last answers.", unit="ms"
    )


class Whisper:
    """Lets so many lines through in a window of time, and counts the rest.

    A peer that errs in a loop must not fill the disk with our complaints.
    """

    def __init__(self, clock: Clock, *, lines_max: int = 10, window_s: float = 10.0) -> None:
        self._clock = clock
        self._lines_max = lines_max
        self._window_s = window_s
        self._window_end_s = clock.monotonic_s() + window_s
        self._lines = 0
        self._suppressed = 0

    def admits(self) -> bool:
        """Whether one more line may be said now."""
        now_s = self._clock.monotonic_s()
        if now_s >= self._window_end_s:
            self._window_end_s = now_s + self._window_s
            self._lines = 0
        self._lines += 1
        if self._lines > self._lines_max:
            self._suppressed += 1
            return False
        return True

    def take_suppressed(self) -> int:
        """How many lines were kept back since this was last asked."""
        suppressed, self._suppressed = self._suppressed, 0
        return suppressed

"""The open streams of one connection: which of them have something to send, and whose turn it is.

No socket and no dialect. A stream that wakes is asked once in each round, so one that always
has more holds up no other; the pump asks only while its peer takes what is sent, and a stream
makes a message only when it is asked. So what a slow peer costs is what its streams are, and
never what they would have sent.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from onelog.protocols.contract import Stream


class Streams:
    """Owned by the pump of their connection. on_ready: called when there is something after nothing."""

    __slots__ = ("_on_ready", "_open", "_ready")

    def __init__(self, on_ready: Callable[[], None]) -> None:
        self._on_ready = on_ready
        self._open: dict[Channel, None] = {}
        self._ready: deque[Channel] = deque()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_ready(self) -> bool:
        """Whether one of them may have something to send."""
        return bool(self._ready)

    def open(self, tag: Any, stream: Stream) -> None:
        """One more, whose messages leave under this tag."""
        channel = Channel(tag, stream, self._woken)
        self._open[channel] = None
        stream.opened(channel.wake)

    def next(self) -> tuple[Any, Any] | None:
        """The tag and the next message of the stream whose turn it is; None: nothing was there."""
        while self._ready:
            channel = self._ready.popleft()
            channel.is_ready = False  # before it is asked: what it hears meanwhile counts
            message = channel.stream.next()
            if channel.stream.is_over:
                self._open.pop(channel, None)
            elif message is not None and not channel.is_ready:
                channel.is_ready = True
                self._ready.append(channel)
            if message is not None:
                return channel.tag, message
        return None

    def close(self) -> None:
        """The connection ends: nothing of this is sent any more."""
        channels = list(self._open)
        self._open.clear()
        self._ready.clear()
        # The pump owns this, and this called the pump: without an end they would wait together
        # for the collector, which sees a busy broker's old objects rarely.
        self._on_ready = _nobody
        for channel in channels:
            channel.stream.closed()

    def _woken(self, channel: "Channel") -> None:
        if channel not in self._open:
            return
        channel.is_ready = True
        self._ready.append(channel)
        if len(self._ready) == 1:
            self._on_ready()


def _nobody() -> None:
    """Who is told when the connection is gone."""


class Channel:
    """One open stream, and the tag that its messages need."""

    __slots__ = ("_on_wake", "is_ready", "stream", "tag")

    def __init__(self, tag: Any, stream: Stream, on_wake: "Callable[[Channel], None]") -> None:
        self.tag = tag
        self.stream = stream
        self.is_ready = False
        self._on_wake = on_wake

    def wake(self) -> None:
        """It may have something to send. Costs next to nothing when that is known."""
        if not self.is_ready:
            self._on_wake(self)

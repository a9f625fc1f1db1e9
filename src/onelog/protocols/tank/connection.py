"""One TANK connection: frames in, calls out; answers carry the number of their request.

So answers may overtake, and have to: a fetch that waits and a produce that wakes it travel on
one connection. TANK has no words for a frame that is wrong; the connection is closed.
"""

from collections.abc import Sequence
from typing import Any, Final

from onelog.binary.errors import BinaryError
from onelog.protocols.contract import Buffer, Call, FrameLimits, ProtocolError
from onelog.protocols.receive import ReceiveBuffer
from onelog.protocols.tank.framing import HEADER_BYTES, PING_FRAME, Kind, read_header
from onelog.protocols.tank.messages.forms import REQUESTS, framed
from onelog.protocols.tank.settings import TankSettings

# What clients send and nobody answers: it is read and forgotten.
_UNANSWERED: Final = frozenset((Kind.PING, Kind.REGISTER_REPLICA))


class TankConnection:
    """Frames <-> calls. Answers name their requests, so tags are empty."""

    def __init__(self, limits: FrameLimits, settings: TankSettings) -> None:
        self.replies_in_order = False
        self._size_max = min(settings.frame_bytes_max, limits.frame_bytes_max)
        self._buffer = ReceiveBuffer()
        self._frame_bytes = 0  # of the frame at the front, once its length is known

    def opening(self) -> Sequence[Buffer]:
        """A ping, which some clients wait for. Once: a second one breaks them."""
        return (PING_FRAME,)

    def lend(self, size_hint: int) -> memoryview:
        """Room for the frame at the front, or for whatever comes."""
        return self._buffer.lend(self._frame_bytes)

    def received(self, count: int) -> list[Call]:
        """The requests among the frames that are whole now."""
        self._buffer.filled(count)
        calls: list[Call] = []
        try:
            while (frame := self._next_frame()) is not None:
                kind, payload = frame
                if kind not in _UNANSWERED:
                    calls.append(Call(None, REQUESTS[kind](payload)))
        except BinaryError as error:
            raise ProtocolError(str(error), calls=calls) from error
        return calls

    def send(self, tag: Any, message: Any) -> Sequence[Buffer]:
        """One frame, in one piece where it is small: some clients do not read on."""
        return framed(message)

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        """TANK has no words for it."""
        return ()

    def _next_frame(self) -> tuple[int, memoryview] | None:
        waiting = self._buffer.waiting
        if waiting < HEADER_BYTES:
            self._frame_bytes = 0
            return None
        kind, size = read_header(self._buffer.peek(), size_max=self._size_max)
        if kind not in REQUESTS:
            raise BinaryError("frame kind", 0, _name(kind), "a request that is served")
        self._frame_bytes = HEADER_BYTES + size
        if waiting < self._frame_bytes:
            return None
        return kind, self._buffer.take(self._frame_bytes)[HEADER_BYTES:]


def _name(kind: int) -> str:
    known = {each.value: f"{each.name} ({each:02x}), which is not" for each in Kind}
    return known.get(kind, f"{kind:02x}")

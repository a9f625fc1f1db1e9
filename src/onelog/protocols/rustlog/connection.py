"""One RustLog connection: frames in, calls out; answers in the order of their calls.

The form of a payload is told by its first byte. JSON is json_form.py; the binary form is
not spoken yet, and a frame of it ends the connection with words that say so.
"""

from collections.abc import Sequence
from typing import Any

from onelog.binary.errors import BinaryError
from onelog.errors import InvalidRequest
from onelog.protocols.contract import Buffer, Call, FrameLimits, InternalError, ProtocolError
from onelog.protocols.receive import ReceiveBuffer
from onelog.protocols.rustlog import json_form
from onelog.protocols.rustlog.errors import Code
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, HEADER_BYTES, payload_size
from onelog.protocols.rustlog.messages import Error, InvalidCall


class RustLogConnection:
    """Frames <-> calls. Every answer needs its own place only, so tags are empty."""

    def __init__(self, limits: FrameLimits) -> None:
        self.replies_in_order = True
        self._size_max = min(FRAME_BYTES_MAX, limits.frame_bytes_max)
        self._buffer = ReceiveBuffer()
        self._frame_bytes = 0  # of the frame at the front, once its length is known

    def opening(self) -> Sequence[Buffer]:
        """RustLog's clients speak first."""
        return ()

    def lend(self, size_hint: int) -> memoryview:
        """Room for the frame at the front, or for whatever comes."""
        return self._buffer.lend(self._frame_bytes)

    def received(self, count: int) -> list[Call]:
        """The whole frames among what has come."""
        self._buffer.filled(count)
        calls: list[Call] = []
        try:
            while (payload := self._next_payload()) is not None:
                calls.append(Call(None, _decoded(payload)))
        except (BinaryError, json_form.MalformedJson) as error:
            raise ProtocolError(str(error), calls=calls) from error
        return calls

    def send(self, tag: Any, message: Any) -> Sequence[Buffer]:
        """One frame."""
        return [json_form.encode(message)]

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        """What was wrong, in the dialect's own words."""
        code = Code.INTERNAL_SERVER_ERROR if isinstance(error, InternalError) else Code.INVALID_REQUEST
        return [json_form.encode(Error(code=code, message=str(error)))]

    def _next_payload(self) -> memoryview | None:
        waiting = self._buffer.waiting
        if waiting < HEADER_BYTES:
            self._frame_bytes = 0
            return None
        size = payload_size(self._buffer.peek(), size_max=self._size_max)
        self._frame_bytes = HEADER_BYTES + size
        if waiting < self._frame_bytes:
            return None
        return self._buffer.take(self._frame_bytes)[HEADER_BYTES:]


def _decoded(payload: memoryview) -> Any:
    """A request, or what stands for a frame that is none."""
    if not json_form.opens(payload):
        raise json_form.MalformedJson(
            f"the payload begins with byte {payload[0]:02x}; expected a JSON object. "
            "The binary form is not spoken here yet"
        )
    try:
        return json_form.decode_request(payload)
    except InvalidRequest as error:
        return InvalidCall(error.message)

"""One RustLog connection: frames in, calls out; answers in the order of their calls.

The form of a payload is told by its first byte, frame by frame, and an answer has the form of
its request. Who has spoken JSON leaves it only for a frame that is exactly a binary request:
anything else is JSON that is malformed, and the document has the connection closed for that.
"""

from collections.abc import Sequence
from typing import Any

from onelog.binary.errors import BinaryError
from onelog.errors import InvalidRequest
from onelog.protocols.contract import Buffer, Call, FrameLimits, InternalError, ProtocolError
from onelog.protocols.receive import ReceiveBuffer
from onelog.protocols.rustlog import binary_form, json_form
from onelog.protocols.rustlog.errors import BinaryCode, Code, binary_error
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, HEADER_BYTES, payload_size
from onelog.protocols.rustlog.messages import binary
from onelog.protocols.rustlog.messages.json import Error, InvalidCall, Response


class RustLogConnection:
    """Frames <-> calls. Every answer needs its own place only, so tags are empty."""

    def __init__(self, limits: FrameLimits) -> None:
        self.replies_in_order = True
        self._size_max = min(FRAME_BYTES_MAX, limits.frame_bytes_max)
        self._buffer = ReceiveBuffer()
        self._frame_bytes = 0  # of the frame at the front, once its length is known
        self._is_json = False  # the last frame that came
        self._has_spoken_json = False

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
                calls.append(Call(None, self._decoded(payload)))
        except BinaryError as error:
            raise ProtocolError(self._broken(error), calls=calls) from error
        except json_form.MalformedJson as error:
            raise ProtocolError(str(error), calls=calls) from error
        return calls

    def send(self, tag: Any, message: Any) -> Sequence[Buffer]:
        """One frame, in the form of its request."""
        return [json_form.encode(message)] if isinstance(message, Response) else binary_form.encode(message)

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        """What was wrong, in the form that was spoken last."""
        if not self._is_json:
            return binary_form.encode(binary_error(BinaryCode.BROKEN_FRAME, str(error)))
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

    def _broken(self, error: BinaryError) -> str:
        if self._is_json:
            return str(error)
        return binary_form.broken_frame(error.found, size_max=self._size_max)

    def _decoded(self, payload: memoryview) -> Any:
        """A request, or what stands for a frame that is none."""
        if json_form.opens(payload):
            self._is_json = self._has_spoken_json = True
            try:
                return json_form.decode_request(payload)
            except InvalidRequest as error:
                return InvalidCall(error.message)
        if self._has_spoken_json and not binary_form.is_exactly_a_request(payload):
            self._is_json = True
            raise json_form.MalformedJson(
                f"the payload begins with byte {payload[0]:02x}; expected a JSON object, or exactly a binary request"
            )
        self._is_json = False
        try:
            return binary_form.decode_request(payload)[0]
        except BinaryError as error:
            return binary.Undecodable(binary_form.undecodable(error))

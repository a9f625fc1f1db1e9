"""One connection to a TANK broker: its ping first, then a frame out and a frame back."""

from itertools import count
from typing import Any

from onelog.binary.errors import BinaryError
from onelog.client.errors import BadAnswer, ClientError
from onelog.client.retry import Deadline
from onelog.client.stream import Stream
from onelog.model import Address
from onelog.protocols.tank.framing import HEADER_BYTES, Kind, read_header
from onelog.protocols.tank.messages.forms import RESPONSES, framed

# TANK's own bound.
FRAME_BYTES_MAX = 256 << 20


class Connection:
    """One owner at a time; its pool hands it on. A broker is there only when it has pinged."""

    def __init__(self, address: Address, deadline: Deadline) -> None:
        self._stream = Stream(address, deadline)
        self._numbers = count(1)
        try:
            kind, _ = self._frame("connecting", deadline)
            if kind != Kind.PING:
                raise self._bad(f"a frame of kind {kind:02x}; expected its ping", "connecting")
        except ClientError:
            self._stream.close()
            raise

    def is_stale(self) -> bool:
        """Whether it must not be used again."""
        return self._stream.is_stale()

    def close(self) -> None:
        """No more of it."""
        self._stream.close()

    def ask(self, request: Any, *, doing: str, deadline: Deadline) -> Any:
        """The answer to a request, which is given its number here."""
        request.request_id = next(self._numbers) & 0xFFFFFFFF
        try:
            buffers = framed(request)
        except BinaryError as error:
            raise ClientError(f"{doing}: {error}. Send less at once, or use another protocol.") from error
        expected = Kind(buffers[0][0])
        expected = Kind.PRODUCE if expected is Kind.PRODUCE_NUMBERED else expected
        self._stream.send(buffers, doing=doing, deadline=deadline)
        kind, payload = self._frame(doing, deadline)
        while kind == Kind.PING:  # older brokers say it again and again
            kind, payload = self._frame(doing, deadline)
        if kind != expected:
            raise self._bad(f"a frame of kind {kind:02x}; expected {expected:02x}", doing)
        try:
            answer = RESPONSES[kind](memoryview(payload))
        except BinaryError as error:
            raise self._bad(str(error), doing) from error
        if answer.request_id != request.request_id:
            raise self._bad(f"an answer to request {answer.request_id}, not {request.request_id}", doing)
        self._stream.answered()
        return answer

    def _frame(self, doing: str, deadline: Deadline) -> tuple[int, bytearray]:
        head = self._stream.receive(HEADER_BYTES, doing=doing, deadline=deadline)
        try:
            kind, size = read_header(head, size_max=FRAME_BYTES_MAX)
        except BinaryError as error:
            raise self._bad(str(error), doing) from error
        return kind, self._stream.receive(size, doing=doing, deadline=deadline)

    def _bad(self, found: str, doing: str) -> BadAnswer:
        return BadAnswer(f"{self._stream.address}: bad answer while {doing}: {found}. Is it a TANK broker?")

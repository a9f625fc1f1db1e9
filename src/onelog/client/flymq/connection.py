"""One connection to a FlyMQ broker: a frame out, a frame back, or many out and as many back."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from onelog.binary.compression import Codec, compress
from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.client.errors import BadAnswer, ClientError
from onelog.client.flymq.errors import FlyMQError
from onelog.client.retry import Deadline
from onelog.client.stream import Stream
from onelog.model import Address
from onelog.protocols.flymq.errors import error_text
from onelog.protocols.flymq.framing import (
    BINARY,
    GZIP,
    HEADER_BYTES,
    PAYLOAD_BYTES_MAX,
    Opcode,
    framed,
    read_header,
)
from onelog.protocols.flymq.messages.admin import Auth, Authenticated
from onelog.protocols.flymq.messages.forms import ANSWERS, decode_exactly
from onelog.protocols.flymq.messages.groups import ResetOffset
from onelog.protocols.flymq.messages.versions import DOCUMENT, PROGRAMS
from onelog.protocols.flymq.recordset import decode_fetched

Buffer = bytes | bytearray | memoryview


class Connection:
    """One owner at a time; its pool hands it on. Logged in from the start, if somebody is to be."""

    def __init__(self, address: Address, deadline: Deadline, *, login: Auth | None = None) -> None:
        self._stream = Stream(address, deadline)
        if login is not None:
            self._log_in(login, deadline)

    def is_stale(self) -> bool:
        """Whether it must not be used again."""
        return self._stream.is_stale()

    def close(self) -> None:
        """No more of it."""
        self._stream.close()

    def ask(self, opcode: Opcode, request: Any, *, doing: str, deadline: Deadline) -> Any:
        """The broker's answer; a FlyMQError for its ERROR, not raised: the connection is in step."""
        [answer] = self.ask_all(opcode, [request], doing=doing, deadline=deadline)
        return answer

    def ask_all(
        self,
        opcode: Opcode,
        requests: Sequence[Any],
        *,
        packed: bool = False,
        doing: str,
        deadline: Deadline,
    ) -> list[Any]:
        """All of them before the first answer is read, so there may not be many; errors among the answers."""
        out: list[Buffer] = []
        for request in requests:
            out += _frame(opcode, request, packed=packed, doing=doing)
        self._stream.send(out, doing=doing, deadline=deadline)
        answers = [self._answer(opcode, doing=doing, deadline=deadline) for _ in requests]
        self._stream.answered()
        return answers

    def _answer(self, opcode: Opcode, *, doing: str, deadline: Deadline) -> Any:
        try:
            header = read_header(self._stream.receive(HEADER_BYTES, doing=doing, deadline=deadline))
            payload = self._stream.receive(header.size, doing=doing, deadline=deadline)
            if header.opcode == Opcode.ERROR:
                return FlyMQError(error_text(payload, header.flags))
            expected = Opcode.AUTH_RESPONSE if opcode == Opcode.AUTH else opcode
            if header.opcode != expected:
                raise BinaryError("opcode", 2, f"{header.opcode:02x}", f"{expected:02x}")
            if opcode == Opcode.FETCH:
                return decode_fetched(payload, PROGRAMS)
            message, _ = decode_exactly(ANSWERS[expected], payload)
        except BinaryError as error:
            raise BadAnswer(
                f"{self._stream.address}: bad answer while {doing}: {error}. Is it a FlyMQ broker?"
            ) from error
        return message

    def _log_in(self, login: Auth, deadline: Deadline) -> None:
        with ExitStack() as undo:
            undo.callback(self.close)
            answer = self.ask(Opcode.AUTH, login, doing=f"logging in as {login.user!r}", deadline=deadline)
            if isinstance(answer, FlyMQError):
                raise answer
            assert isinstance(answer, Authenticated)
            if not answer.success:
                raise FlyMQError(answer.error or "authentication failed")
            undo.pop_all()


def _frame(opcode: Opcode, request: Any, *, packed: bool, doing: str) -> list[Buffer]:
    """The form that all brokers read: the programs'."""
    without_offset = isinstance(request, ResetOffset) and request.offset is None
    try:
        payload = codec(type(request), DOCUMENT if without_offset else PROGRAMS).encode(request)
    except ValueError as error:
        raise ClientError(f"{doing}: {error}.") from error
    flags = BINARY
    if packed:
        payload, flags = [compress(Codec.GZIP, b"".join(payload))], BINARY | GZIP
    size = sum(map(len, payload))
    if size > PAYLOAD_BYTES_MAX:
        raise ClientError(f"{doing}: the request has {size} bytes; a frame holds {PAYLOAD_BYTES_MAX}.")
    return framed(opcode, payload, flags=flags)

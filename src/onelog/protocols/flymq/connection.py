"""One FlyMQ connection: frames in, calls out; answers in the order of their calls.

Which form of a message a peer speaks is known here alone: requests come out of either form as
the same message, and its answer goes back in the form that fits. A peer that has sent what only
the programs send is answered as they expect also where a request does not tell.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from onelog.binary.compression import Codec, decompress
from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.protocols.contract import Buffer, Call, FrameLimits, InternalError, ProtocolError
from onelog.protocols.flymq.errors import Error, encode_error
from onelog.protocols.flymq.framing import (
    COMPRESSION_BITS,
    GZIP,
    HEADER_BYTES,
    PAYLOAD_BYTES_MAX,
    Header,
    Opcode,
    check_opening,
    framed,
    read_header,
)
from onelog.protocols.flymq.messages.forms import (
    ANSWERS,
    REQUESTS,
    THE_END,
    InvalidCall,
    UnservedCall,
    decode_exactly,
)
from onelog.protocols.flymq.messages.groups import GroupDescribed
from onelog.protocols.flymq.messages.versions import DOCUMENT, PROGRAMS
from onelog.protocols.flymq.recordset import FetchAnswer, encode_fetched
from onelog.protocols.receive import ReceiveBuffer

# The document's example of PRODUCE says 19 bytes and has 23: these four are left behind it.
STRAY_BYTE: Final = 0xFF
STRAY_BYTES: Final = 4

UTF_8: Final = "UTF-8"

_KNOWN: Final = frozenset(Opcode) - {Opcode.AUTH_RESPONSE, Opcode.ERROR}
_ANSWERED_WITH: Final = {Opcode.AUTH: Opcode.AUTH_RESPONSE}


class Tag:
    """What an answer needs of its request: the opcode, its own form, and the one that the peer reads."""

    __slots__ = ("asked_in", "form", "opcode")

    def __init__(self, opcode: int) -> None:
        self.opcode = opcode
        self.asked_in = self.form = PROGRAMS


class Packed:
    """A compressed request. What it is shows when its turn comes: those behind it wait as they came."""

    __slots__ = ("unpack",)

    def __init__(self, unpack: Callable[[], Any]) -> None:
        self.unpack = unpack


class FlyMQConnection:
    """Frames <-> calls."""

    def __init__(self, limits: FrameLimits, *, is_program: bool = False) -> None:
        self.replies_in_order = True
        self._size_max = min(PAYLOAD_BYTES_MAX, limits.frame_bytes_max)
        self._buffer = ReceiveBuffer()
        self._frame_bytes = 0  # of the frame at the front, once its length is known
        self._stray_bytes = 0  # that may stand before the next frame
        self._is_program = is_program
        self._farewell: str | None = ""

    def opening(self) -> Sequence[Buffer]:
        """FlyMQ's clients speak first."""
        return ()

    def lend(self, size_hint: int) -> memoryview:
        """Room for the frame at the front, or for whatever comes."""
        return self._buffer.lend(self._frame_bytes)

    def received(self, count: int) -> list[Call]:
        """The whole frames among what has come."""
        self._buffer.filled(count)
        calls: list[Call] = []
        try:
            while (frame := self._next_frame()) is not None:
                calls.append(self._call(*frame))
        except BinaryError as error:
            self._farewell = _last_words(error)
            raise ProtocolError(str(error), calls=calls) from error
        return calls

    def send(self, tag: Any, message: Any) -> Sequence[Buffer]:
        """One frame. An answer that no frame holds is an error that says so."""
        if isinstance(message, Error):
            return framed(Opcode.ERROR, [encode_error(message)])
        opcode = _ANSWERED_WITH.get(tag.opcode, tag.opcode)
        payload = _encoded(opcode, tag.form, message)
        size = sum(map(len, payload))
        if size > PAYLOAD_BYTES_MAX:
            text = f"message too large: the answer has {size} bytes, a frame holds {PAYLOAD_BYTES_MAX}"
            return framed(Opcode.ERROR, [encode_error(Error(text))])
        return framed(opcode, payload)

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        """What was wrong; nothing to a peer that does not speak FlyMQ at all."""
        text = f"internal error: {error}" if isinstance(error, InternalError) else self._farewell
        return () if text is None else framed(Opcode.ERROR, [encode_error(Error(text or str(error)))])

    def _next_frame(self) -> tuple[Header, memoryview] | None:
        if self._stray_bytes:
            self._skip_stray_bytes()
        waiting = self._buffer.waiting
        if waiting < HEADER_BYTES:
            self._frame_bytes = 0
            if waiting:
                check_opening(self._buffer.peek())
            return None
        header = read_header(self._buffer.peek(), size_max=self._size_max)
        self._frame_bytes = HEADER_BYTES + header.size
        if waiting < self._frame_bytes:
            return None
        return header, self._buffer.take(self._frame_bytes)[HEADER_BYTES:]

    def _skip_stray_bytes(self) -> None:
        while self._stray_bytes and self._buffer.waiting:
            if self._buffer.peek()[0] != STRAY_BYTE:
                self._stray_bytes = 0
                return
            self._buffer.take(1)
            self._stray_bytes -= 1

    def _call(self, header: Header, payload: memoryview) -> Call:
        tag = Tag(header.opcode)
        compression = header.flags & COMPRESSION_BITS
        if compression == GZIP:
            return Call(tag, Packed(partial(self._unpacked, tag, payload)))
        if compression:
            return Call(tag, InvalidCall(f"unsupported compression: flags {header.flags:02x}; gzip is 03"))
        request = self._decoded(tag, payload)
        if tag.opcode == Opcode.PRODUCE and tag.asked_in == DOCUMENT:
            self._stray_bytes = STRAY_BYTES
        return Call(tag, request)

    def _unpacked(self, tag: Tag, payload: memoryview) -> Any:
        try:
            plain = decompress(Codec.GZIP, payload, bytes_max=self._size_max)
        except BinaryError as error:
            return InvalidCall(f"invalid compressed payload: {error}")
        return self._decoded(tag, plain)

    def _decoded(self, tag: Tag, payload: Buffer) -> Any:
        """A request, or what stands for a frame that is none. The tag learns the form of the answer."""
        layouts = REQUESTS.get(tag.opcode)
        if layouts is None:
            if tag.opcode in _KNOWN:
                return UnservedCall(Opcode(tag.opcode))
            return InvalidCall(f"unknown opcode: {tag.opcode}")
        try:
            request, layout = decode_exactly(layouts, payload)
        except BinaryError as error:
            return InvalidCall(f"{_complaint(error)}: {error}")
        self._is_program = self._is_program or layout.only_programs
        tag.asked_in = layout.version
        if tag.opcode == Opcode.DESCRIBE_GROUP or (tag.opcode == Opcode.FETCH and not self._is_program):
            tag.form = layout.version
        return request


def _encoded(opcode: int, form: int, message: Any) -> list[Buffer]:
    if isinstance(message, FetchAnswer):
        return encode_fetched(message, form)
    layout = ANSWERS[opcode][0]
    assert type(message) is layout.cls
    version = form if layout.cls is GroupDescribed else layout.version
    return codec(layout.cls, version).encode(message)


def _complaint(error: BinaryError) -> str:
    """FlyMQ's own words for a payload that is no request."""
    return "invalid binary format" if error.expected in (UTF_8, THE_END) else "buffer too small"


def _last_words(error: BinaryError) -> str | None:
    match error.field:
        case "magic":
            return None
        case "version":
            return f"invalid protocol version: {error}"
        case _:
            return f"message too large: {error}"

"""One connection's bytes: frames to requests, answers to frames. Framing has the drawing.

Key and version are judged as soon as they have come. Answers carry the number of their request
and leave when they are there; the messages of a stream carry the number of the request that
opened it. Fluvio has no words for a frame that is wrong: the connection is closed.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.protocols.contract import Buffer, Call, FrameLimits, ProtocolError
from onelog.protocols.fluvio.framing import (
    FRAME_BYTES_MAX,
    LENGTH_BYTES,
    REQUEST_BYTES_MIN,
    answer_head,
    frame_length,
)
from onelog.protocols.fluvio.messages.form import Form
from onelog.protocols.fluvio.messages.header import RequestHeader
from onelog.protocols.fluvio.versions import Api
from onelog.protocols.receive import ReceiveBuffer

_KEY_VERSION = struct.Struct(">Hh")
_HEADER = codec(RequestHeader)


class Request:
    """A request as its handler gets it."""

    __slots__ = ("body", "client_id", "key", "version")

    def __init__(self, key: int, version: int, client_id: str, body: Any) -> None:
        self.key = key
        self.version = version
        self.client_id = client_id
        self.body = body


class Tag(NamedTuple):
    """What an answer needs to be said: whose it is, and in which form."""

    correlation_id: int
    form: Form
    version: int


class FluvioConnection:
    """Owned by the pump."""

    replies_in_order = False

    def __init__(self, limits: FrameLimits, apis: Mapping[int, Api]) -> None:
        self._frame_bytes_max = min(limits.frame_bytes_max, FRAME_BYTES_MAX)
        self._apis = apis
        self._buffer = ReceiveBuffer()
        self._frame_bytes = 0  # of the frame at the front, its length included; 0: not known yet
        self._is_judged = False

    def opening(self) -> Sequence[Buffer]:
        """Clients speak first."""
        return ()

    def lend(self, size_hint: int) -> memoryview:
        """Room behind what waits."""
        return self._buffer.lend(self._frame_bytes)

    def received(self, count: int) -> list[Call]:
        """The requests that are whole now."""
        self._buffer.filled(count)
        calls: list[Call] = []
        try:
            while self._frame_has_come():
                calls.append(self._call())
        except BinaryError as error:
            raise ProtocolError(str(error), calls=calls) from error
        except ProtocolError as error:
            error.calls = calls
            raise
        return calls

    def send(self, tag: Tag, message: Any) -> Sequence[Buffer]:
        """The answer in the version of its request; large parts of it are not copied."""
        body = tag.form.encode(message, tag.version)
        return [answer_head(tag.correlation_id, sum(map(len, body))), *body]

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        """Fluvio has no words for it."""
        return ()

    def _frame_has_come(self) -> bool:
        """Whether the frame at the front is whole; refuses it as soon as that can be said."""
        waiting = self._buffer.waiting
        if self._frame_bytes == 0:
            if waiting < LENGTH_BYTES:
                return False
            self._frame_bytes = LENGTH_BYTES + self._length()
            self._is_judged = False
        if not self._is_judged and waiting >= LENGTH_BYTES + _KEY_VERSION.size:
            self._api(*_KEY_VERSION.unpack_from(self._buffer.peek(), LENGTH_BYTES))
            self._is_judged = True
        return waiting >= self._frame_bytes

    def _length(self) -> int:
        length = frame_length(self._buffer.peek())
        if not REQUEST_BYTES_MIN <= length <= self._frame_bytes_max:
            raise ProtocolError(
                f"a frame of {length} bytes; expected {REQUEST_BYTES_MIN} to {self._frame_bytes_max}"
            )
        return length

    def _api(self, key: int, version: int) -> Api:
        api = self._apis.get(key)
        if api is None:
            raise ProtocolError(f"a request with the key {key}, which is not served at this port")
        if not api.serves(version):
            raise ProtocolError(f"{api.name} {version}; expected {api.version_min} to {api.version_max}")
        return api

    def _call(self) -> Call:
        frame = self._buffer.take(self._frame_bytes)
        self._frame_bytes = 0
        header, pos = _HEADER.decode(frame, LENGTH_BYTES)
        api = self._apis[header.key]
        # What stands behind the body counts for nothing, as in Fluvio.
        body, _ = api.request.decode(frame, pos, header.version)
        tag = Tag(header.correlation_id, api.response, header.version)
        return Call(tag, _kind(api)(header.key, header.version, header.client_id, body))


def _kind(api: Api) -> type[Request]:
    """The server counts requests by the names of their classes."""
    kind = _KINDS.get(api.name)
    if kind is None:
        kind = _KINDS[api.name] = type(f"{api.name}Request", (Request,), {"__slots__": ()})
    return kind


_KINDS: dict[str, type[Request]] = {}

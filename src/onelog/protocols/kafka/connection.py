"""One connection's bytes: frames to requests, answers to frames.

    frame     size i32 | header | body           size counts what comes after it
    request   key i16 | version i16 | correlation_id i32 | client_id | tags from flexible versions on
    answer    correlation_id i32 | tags from flexible versions on, but never for ApiVersions

Key and version are judged when they have come, before anything else of a frame is awaited.
What a request means, and in which order answers leave, is not known here.
"""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from onelog.binary.errors import BinaryError
from onelog.binary.message import MessageCodec, codec
from onelog.protocols.contract import Buffer, Call, FrameLimits, ProtocolError
from onelog.protocols.kafka.framing import FRAME_BYTES_MAX, LENGTH_BYTES, frame_size
from onelog.protocols.kafka.messages.header import RequestHeader
from onelog.protocols.kafka.versions import API_VERSIONS, APIS, Api
from onelog.protocols.receive import ReceiveBuffer

# Key, version, correlation id, and the length of a client id that may be null.
HEADER_BYTES_MIN = 10

_KEY_VERSION = struct.Struct(">hh")
_CORRELATION_ID = struct.Struct(">i")
_ANSWER = struct.Struct(">ii")
_ANSWER_WITH_TAGS = struct.Struct(">iiB")


class Request:
    """A request as its handler gets it. The body is None where its version is not known to us."""

    __slots__ = ("body", "client_id", "key", "version")

    def __init__(self, key: int, version: int, client_id: str, body: Any) -> None:
        self.key = key
        self.version = version
        self.client_id = client_id
        self.body = body


class Tag(NamedTuple):
    """What the answer needs to be said: whose it is, and in which form."""

    correlation_id: int
    codec: MessageCodec[Any]
    has_tags: bool


class _Form(NamedTuple):
    """One API in one version: how it is read and answered."""

    kind: type[Request]
    header: MessageCodec[RequestHeader]
    request: MessageCodec[Any]
    answer: MessageCodec[Any]
    has_tags: bool


class KafkaConnection:
    """Owned by the pump. Answers must be sent in the order of the requests."""

    replies_in_order = True

    def __init__(self, limits: FrameLimits) -> None:
        self._frame_bytes_max = min(limits.frame_bytes_max, FRAME_BYTES_MAX)
        self._buffer = ReceiveBuffer()
        self._frame_bytes = 0  # of the frame at the front, its size included; 0: not known yet
        self._form: _Form | None = None

    def opening(self) -> Sequence[Buffer]:
        """Kafka's clients speak first."""
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
        buffers = tag.codec.encode(message)
        size = sum(map(len, buffers)) + LENGTH_BYTES
        if tag.has_tags:
            return [_ANSWER_WITH_TAGS.pack(size + 1, tag.correlation_id, 0), *buffers]
        return [_ANSWER.pack(size, tag.correlation_id), *buffers]

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        """Kafka has no words for it: the connection is closed."""
        return ()

    def _frame_has_come(self) -> bool:
        """Whether the frame at the front is whole; refuses it as soon as that can be said."""
        waiting = self._buffer.waiting
        if self._frame_bytes == 0:
            size = frame_size(self._buffer.peek(), bytes_max=self._frame_bytes_max)
            if size == 0:
                return False
            if size < LENGTH_BYTES + HEADER_BYTES_MIN:
                raise ProtocolError(
                    f"a frame of {size - LENGTH_BYTES} bytes; expected at least {HEADER_BYTES_MIN}"
                )
            self._frame_bytes = size
        if self._form is None and waiting >= LENGTH_BYTES + _KEY_VERSION.size:
            key, version = _KEY_VERSION.unpack_from(self._buffer.peek(), LENGTH_BYTES)
            self._form = _form(key, version)
        return waiting >= self._frame_bytes

    def _call(self) -> Call:
        frame = self._buffer.take(self._frame_bytes)
        form = self._form
        assert form is not None
        self._frame_bytes, self._form = 0, None
        key, version = _KEY_VERSION.unpack_from(frame, LENGTH_BYTES)
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame, LENGTH_BYTES + _KEY_VERSION.size)
        tag = Tag(correlation_id, form.answer, form.has_tags)
        if version > APIS[key].version_max:
            return Call(tag, form.kind(key, version, "", None))
        header, pos = form.header.decode(frame, LENGTH_BYTES)
        # What stands behind the body counts for nothing, as in Kafka: some clients leave a byte there.
        body, _ = form.request.decode(frame, pos)
        return Call(tag, form.kind(key, version, header.client_id or "", body))


_FORMS: dict[tuple[int, int], _Form] = {}


def _form(key: int, version: int) -> _Form:
    form = _FORMS.get((key, version))
    if form is None:
        form = _made_form(key, version)
        # Versions of ApiVersions that do not exist share one entry, so that nobody can fill this.
        if version <= APIS[key].version_max:
            _FORMS[key, version] = form
    return form


def _made_form(key: int, version: int) -> _Form:
    api = APIS.get(key)
    if api is None:
        raise ProtocolError(f"a request with the key {key}, which is not served")
    is_served = api.serves(version)
    if not is_served and not (key == API_VERSIONS and version > api.version_max):
        raise ProtocolError(f"{api.name} {version}; expected {api.version_min} to {api.version_max}")
    # A client that is newer than we are learns our versions in the oldest form of the answer.
    spoken = version if is_served else 0
    return _Form(
        kind=_kind(api),
        header=codec(RequestHeader, api.request_header(spoken)),
        request=codec(api.request, spoken),
        answer=codec(api.response, spoken),
        has_tags=api.response_header(spoken) == 1,
    )


def _kind(api: Api) -> type[Request]:
    """The server counts requests by the names of their classes."""
    kind = _KINDS.get(api.key)
    if kind is None:
        kind = _KINDS[api.key] = type(f"{api.name}Request", (Request,), {"__slots__": ()})
    return kind


_KINDS: dict[int, type[Request]] = {}

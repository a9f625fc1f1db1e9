"""The JSON form of RustLog's messages: one object a frame, its kind in the member `type`.

Two things can be wrong with a request. Bytes that are no JSON object break the protocol
(MalformedJson, the connection ends); an object that is no request is answered
(InvalidRequest). Of members that stand there twice the last one counts, unknown ones are
ignored.
"""

from typing import Any, Final

import msgspec

from onelog.errors import InvalidRequest
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, HEADER_BYTES, framed
from onelog.protocols.rustlog.messages.json import REQUESTS, RESPONSES, U64_MAX, Error, Request, Response

Buffer = bytes | bytearray | memoryview

# `{`, or white space before it. A tab alone is the binary form's MetricsFetch.
OPENING_BYTES: Final = frozenset(b"{ \n\r\t")
BINARY_METRICS_FETCH: Final = 0x09

_REQUESTS: Final = msgspec.json.Decoder(REQUESTS)
_RESPONSES: Final = msgspec.json.Decoder(RESPONSES)
_ENCODER: Final = msgspec.json.Encoder()
_U64_FIELDS: Final = ("offset", "max_bytes")


class MalformedJson(ValueError):
    """A payload that is not one JSON object in UTF-8."""


def opens(payload: Buffer) -> bool:
    """Whether a payload is of this form, by its first byte."""
    first = payload[0]
    return first in OPENING_BYTES and not (first == BINARY_METRICS_FETCH and len(payload) == 1)


def decode_request(payload: Buffer) -> Request:
    """The request, or MalformedJson, or InvalidRequest."""
    request = _decoded(payload, _REQUESTS, REQUESTS)
    assert isinstance(request, Request)
    for name in _U64_FIELDS:
        if getattr(request, name, 0) > U64_MAX:
            raise InvalidRequest(f"{name} does not fit a u64")
    return request


def decode_response(payload: Buffer) -> Response:
    """The response, for clients; MalformedJson or InvalidRequest where it is none."""
    response = _decoded(payload, _RESPONSES, RESPONSES)
    assert isinstance(response, Response)
    return response


def encode(message: Request | Response) -> bytearray:
    """The message as a whole frame. Too long for one, a request is InvalidRequest, an answer an Error."""
    frame = bytearray(HEADER_BYTES)
    _ENCODER.encode_into(message, frame, HEADER_BYTES)
    size = len(frame) - HEADER_BYTES
    if size <= FRAME_BYTES_MAX:
        return framed(frame)
    if isinstance(message, Request):
        raise InvalidRequest(f"the request has {size} bytes; a frame holds {FRAME_BYTES_MAX}")
    return encode(Error(code=500, message=f"the answer has {size} bytes; a frame holds {FRAME_BYTES_MAX}"))


def record_size(offset: int, timestamp_us: int, payload_size: int) -> int:
    """What a record takes in a FetchResponse, its comma included."""
    digits = len(str(offset)) + len(str(timestamp_us))
    return _RECORD_BYTES + digits + (payload_size + 2) // 3 * 4


_RECORD_BYTES: Final = len('{"offset":,"timestamp":,"payload":""},')
# The offset behind all records has at most 20 digits.
FETCH_ROOM: Final = FRAME_BYTES_MAX - len('{"type":"FetchResponse","records":[],"next_offset":}') - 20


def _decoded(payload: Buffer, decoder: "msgspec.json.Decoder[Any]", kinds: Any) -> Any:
    try:
        # The decoder looks at the text it needs only; invalid UTF-8 anywhere ends the connection.
        str(payload, "utf-8")
        return decoder.decode(payload)
    except UnicodeDecodeError as error:
        raise MalformedJson(f"invalid UTF-8 at byte {error.start} of the payload") from error
    except msgspec.ValidationError:
        return _decoded_slowly(payload, kinds)
    except msgspec.DecodeError as error:
        raise MalformedJson(str(error)) from error
    except RecursionError as error:
        raise MalformedJson("JSON is nested too deeply") from error


def _decoded_slowly(payload: Buffer, kinds: Any) -> Any:
    """What the fast decoder disliked, judged again: it stops at the first member that it cannot take.

    Before that is said, the rest has to be JSON, and the member the last one of its name.
    """
    try:
        found = msgspec.json.decode(payload)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error)) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedJson(str(error)) from error
    if not isinstance(found, dict):
        raise MalformedJson("the payload is JSON, but not an object")
    try:
        return msgspec.convert(found, kinds)
    except msgspec.ValidationError as error:
        raise InvalidRequest(_told(str(error), found)) from error


def _told(complaint: str, found: dict[str, Any]) -> str:
    kind = found.get("type")
    if complaint.endswith("`$.type`") and isinstance(kind, str):
        return f"unknown request type {kind!r:.60}"
    return complaint

"""The binary form of RustLog's messages: a byte for the kind, and the fields of messages/binary.py.

Bytes behind the fields are ignored, as by the published broker, unless the caller asks for a
request that is told from JSON by parsing exactly.
"""

from collections.abc import Mapping
from typing import Any, Final

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.protocols.rustlog.errors import BinaryCode, binary_error
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX, header
from onelog.protocols.rustlog.messages import binary

Buffer = bytes | bytearray | memoryview

REQUESTS: Final[Mapping[int, type[Any]]] = {
    0x01: binary.Produce,
    0x02: binary.Fetch,
    0x03: binary.OffsetCommit,
    0x04: binary.OffsetFetch,
    0x05: binary.CreateTopic,
    0x06: binary.ListTopics,
    0x07: binary.DescribeTopic,
    0x08: binary.DescribePartition,
    0x09: binary.MetricsFetch,
    0xFF: binary.Ping,
}
RESPONSES: Final[Mapping[int, type[Any]]] = {
    0x01: binary.Produced,
    0x02: binary.Fetched,
    0x03: binary.Committed,
    0x04: binary.Position,
    0x05: binary.Created,
    0x06: binary.TopicList,
    0x07: binary.TopicDescribed,
    0x08: binary.PartitionDescribed,
    0x09: binary.MetricsText,
    0xFE: binary.Error,
    0xFF: binary.Pong,
}
_KINDS: Final = {cls: kind for kinds in (REQUESTS, RESPONSES) for kind, cls in kinds.items()}

KIND_BYTES: Final = 1
# What a Fetched holds beside its records: its kind, their count, and the offset behind them.
FETCH_ROOM: Final = FRAME_BYTES_MAX - KIND_BYTES - 4 - 8


class UnknownKind(BinaryError):
    """A first byte that no message has."""


def decode_request(payload: Buffer) -> tuple[Any, int]:
    """The request and where it ends, or BinaryError."""
    return _decoded(payload, REQUESTS)


def decode_response(payload: Buffer) -> Any:
    """The answer, for clients."""
    return _decoded(payload, RESPONSES)[0]


def is_exactly_a_request(payload: Buffer) -> bool:
    """Whether all of the payload is one request: what a JSON text never is by chance."""
    try:
        return decode_request(payload)[1] == len(payload)
    except BinaryError:
        return False


def encode(message: Any) -> list[Buffer]:
    """The message as a whole frame, large records as they are. An answer too long for one is an Error."""
    kind = _KINDS[type(message)]
    fields = codec(type(message)).encode(message)
    size = KIND_BYTES + sum(map(len, fields))
    if size > FRAME_BYTES_MAX:
        if type(message) in REQUESTS.values():
            raise BinaryError("frame length", 0, str(size), f"at most {FRAME_BYTES_MAX}")
        return encode(
            binary_error(BinaryCode.STORAGE, f"the answer has {size} bytes; a frame holds {FRAME_BYTES_MAX}")
        )
    return [header(size) + bytes((kind,)), *fields]


def broken_frame(found: str, *, size_max: int = FRAME_BYTES_MAX) -> str:
    """What the published broker says of a length that no frame has."""
    if found == "0":
        return "Frame error: invalid protocol: zero-length frame"
    return f"Frame error: frame too large: {found} bytes (max: {size_max})"


def undecodable(wrong: BinaryError) -> str:
    """What is wrong with a payload. The words before the colon are the published broker's."""
    if isinstance(wrong, UnknownKind):
        return f"Decode error: unknown request type: {wrong.found}"
    return f"Decode error: {wrong}"


def record_size(offset: int, timestamp_us: int, payload_size: int) -> int:
    """What a record takes in a Fetched: neither offset nor timestamp is told."""
    return 4 + payload_size


def _decoded(payload: Buffer, kinds: Mapping[int, type[Any]]) -> tuple[Any, int]:
    kind = payload[0]
    cls = kinds.get(kind)
    if cls is None:
        raise UnknownKind("type", 0, str(kind), "one that is known")
    found: tuple[Any, int] = codec(cls).decode(payload, KIND_BYTES)
    return found

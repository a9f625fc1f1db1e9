"""FlyMQ's ERROR frame, in bytes that every client reads, and the product's refusals in its words.

The document says bool and text, the programs a code and text, and each takes the other for
nonsense. One layout is both (n is the length of the text in bytes):

    0    1            3    4        6
    +----+------------+----+--------+------+
    | 00 | u16  n + 3 | 20 | u16  n | text |
    +----+------------+----+--------+------+
      |    `----- the document: false, and a text of n + 3 bytes that begins with a blank
      `---- the programs: an i32 code that means nothing, and a text of n bytes

The low byte of n stands in the document's text, which is UTF-8 only if it is below 80: a text whose
length ends otherwise gets blanks behind it, up to the next multiple of 256.

There are no codes to tell errors apart by; programs look for words. CODES keeps those, and is
total (a test).
"""

import re
from collections.abc import Mapping
from struct import Struct
from typing import Any, Final

from onelog.errors import ErrorCode, OnelogError
from onelog.protocols.flymq.framing import BINARY
from onelog.protocols.flymq.names import shown

Buffer = bytes | bytearray | memoryview

# Longer texts help nobody, and a peer's own words come back in them.
TEXT_BYTES_MAX: Final = 1000

END_OF_PARTITION: Final = "EOF"
UNKNOWN_GROUP: Final = "consumer group not found: {topic}:{group}"
OUT_OF_RANGE: Final = "partition {partition} out of range"

CODES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_TOPIC: "topic not found: {e.topic}",
    ErrorCode.UNKNOWN_TOPIC_ID: "topic not found: {e.topic_id}",
    ErrorCode.UNKNOWN_PARTITION: "partition {e.partition} not found",
    ErrorCode.TOPIC_EXISTS: "topic already exists: {e.topic}",
    ErrorCode.INVALID_NAME: "invalid topic name: {e.message}",
    ErrorCode.INVALID_PARTITIONS: "invalid partition count: {e.message}",
    ErrorCode.INVALID_CONFIG: "invalid configuration: {e.message}",
    ErrorCode.INVALID_REQUEST: "{e.message}",
    ErrorCode.OFFSET_OUT_OF_RANGE: "offset out of range: {e.message}",
    ErrorCode.RECORD_TOO_LARGE: "message too large: {e.message}",
    ErrorCode.CORRUPT_BATCH: "corrupt message: {e.message}",
    ErrorCode.INVALID_RECORD: "invalid message: {e.message}",
    ErrorCode.INVALID_TIMESTAMP: "invalid timestamp: {e.message}",
    ErrorCode.OUT_OF_ORDER_SEQUENCE: "{e.message}",
    ErrorCode.STALE_PRODUCER_EPOCH: "{e.message}",
    ErrorCode.UNKNOWN_MEMBER: "group has members that commit for it: {e.message}",
    ErrorCode.STALE_GENERATION: "group has members that commit for it: {e.message}",
    ErrorCode.REBALANCE_IN_PROGRESS: "group has members that commit for it: {e.message}",
    ErrorCode.FENCED_INSTANCE: "{e.message}",
    ErrorCode.FENCED_MEMBER_EPOCH: "{e.message}",
    ErrorCode.GROUP_NOT_EMPTY: "group has members that commit for it: {e.message}",
    ErrorCode.UNKNOWN_GROUP: "consumer group not found: {e.group}",
    ErrorCode.INVALID_GROUP: "{e.message}",
    ErrorCode.INVALID_SESSION_TIMEOUT: "{e.message}",
    ErrorCode.INCONSISTENT_PROTOCOL: "{e.message}",
    ErrorCode.MEMBER_ID_REQUIRED: "{e.message}",
    ErrorCode.GROUP_FULL: "{e.message}",
    ErrorCode.GROUP_SUBSCRIBED: "group has members that commit for it: {e.message}",
    ErrorCode.NOTE_TOO_LARGE: "{e.message}",
    ErrorCode.STALE_LEADER_EPOCH: "{e.message}",
    ErrorCode.UNKNOWN_LEADER_EPOCH: "{e.message}",
    ErrorCode.DISK_FULL: "disk full: {e.message}",
    ErrorCode.DISK_FAILED: "disk failed: {e.message}",
    ErrorCode.PARTITION_CLOSED: "partition closed: {e.message}",
    ErrorCode.NOT_AUTHORIZED: "unauthorized: {e.message}",
    ErrorCode.THROTTLED: "throttled: {e.message}",
    ErrorCode.TIMED_OUT: "timed out: {e.message}",
    ErrorCode.UNSUPPORTED: "{e.message}",
}

_FRONT: Final = Struct(">BHBH")
_CODED: Final = Struct(">iH")
_BLANK: Final = 0x20
# Programs take these words for the news that another broker has to be asked.
_NOT_LEADER: Final = re.compile("not leader", re.IGNORECASE)


class Error:
    """An ERROR frame to be: its text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def refusal(error: OnelogError) -> Error:
    """What the product refused; topics under the names that FlyMQ sees."""
    facts: dict[str, Any] = error.facts()
    for name in ("topic", "name"):
        if name in facts:
            facts[name] = shown(facts[name])
    return Error(CODES[error.code].format(e=type(error)(**facts)))


def encode_error(error: Error) -> bytes:
    """The payload of its frame."""
    text = _NOT_LEADER.sub("not the leader", error.text).encode()
    if len(text) > TEXT_BYTES_MAX:
        text = text[:TEXT_BYTES_MAX].decode(errors="ignore").encode()
    if len(text) & 0x80:
        text = text.ljust((len(text) | 0xFF) + 1)
    return _FRONT.pack(0, len(text) + 3, _BLANK, len(text)) + text


def error_text(payload: Buffer, flags: int) -> str:
    """What an ERROR says, for clients: a code and a text, or the document's form, or a bare text."""
    raw = bytes(payload)
    if flags & BINARY:
        if len(raw) >= _CODED.size and _CODED.unpack_from(raw)[1] == len(raw) - _CODED.size:
            return raw[_CODED.size :].decode(errors="replace").rstrip(" ")
        if raw[:1] == b"\0" and int.from_bytes(raw[1:3], "big") == len(raw) - 3:
            return raw[3:].decode(errors="replace")
    return raw.decode(errors="replace")

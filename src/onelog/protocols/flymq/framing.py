"""FlyMQ's frame, in both directions.

0       1         2        3       4        8
+-------+---------+--------+-------+--------+---------+
| magic | version | opcode | flags | length | payload |
+-------+---------+--------+-------+--------+---------+
 AF      01        u8       u8      u32 BE   0 to 33 554 432 bytes

One request has exactly one answer, and answers come in order. Of the flags 01 says binary,
which everything is; bits 1 to 3 say how the payload is compressed.
"""

from collections.abc import Sequence
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from onelog.binary.errors import BinaryError

Buffer = bytes | bytearray | memoryview

MAGIC: Final = 0xAF
VERSION: Final = 0x01
HEADER_BYTES: Final = 8
PAYLOAD_BYTES_MAX: Final = 33_554_432
BINARY: Final = 0x01
COMPRESSION_BITS: Final = 0x0E
GZIP: Final = 0x02

_HEADER: Final = Struct(">BBBBI")


class Opcode(IntEnum):
    """What a frame asks for, under the document's names. The last five are the programs' alone."""

    PRODUCE = 0x01
    CONSUME = 0x02
    CREATE_TOPIC = 0x03
    METADATA = 0x04
    SUBSCRIBE = 0x05
    COMMIT = 0x06
    FETCH = 0x07
    LIST_TOPICS = 0x08
    DELETE_TOPIC = 0x09
    CONSUME_ZERO_COPY = 0x0A
    FETCH_BINARY = 0x0B
    REGISTER_SCHEMA = 0x10
    GET_SCHEMA = 0x11
    LIST_SCHEMAS = 0x12
    VALIDATE_SCHEMA = 0x13
    PRODUCE_WITH_SCHEMA = 0x14
    DELETE_SCHEMA = 0x15
    FETCH_DLQ = 0x20
    REPLAY_DLQ = 0x21
    PURGE_DLQ = 0x22
    PRODUCE_DELAYED = 0x30
    CANCEL_DELAYED = 0x31
    PRODUCE_WITH_TTL = 0x35
    TXN_BEGIN = 0x40
    TXN_COMMIT = 0x41
    TXN_ROLLBACK = 0x42
    TXN_PRODUCE = 0x43
    CLUSTER_JOIN = 0x50
    CLUSTER_LEAVE = 0x51
    CLUSTER_STATUS = 0x52
    GET_OFFSET = 0x60
    RESET_OFFSET = 0x61
    LIST_GROUPS = 0x62
    DESCRIBE_GROUP = 0x63
    GET_LAG = 0x64
    DELETE_GROUP = 0x65
    SEEK_TO_TIMESTAMP = 0x66
    AUTH = 0x70
    AUTH_RESPONSE = 0x71
    WHOAMI = 0x72
    USER_CREATE = 0x73
    USER_DELETE = 0x74
    USER_UPDATE = 0x75
    USER_LIST = 0x76
    USER_GET = 0x77
    ACL_SET = 0x78
    ACL_GET = 0x79
    ACL_DELETE = 0x7A
    ACL_LIST = 0x7B
    PASSWORD_CHANGE = 0x7C
    ROLE_LIST = 0x7D
    ERROR = 0xFF
    CLUSTER_METADATA = 0x53
    AUDIT_QUERY = 0x80
    AUDIT_EXPORT = 0x81
    JAVA_AUDIT_QUERY = 0xA0
    JAVA_AUDIT_EXPORT = 0xA1


class Header(NamedTuple):
    """What stands before a payload."""

    opcode: int
    flags: int
    size: int


def check_opening(start: Buffer) -> None:
    """The first one or two bytes of a frame; BinaryError if no frame begins like this."""
    if start[0] != MAGIC:
        raise BinaryError("magic", 0, f"{start[0]:02x}", f"{MAGIC:02x}")
    if len(start) > 1 and start[1] != VERSION:
        raise BinaryError("version", 1, f"{start[1]:02x}", f"{VERSION:02x}")


def read_header(start: Buffer, *, size_max: int = PAYLOAD_BYTES_MAX) -> Header:
    """The header at the front; BinaryError if no frame has it."""
    check_opening(start)
    _, _, opcode, flags, size = _HEADER.unpack_from(start)
    if size > size_max:
        raise BinaryError("length", 4, str(size), f"at most {size_max}")
    return Header(opcode, flags, size)


def framed(opcode: int, payload: Sequence[Buffer], *, flags: int = BINARY) -> list[Buffer]:
    """A payload, in pieces, as one frame. Never compressed: no client inflates an answer."""
    return [_HEADER.pack(MAGIC, VERSION, opcode, flags, sum(map(len, payload))), *payload]

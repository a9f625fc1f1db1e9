"""TANK's codes, and how the product's refusals are spelled in them.

Each request has codes of its own, and its clients stop at any other: the C++ library aborts
the whole program. So there is a map for each, and all of them are total; a test holds them so.
CODES is that of producing.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from onelog.errors import ErrorCode, OnelogError
from onelog.protocols.tank.messages.fetch import Outcome


class Code(IntEnum):
    """What becomes of one bundle. UNKNOWN_TOPIC and READ_ONLY stand once for all of their topic."""

    STORED = 0x00
    UNKNOWN_PARTITION = 0x01
    SYSTEM_ERROR = 0x02
    NOT_ACKNOWLEDGED = 0x03
    TOO_FEW_REPLICAS = 0x04
    INVALID = 0x0A
    OTHER_LEADER = 0xFC
    NO_LEADER = 0xFD
    READ_ONLY = 0xFE
    UNKNOWN_TOPIC = 0xFF


class CreateCode(IntEnum):
    """What becomes of a CreateTopic."""

    CREATED = 0
    EXISTS = 1
    SYSTEM_ERROR = 2
    INVALID_CONFIG = 4
    READ_ONLY = 5
    INVALID = 10
    UNSUPPORTED = 11


class ReloadCode(IntEnum):
    """What becomes of a ReloadConfig."""

    RELOADED = 0
    UNKNOWN_TOPIC = 1
    NO_CONFIG = 2
    INVALID_CONFIG = 3
    UNKNOWN_PARTITION = 10
    CLUSTER = 12


# Before code 10 there was the document, which says 2 where a request is wrong.
INVALID_SINCE: Final = 1

_PEERS_FAULT: Final = frozenset(
    (
        ErrorCode.INVALID_NAME,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.RECORD_TOO_LARGE,
        ErrorCode.CORRUPT_BATCH,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.OUT_OF_ORDER_SEQUENCE,
        ErrorCode.STALE_PRODUCER_EPOCH,
        ErrorCode.UNSUPPORTED,
    )
)
CODES: Final[Mapping[ErrorCode, Code]] = {
    **{code: Code.INVALID if code in _PEERS_FAULT else Code.SYSTEM_ERROR for code in ErrorCode},
    ErrorCode.UNKNOWN_TOPIC: Code.UNKNOWN_TOPIC,
    ErrorCode.UNKNOWN_TOPIC_ID: Code.UNKNOWN_TOPIC,
    ErrorCode.UNKNOWN_PARTITION: Code.UNKNOWN_PARTITION,
    ErrorCode.NOT_AUTHORIZED: Code.READ_ONLY,
}
FETCH_CODES: Final[Mapping[ErrorCode, Outcome]] = {
    **dict.fromkeys(ErrorCode, Outcome.SYSTEM_ERROR),
    ErrorCode.UNKNOWN_PARTITION: Outcome.UNKNOWN_PARTITION,
    ErrorCode.OFFSET_OUT_OF_RANGE: Outcome.OUT_OF_RANGE,
}
CREATE_CODES: Final[Mapping[ErrorCode, CreateCode]] = {
    **{code: CreateCode.INVALID if code in _PEERS_FAULT else CreateCode.SYSTEM_ERROR for code in ErrorCode},
    ErrorCode.TOPIC_EXISTS: CreateCode.EXISTS,
    ErrorCode.INVALID_CONFIG: CreateCode.INVALID_CONFIG,
    ErrorCode.UNSUPPORTED: CreateCode.UNSUPPORTED,
    ErrorCode.NOT_AUTHORIZED: CreateCode.READ_ONLY,
}


def produce_code(error: BaseException, *, version: int) -> Code:
    """The code of a refused bundle, for a client of this version."""
    code = CODES[error.code] if isinstance(error, OnelogError) else Code.SYSTEM_ERROR
    return Code.SYSTEM_ERROR if code is Code.INVALID and version < INVALID_SINCE else code


def create_code(error: OnelogError) -> CreateCode:
    """The code of a topic that was not made."""
    return CREATE_CODES[error.code]

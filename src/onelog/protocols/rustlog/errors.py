"""RustLog's error codes, and how the product's refusals are spelled in them.

The map from ErrorCode is total; a test holds it so. Details are facts that a program can
use: where reading may go on, what there is instead.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from onelog.errors import (
    ErrorCode,
    OffsetOutOfRange,
    OnelogError,
    RecordTooLarge,
    TopicExists,
    UnknownPartition,
    UnknownTopic,
)
from onelog.protocols.rustlog.messages import Error

# A broker with more topics than this has better ways to list them than a refusal.
AVAILABLE_TOPICS_MAX: Final = 1000


class Code(IntEnum):
    """What an Error says: 4xx, mend the request; 5xx, try again later."""

    INVALID_REQUEST = 400
    TOPIC_NOT_FOUND = 404
    PARTITION_NOT_FOUND = 405
    RECORD_TOO_LARGE = 413
    OFFSET_OUT_OF_RANGE = 416
    INTERNAL_SERVER_ERROR = 500
    STORAGE_ERROR = 503
    INSUFFICIENT_SPACE = 507


CODES: Final[Mapping[ErrorCode, Code]] = {
    ErrorCode.UNKNOWN_TOPIC: Code.TOPIC_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_ID: Code.TOPIC_NOT_FOUND,
    ErrorCode.UNKNOWN_PARTITION: Code.PARTITION_NOT_FOUND,
    ErrorCode.TOPIC_EXISTS: Code.INVALID_REQUEST,
    ErrorCode.INVALID_NAME: Code.INVALID_REQUEST,
    ErrorCode.INVALID_PARTITIONS: Code.INVALID_REQUEST,
    ErrorCode.INVALID_CONFIG: Code.INVALID_REQUEST,
    ErrorCode.INVALID_REQUEST: Code.INVALID_REQUEST,
    ErrorCode.OFFSET_OUT_OF_RANGE: Code.OFFSET_OUT_OF_RANGE,
    ErrorCode.RECORD_TOO_LARGE: Code.RECORD_TOO_LARGE,
    ErrorCode.CORRUPT_BATCH: Code.STORAGE_ERROR,
    ErrorCode.INVALID_RECORD: Code.INVALID_REQUEST,
    ErrorCode.INVALID_TIMESTAMP: Code.INVALID_REQUEST,
    ErrorCode.OUT_OF_ORDER_SEQUENCE: Code.INVALID_REQUEST,
    ErrorCode.STALE_PRODUCER_EPOCH: Code.INVALID_REQUEST,
    ErrorCode.UNKNOWN_MEMBER: Code.INVALID_REQUEST,
    ErrorCode.STALE_GENERATION: Code.INVALID_REQUEST,
    ErrorCode.REBALANCE_IN_PROGRESS: Code.INVALID_REQUEST,
    ErrorCode.FENCED_INSTANCE: Code.INVALID_REQUEST,
    ErrorCode.FENCED_MEMBER_EPOCH: Code.INVALID_REQUEST,
    ErrorCode.GROUP_NOT_EMPTY: Code.INVALID_REQUEST,
    ErrorCode.UNKNOWN_GROUP: Code.INVALID_REQUEST,
    ErrorCode.INVALID_GROUP: Code.INVALID_REQUEST,
    ErrorCode.INVALID_SESSION_TIMEOUT: Code.INVALID_REQUEST,
    ErrorCode.INCONSISTENT_PROTOCOL: Code.INVALID_REQUEST,
    ErrorCode.MEMBER_ID_REQUIRED: Code.INVALID_REQUEST,
    ErrorCode.GROUP_FULL: Code.INVALID_REQUEST,
    ErrorCode.GROUP_SUBSCRIBED: Code.INVALID_REQUEST,
    ErrorCode.NOTE_TOO_LARGE: Code.INVALID_REQUEST,
    ErrorCode.STALE_LEADER_EPOCH: Code.INTERNAL_SERVER_ERROR,
    ErrorCode.UNKNOWN_LEADER_EPOCH: Code.INTERNAL_SERVER_ERROR,
    ErrorCode.DISK_FULL: Code.INSUFFICIENT_SPACE,
    ErrorCode.DISK_FAILED: Code.STORAGE_ERROR,
    ErrorCode.PARTITION_CLOSED: Code.STORAGE_ERROR,
    ErrorCode.NOT_AUTHORIZED: Code.INVALID_REQUEST,
    ErrorCode.THROTTLED: Code.STORAGE_ERROR,
    ErrorCode.TIMED_OUT: Code.STORAGE_ERROR,
    ErrorCode.UNSUPPORTED: Code.INVALID_REQUEST,
}


def refusal(error: OnelogError, *, topics: Sequence[str] = ()) -> Error:
    """An Error that says what the product refused. topics: those that there are."""
    return Error(code=CODES[error.code], message=error.message, details=_details(error, topics))


def oversized(*, offset: int, size: int, size_max: int) -> Error:
    """A record is there, but no answer can hold it; where to go on is in the details."""
    return Error(
        code=Code.RECORD_TOO_LARGE,
        message=f"the record at offset {offset} has {size} bytes and does not fit a frame; "
        f"go on at {offset + 1}, or read it through another protocol",
        details={"offset": offset, "next_offset": offset + 1, "size": size, "frame_bytes_max": size_max},
    )


def _details(error: OnelogError, topics: Sequence[str]) -> dict[str, Any] | None:
    match error:
        case UnknownTopic():
            return {"available_topics": list(topics[:AVAILABLE_TOPICS_MAX])}
        case UnknownPartition() | TopicExists():
            return {"partition_count": error.partition_count}
        case OffsetOutOfRange():
            return {
                "valid_range": {"start": error.start, "end": error.end},
                "high_watermark": error.end,
            }
        case RecordTooLarge():
            return {"size": error.size, "size_max": error.size_max}
        case _:
            return None

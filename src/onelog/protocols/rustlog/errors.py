"""RustLog's error codes, and how the product's refusals are spelled in them.

The forms have codes of their own. Both maps from ErrorCode are total; a test holds them so. In
JSON, details are facts that a program can use: where reading may go on, what there is instead.
The binary form has a text for people, with the words of the published broker.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from onelog.errors import (
    ErrorCode,
    InvalidPartitions,
    OffsetOutOfRange,
    OnelogError,
    RecordTooLarge,
    TopicExists,
    UnknownPartition,
    UnknownTopic,
)
from onelog.protocols.rustlog.messages import binary
from onelog.protocols.rustlog.messages.json import Error

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


class BinaryCode(IntEnum):
    """What an Error of the binary form says."""

    BROKEN_FRAME = 1
    INVALID = 2
    FETCH_FAILED = 4
    COMMIT_FAILED = 5
    UNKNOWN_PARTITION = 10
    TOPIC_EXISTS = 11
    INVALID_PARTITION_COUNT = 12
    TOPIC_NOT_DESCRIBED = 13
    PARTITION_NOT_DESCRIBED = 14
    STORAGE = 500


_OURS: Final = frozenset((Code.INTERNAL_SERVER_ERROR, Code.STORAGE_ERROR, Code.INSUFFICIENT_SPACE))
BINARY_CODES: Final[Mapping[ErrorCode, BinaryCode]] = {
    **{error: BinaryCode.STORAGE if code in _OURS else BinaryCode.INVALID for error, code in CODES.items()},
    ErrorCode.UNKNOWN_TOPIC: BinaryCode.UNKNOWN_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID: BinaryCode.UNKNOWN_PARTITION,
    ErrorCode.UNKNOWN_PARTITION: BinaryCode.UNKNOWN_PARTITION,
    ErrorCode.TOPIC_EXISTS: BinaryCode.TOPIC_EXISTS,
    ErrorCode.INVALID_PARTITIONS: BinaryCode.INVALID_PARTITION_COUNT,
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


def binary_refusal(request: Any, error: OnelogError) -> binary.Error:
    """An Error of the binary form: its code depends on what was asked."""
    match request, error:
        case binary.OffsetCommit(), _:
            return binary_error(BinaryCode.COMMIT_FAILED, f"Offset commit failed: {error.message}")
        case binary.Produce() | binary.Fetch(), UnknownTopic() | UnknownPartition():
            where = f"topic={request.topic}, partition={request.partition}"
            text = f"Topic or partition does not exist: {where}"
            return binary_error(BinaryCode.UNKNOWN_PARTITION, text)
        case binary.Fetch(), _:
            return binary_error(BinaryCode.FETCH_FAILED, f"Fetch failed: {error.message}")
        case binary.DescribeTopic(), UnknownTopic():
            text = f"DescribeTopic failed: Topic '{request.topic}' not found"
            return binary_error(BinaryCode.TOPIC_NOT_DESCRIBED, text)
        case binary.DescribePartition(), UnknownTopic() | UnknownPartition():
            text = f"Partition {request.partition} not found in topic '{request.topic}'"
            return binary_error(BinaryCode.PARTITION_NOT_DESCRIBED, f"DescribePartition failed: {text}")
        case _, TopicExists():
            return binary_error(BinaryCode.TOPIC_EXISTS, f"Topic '{error.topic}' already exists")
        case _, InvalidPartitions():
            text = f"Invalid partition count: {error.found}"
            return binary_error(BinaryCode.INVALID_PARTITION_COUNT, text)
        case _:
            return binary_error(BINARY_CODES[error.code], error.message)


def binary_oversized(*, offset: int, size: int) -> binary.Error:
    """The same of the binary form."""
    text = f"the record at offset {offset} has {size} bytes and does not fit a frame; go on at {offset + 1}"
    return binary_error(BinaryCode.FETCH_FAILED, f"Fetch failed: {text}")


def binary_error(code: BinaryCode, text: str) -> binary.Error:
    """An Error, its text cut between characters to what its length can say."""
    said = text.encode()
    if len(said) > binary.TEXT_BYTES_MAX:
        text = said[: binary.TEXT_BYTES_MAX].decode(errors="ignore")
    return binary.Error(code=code, message=text)


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

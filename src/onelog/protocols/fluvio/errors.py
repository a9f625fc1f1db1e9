"""How the product's refusals are spelled in Fluvio's codes. The map is total; a test holds it so.

Some codes carry facts behind them, which fault_of() adds. Where a request has words of its own
for a refusal (a partition that is not there, to a produce and to a fetch), its handler says so.
"""

from collections.abc import Mapping
from typing import Final

from onelog.errors import ErrorCode, OnelogError, TimedOut
from onelog.protocols.fluvio.messages.error import Code, Fault, Other, RequestTimedOut

# Texts are read with a signed length, and an error need not be longer than a page.
TEXT_CHARS_MAX: Final = 4000

CODES: Final[Mapping[ErrorCode, Code]] = {
    **dict.fromkeys(ErrorCode, Code.OTHER),
    ErrorCode.UNKNOWN_TOPIC: Code.TOPIC_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_ID: Code.TOPIC_NOT_FOUND,
    ErrorCode.UNKNOWN_PARTITION: Code.NOT_LEADER_FOR_PARTITION,
    ErrorCode.TOPIC_EXISTS: Code.TOPIC_ALREADY_EXISTS,
    ErrorCode.INVALID_NAME: Code.TOPIC_INVALID_NAME,
    ErrorCode.INVALID_PARTITIONS: Code.TOPIC_ERROR,
    ErrorCode.INVALID_CONFIG: Code.TOPIC_INVALID_CONFIGURATION,
    ErrorCode.OFFSET_OUT_OF_RANGE: Code.OFFSET_OUT_OF_RANGE,
    ErrorCode.RECORD_TOO_LARGE: Code.MESSAGE_TOO_LARGE,
    ErrorCode.DISK_FULL: Code.STORAGE_ERROR,
    ErrorCode.DISK_FAILED: Code.STORAGE_ERROR,
    ErrorCode.PARTITION_CLOSED: Code.STORAGE_ERROR,
    ErrorCode.NOT_AUTHORIZED: Code.PERMISSION_DENIED,
    ErrorCode.TIMED_OUT: Code.REQUEST_TIMED_OUT,
}


class FluvioRefusal(Exception):
    """What is refused for a reason that only Fluvio has a word for."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


def fault_of(error: BaseException) -> Fault:
    """A refusal as an answer says it. Anything that is not one is our fault, and is raised on."""
    if isinstance(error, FluvioRefusal):
        return error.fault
    if not isinstance(error, OnelogError):
        raise error
    if isinstance(error, TimedOut):
        return RequestTimedOut(timeout_ms=max(error.timeout_ms, 0))
    code = CODES[error.code]
    return other(str(error)) if code is Code.OTHER else code


def other(text: str) -> Other:
    """What there is no code for, in words."""
    return Other(text=text[:TEXT_CHARS_MAX])

"""Fluvio's error codes, and what some of them carry.

A code is 16 bits; what it carries stands right behind it, before the next field of the answer.
A client that does not know a code cannot read on, so ours are all of these.
"""

from enum import IntEnum
from typing import Any, Final, Unpack

from onelog.binary.fields import Versions, choice16, i64, option, text16, u8, u32, u64
from onelog.binary.message import message


class Code(IntEnum):
    """All of them, as Fluvio numbers them."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    OTHER = 2
    NOT_LEADER_FOR_PARTITION = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    PERMISSION_DENIED = 13
    STORAGE_ERROR = 56
    INVALID_CREATE_REQUEST = 60
    INVALID_DELETE_REQUEST = 61
    OFFSET_EVICTED = 71
    PARTITION_FULL = 72
    PARTITION_SHORT_CIRCUITED = 73
    SPU_ERROR = 1000
    SPU_REGISTRATION_FAILED = 1001
    SPU_OFFLINE = 1002
    SPU_NOT_FOUND = 1003
    SPU_ALREADY_EXISTS = 1004
    TOPIC_ERROR = 2000
    TOPIC_NOT_FOUND = 2001
    TOPIC_ALREADY_EXISTS = 2002
    TOPIC_PENDING_INITIALIZATION = 2003
    TOPIC_INVALID_CONFIGURATION = 2004
    TOPIC_NOT_PROVISIONED = 2005
    TOPIC_INVALID_NAME = 2006
    TOPIC_DELETED = 2007
    TOPIC_INVALID_REPLICA_TYPE = 2008
    PARTITION_PENDING_INITIALIZATION = 3000
    PARTITION_NOT_LEADER = 3001
    FETCH_SESSION_NOT_FOUND = 3002
    OFFSET_FLUSH_REQUEST_ERROR = 3003
    OFFSET_MANAGEMENT_DISABLED = 3004
    MAX_RETRY_REACHED = 3005
    MANAGED_CONNECTOR_ERROR = 5000
    MANAGED_CONNECTOR_NOT_FOUND = 5001
    MANAGED_CONNECTOR_ALREADY_EXISTS = 5002
    SMART_MODULE_ERROR = 6000
    SMART_MODULE_NOT_FOUND = 6001
    SMART_MODULE_INVALID = 6002
    SMART_MODULE_INVALID_EXPORTS = 6003
    SMART_MODULE_RUNTIME_ERROR = 6004
    SMART_MODULE_CHAIN_INIT_ERROR = 6005
    SMART_MODULE_INIT_ERROR = 6006
    SMART_MODULE_LOOK_BACK_ERROR = 6007
    SMART_MODULE_MEMORY_LIMIT_EXCEEDED = 6008
    TABLE_FORMAT_ERROR = 7000
    TABLE_FORMAT_NOT_FOUND = 7001
    TABLE_FORMAT_ALREADY_EXISTS = 7002
    DERIVED_STREAM_OBJECT_ERROR = 8000
    DERIVED_STREAM_NOT_FOUND = 8001
    DERIVED_STREAM_JOIN_FETCH_ERROR = 8002
    DERIVED_STREAM_INVALID = 8003
    COMPRESSION_ERROR = 9000
    DEDUPLICATION_SMART_MODULE_NOT_LOADED = 10000
    DEDUPLICATION_SMART_MODULE_NAME_INVALID = 10001
    MIRROR_NOT_FOUND = 11001
    MIRROR_ALREADY_EXISTS = 11002
    MIRROR_PRODUCE_FROM_HOME = 11003
    MIRROR_DELETE_FROM_REMOTE = 11004
    MIRROR_INVALID_TYPE = 11005
    MIRROR_PRODUCE_FROM_REMOTE_NOT_ALLOWED = 11006
    SYSTEM_SPEC_DELETION_ATTEMPT = 12001
    SYSTEM_SPEC_UPDATING_ATTEMPT = 12002


@message()
class Other:
    """Anything, in words."""

    text: str = text16()


@message()
class RequestTimedOut:
    """kind 0: a produce, which is the only one there is."""

    timeout_ms: int = u64()
    kind: int = u8()


@message()
class OffsetEvicted:
    """Records that are no more."""

    offset: int = i64()
    next_available: int = i64()


@message()
class PartitionFull:
    """No room for more."""

    topic: str = text16()
    partition: int = u32()


@message()
class OffsetFlushRequestError:
    """A position could not be kept."""

    text: str = text16()


@message()
class SmartModuleNotFound:
    """There is none of that name."""

    name: str = text16()


@message()
class SmartModuleInvalid:
    """It cannot be loaded."""

    text: str = text16()
    name: str | None = option(text16())


@message()
class SmartModuleInvalidExports:
    """It lacks what its kind needs."""

    text: str = text16()
    kind: str = text16()


@message()
class SmartModuleChainInitError:
    """Several of them do not go together."""

    text: str = text16()


@message()
class SmartModuleInitError:
    """It refused to begin."""

    hint: str = text16()


@message()
class SmartModuleLookBackError:
    """It refused what was before."""

    text: str = text16()


@message()
class SmartModuleMemoryLimitExceeded:
    """It wanted more than it may have."""

    requested: int = u64()
    limit: int = u64()


@message()
class DerivedStreamNotFound:
    """There is none of that name."""

    name: str = text16()


@message()
class DerivedStreamInvalid:
    """It cannot be."""

    text: str = text16()


@message()
class DeduplicationSmartModuleNameInvalid:
    """No name at all."""

    text: str = text16()


@message()
class SystemSpecDeletionAttempt:
    """A thing of the cluster's own was to be deleted."""

    kind: str = text16()
    name: str = text16()


@message()
class SystemSpecUpdatingAttempt:
    """A thing of the cluster's own was to be changed."""

    kind: str = text16()
    name: str = text16()


CARRYING: Final[dict[int, type[Any]]] = {
    Code.OTHER.value: Other,
    Code.REQUEST_TIMED_OUT.value: RequestTimedOut,
    Code.OFFSET_EVICTED.value: OffsetEvicted,
    Code.PARTITION_FULL.value: PartitionFull,
    Code.OFFSET_FLUSH_REQUEST_ERROR.value: OffsetFlushRequestError,
    Code.SMART_MODULE_NOT_FOUND.value: SmartModuleNotFound,
    Code.SMART_MODULE_INVALID.value: SmartModuleInvalid,
    Code.SMART_MODULE_INVALID_EXPORTS.value: SmartModuleInvalidExports,
    Code.SMART_MODULE_CHAIN_INIT_ERROR.value: SmartModuleChainInitError,
    Code.SMART_MODULE_INIT_ERROR.value: SmartModuleInitError,
    Code.SMART_MODULE_LOOK_BACK_ERROR.value: SmartModuleLookBackError,
    Code.SMART_MODULE_MEMORY_LIMIT_EXCEEDED.value: SmartModuleMemoryLimitExceeded,
    Code.DERIVED_STREAM_NOT_FOUND.value: DerivedStreamNotFound,
    Code.DERIVED_STREAM_INVALID.value: DerivedStreamInvalid,
    Code.DEDUPLICATION_SMART_MODULE_NAME_INVALID.value: DeduplicationSmartModuleNameInvalid,
    Code.SYSTEM_SPEC_DELETION_ATTEMPT.value: SystemSpecDeletionAttempt,
    Code.SYSTEM_SPEC_UPDATING_ATTEMPT.value: SystemSpecUpdatingAttempt,
}
_CODES: Final = {cls: Code(code) for code, cls in CARRYING.items()}

# What an answer says of a request: a code alone, or what carries one. 0: all is well.
Fault = Any


def error_code(**options: Unpack[Versions]) -> Any:
    """The field of it."""
    return choice16(CARRYING, **options)


def code_of(fault: Fault) -> Code:
    """The code of a fault, whatever it carries; -1 for a number that nobody knows."""
    carried = _CODES.get(type(fault))
    if carried is not None:
        return carried
    try:
        return Code(fault)
    except ValueError:
        return Code.UNKNOWN_SERVER_ERROR

"""The refusals of the product: a closed family, one code each, with typed facts.

A OnelogError is an answer. Each dialect spells every one of them in its own words, so its
map from ErrorCode is total and a test holds it so. What breaks a protocol is not here
(protocols.contract.ProtocolError); what breaks our own rules is an assertion.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar


class ErrorCode(Enum):
    """One name for each way in which a request cannot be granted."""

    UNKNOWN_TOPIC = "unknown_topic"
    UNKNOWN_TOPIC_ID = "unknown_topic_id"
    UNKNOWN_PARTITION = "unknown_partition"
    TOPIC_EXISTS = "topic_exists"
    INVALID_NAME = "invalid_name"
    INVALID_PARTITIONS = "invalid_partitions"
    INVALID_CONFIG = "invalid_config"
    INVALID_REQUEST = "invalid_request"
    OFFSET_OUT_OF_RANGE = "offset_out_of_range"
    RECORD_TOO_LARGE = "record_too_large"
    CORRUPT_BATCH = "corrupt_batch"
    INVALID_RECORD = "invalid_record"
    INVALID_TIMESTAMP = "invalid_timestamp"
    OUT_OF_ORDER_SEQUENCE = "out_of_order_sequence"
    STALE_PRODUCER_EPOCH = "stale_producer_epoch"
    UNKNOWN_MEMBER = "unknown_member"
    STALE_GENERATION = "stale_generation"
    REBALANCE_IN_PROGRESS = "rebalance_in_progress"
    FENCED_INSTANCE = "fenced_instance"
    FENCED_MEMBER_EPOCH = "fenced_member_epoch"
    GROUP_NOT_EMPTY = "group_not_empty"
    UNKNOWN_GROUP = "unknown_group"
    INVALID_GROUP = "invalid_group"
    INVALID_SESSION_TIMEOUT = "invalid_session_timeout"
    INCONSISTENT_PROTOCOL = "inconsistent_protocol"
    MEMBER_ID_REQUIRED = "member_id_required"
    GROUP_FULL = "group_full"
    GROUP_SUBSCRIBED = "group_subscribed"
    NOTE_TOO_LARGE = "note_too_large"
    STALE_LEADER_EPOCH = "stale_leader_epoch"
    UNKNOWN_LEADER_EPOCH = "unknown_leader_epoch"
    DISK_FULL = "disk_full"
    DISK_FAILED = "disk_failed"
    PARTITION_CLOSED = "partition_closed"
    NOT_AUTHORIZED = "not_authorized"
    THROTTLED = "throttled"
    TIMED_OUT = "timed_out"
    UNSUPPORTED = "unsupported"


def counted(count: int, noun: str) -> str:
    """1 partition, 2 partitions."""
    return f"{count} {noun}" + "s" * (count != 1)


class OnelogError(Exception):
    """A request that cannot be granted. Every subclass is one ErrorCode."""

    code: ClassVar[ErrorCode]
    retriable: ClassVar[bool] = False
    template: ClassVar[str]

    @property
    def message(self) -> str:
        """Where, what was found, what was expected, what to do."""
        return self.template.format(e=self)

    def facts(self) -> dict[str, Any]:
        """The typed facts, by name."""
        return dict(vars(self))

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.facts())


@dataclass(eq=False)
class UnknownTopic(OnelogError):
    topic: str

    code = ErrorCode.UNKNOWN_TOPIC
    retriable = True
    template = "topic {e.topic!r} does not exist. Create it, or look at `onelog topics list`."


@dataclass(eq=False)
class UnknownTopicId(OnelogError):
    topic_id: str

    code = ErrorCode.UNKNOWN_TOPIC_ID
    retriable = True
    template = "no topic has the id {e.topic_id}. It may have been deleted; ask for the metadata again."


@dataclass(eq=False)
class UnknownPartition(OnelogError):
    topic: str
    partition: int
    partition_count: int

    code = ErrorCode.UNKNOWN_PARTITION
    retriable = True
    template = "{e.topic}/{e.partition}: the topic has {e.partitions}, counted from 0."

    @property
    def partitions(self) -> str:
        return counted(self.partition_count, "partition")


@dataclass(eq=False)
class TopicExists(OnelogError):
    topic: str
    partition_count: int

    code = ErrorCode.TOPIC_EXISTS
    template = "topic {e.topic!r} exists already, with {e.partitions}."

    @property
    def partitions(self) -> str:
        return counted(self.partition_count, "partition")


@dataclass(eq=False)
class InvalidName(OnelogError):
    name: str
    reason: str = 'expected 1 to 249 of a-z A-Z 0-9 . _ - and neither "." nor ".."'

    code = ErrorCode.INVALID_NAME
    template = "{e.name!r:.80} cannot be a topic's name: {e.reason}."


@dataclass(eq=False)
class InvalidPartitions(OnelogError):
    topic: str
    found: int
    expected: str

    code = ErrorCode.INVALID_PARTITIONS
    template = "{e.topic}: asked for {e.found} partitions; expected {e.expected}."


@dataclass(eq=False)
class InvalidConfig(OnelogError):
    """value: None where it was to be taken away."""

    key: str
    value: str | None
    expected: str

    code = ErrorCode.INVALID_CONFIG
    template = "setting {e.setting}: expected {e.expected}."

    @property
    def setting(self) -> str:
        return self.key if self.value is None else f"{self.key} = {self.value!r}"


@dataclass(eq=False)
class InvalidRequest(OnelogError):
    reason: str

    code = ErrorCode.INVALID_REQUEST
    template = "{e.reason}"


@dataclass(eq=False)
class OffsetOutOfRange(OnelogError):
    topic: str
    partition: int
    offset: int
    start: int
    end: int

    code = ErrorCode.OFFSET_OUT_OF_RANGE
    template = "{e.topic}/{e.partition}: asked for offset {e.offset}; the log holds {e.start} to {e.end}. Reset the group, or raise retention."


@dataclass(eq=False)
class RecordTooLarge(OnelogError):
    topic: str
    partition: int
    size: int
    size_max: int

    code = ErrorCode.RECORD_TOO_LARGE
    template = "{e.topic}/{e.partition}: a batch of {e.size} bytes; at most {e.size_max} are allowed. Send smaller batches, or raise max.message.bytes of the topic."


@dataclass(eq=False)
class CorruptBatch(OnelogError):
    where: str
    found: str
    expected: str

    code = ErrorCode.CORRUPT_BATCH
    retriable = True
    template = "{e.where}: {e.found}; expected {e.expected}."


@dataclass(eq=False)
class InvalidRecord(OnelogError):
    where: str
    reason: str
    index: int | None = None

    code = ErrorCode.INVALID_RECORD
    template = "{e.where}: {e.reason}."


@dataclass(eq=False)
class InvalidTimestamp(OnelogError):
    topic: str
    partition: int
    timestamp_ms: int
    earliest_ms: int
    latest_ms: int

    code = ErrorCode.INVALID_TIMESTAMP
    template = "{e.topic}/{e.partition}: timestamp {e.timestamp_ms} ms; expected {e.earliest_ms} to {e.latest_ms}. Mend the clock of the producer, or raise message.timestamp.after.max.ms."


@dataclass(eq=False)
class OutOfOrderSequence(OnelogError):
    producer_id: int
    found: int
    expected: int

    code = ErrorCode.OUT_OF_ORDER_SEQUENCE
    template = (
        "producer {e.producer_id}: sequence {e.found}; expected {e.expected}. A batch before it was lost."
    )


@dataclass(eq=False)
class StaleProducerEpoch(OnelogError):
    producer_id: int
    found: int
    expected: int

    code = ErrorCode.STALE_PRODUCER_EPOCH
    template = (
        "producer {e.producer_id}: epoch {e.found} is older than {e.expected}. A newer producer took over."
    )


@dataclass(eq=False)
class UnknownMember(OnelogError):
    group: str
    member: str

    code = ErrorCode.UNKNOWN_MEMBER
    template = "group {e.group!r} has no member {e.member!r}. Join again."


@dataclass(eq=False)
class StaleGeneration(OnelogError):
    group: str
    found: int
    expected: int

    code = ErrorCode.STALE_GENERATION
    template = "group {e.group!r}: generation {e.found}; expected {e.expected}. Join again."


@dataclass(eq=False)
class RebalanceInProgress(OnelogError):
    group: str

    code = ErrorCode.REBALANCE_IN_PROGRESS
    template = "group {e.group!r} is rebalancing. Join again."


@dataclass(eq=False)
class FencedInstance(OnelogError):
    group: str
    instance: str

    code = ErrorCode.FENCED_INSTANCE
    template = "group {e.group!r}: instance {e.instance!r} was taken over by a newer member."


@dataclass(eq=False)
class FencedMemberEpoch(OnelogError):
    group: str
    found: int
    expected: int

    code = ErrorCode.FENCED_MEMBER_EPOCH
    template = "group {e.group!r}: member epoch {e.found}; expected {e.expected}. Join again."


@dataclass(eq=False)
class GroupNotEmpty(OnelogError):
    group: str

    code = ErrorCode.GROUP_NOT_EMPTY
    template = "group {e.group!r} has members. Stop them first."


@dataclass(eq=False)
class UnknownGroup(OnelogError):
    group: str

    code = ErrorCode.UNKNOWN_GROUP
    template = "group {e.group!r} does not exist."


@dataclass(eq=False)
class InvalidGroup(OnelogError):
    group: str

    code = ErrorCode.INVALID_GROUP
    template = "{e.group!r:.80} cannot be a group's name: expected one character or more."


@dataclass(eq=False)
class InvalidSessionTimeout(OnelogError):
    group: str
    found_ms: int
    least_ms: int
    most_ms: int

    code = ErrorCode.INVALID_SESSION_TIMEOUT
    template = "group {e.group!r}: a session of {e.found_ms} ms; expected {e.least_ms} to {e.most_ms}. Change session.timeout.ms of the client, or the broker's group_session_timeout settings."


@dataclass(eq=False)
class InconsistentProtocol(OnelogError):
    group: str
    found: str
    expected: str

    code = ErrorCode.INCONSISTENT_PROTOCOL
    template = "group {e.group!r}: protocols {e.found}; its members have {e.expected}. Give all of them one in common."


@dataclass(eq=False)
class MemberIdRequired(OnelogError):
    group: str
    member: str

    code = ErrorCode.MEMBER_ID_REQUIRED
    template = "group {e.group!r}: join again, as {e.member!r}."


@dataclass(eq=False)
class GroupFull(OnelogError):
    group: str
    members_max: int

    code = ErrorCode.GROUP_FULL
    template = "group {e.group!r} has all the {e.members_max} members that it may have."


@dataclass(eq=False)
class GroupSubscribed(OnelogError):
    group: str
    topic: str

    code = ErrorCode.GROUP_SUBSCRIBED
    template = "group {e.group!r} has members that read {e.topic!r}. Stop them first."


@dataclass(eq=False)
class NoteTooLarge(OnelogError):
    size: int
    size_max: int

    code = ErrorCode.NOTE_TOO_LARGE
    template = "the note of a position has {e.size} bytes; at most {e.size_max} are kept."


@dataclass(eq=False)
class StaleLeaderEpoch(OnelogError):
    topic: str
    partition: int
    found: int
    expected: int

    code = ErrorCode.STALE_LEADER_EPOCH
    retriable = True
    template = "{e.topic}/{e.partition}: leader epoch {e.found} is older than {e.expected}. Ask for the metadata again."


@dataclass(eq=False)
class UnknownLeaderEpoch(OnelogError):
    topic: str
    partition: int
    found: int
    expected: int

    code = ErrorCode.UNKNOWN_LEADER_EPOCH
    retriable = True
    template = "{e.topic}/{e.partition}: leader epoch {e.found} is newer than {e.expected}."


@dataclass(eq=False)
class DiskFull(OnelogError):
    path: str
    doing: str

    code = ErrorCode.DISK_FULL
    retriable = True
    template = "{e.path}: no space left while {e.doing}. Make room, or lower retention."


@dataclass(eq=False)
class DiskFailed(OnelogError):
    path: str
    doing: str
    found: str

    code = ErrorCode.DISK_FAILED
    template = "{e.path}: {e.found} while {e.doing}. The broker stops; nothing more is acknowledged. Check the disk before the next start."


@dataclass(eq=False)
class PartitionClosed(OnelogError):
    topic: str
    partition: int
    reason: str

    code = ErrorCode.PARTITION_CLOSED
    retriable = True
    template = "{e.topic}/{e.partition} is closed: {e.reason}. See `onelog verify --help`."


@dataclass(eq=False)
class NotAuthorized(OnelogError):
    principal: str
    operation: str
    resource: str

    code = ErrorCode.NOT_AUTHORIZED
    template = "{e.principal} may not {e.operation} {e.resource}."


@dataclass(eq=False)
class Throttled(OnelogError):
    wait_ms: int

    code = ErrorCode.THROTTLED
    retriable = True
    template = "over the quota; try again in {e.wait_ms} ms."


@dataclass(eq=False)
class TimedOut(OnelogError):
    doing: str
    timeout_ms: int

    code = ErrorCode.TIMED_OUT
    retriable = True
    template = "{e.doing} took longer than {e.timeout_ms} ms."


@dataclass(eq=False)
class Unsupported(OnelogError):
    what: str

    code = ErrorCode.UNSUPPORTED
    template = "{e.what} is not supported."


def _rebuilt(kind: type[OnelogError], facts: dict[str, Any]) -> OnelogError:
    return kind(**facts)

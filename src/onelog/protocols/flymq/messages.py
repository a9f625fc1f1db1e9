"""What FlyMQ's peers say to each other, as fields, and in which forms each of it comes.

Several messages have two forms: the document's and that of the programs that exist. A form is
a version of the declared class, or, where a field has another width, a class of its own. The
bytes do not name it: the form that ends with the payload's last byte is the one. Records of an
answer to FETCH are recordset.py's, errors are errors.py's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from onelog.binary.errors import BinaryError
from onelog.binary.fields import (
    array32,
    boolean,
    bytes32,
    i32,
    i64,
    text8,
    text16,
    u32,
    u64,
)
from onelog.binary.message import BIG, codec, message
from onelog.protocols.flymq.framing import Opcode

Buffer = bytes | bytearray | memoryview

DOCUMENT: Final = 0
PROGRAMS: Final = 1

AUTO: Final = -1
NO_KEY: Final = -1
TEXT_BYTES_MAX: Final = 65_535
# What a BinaryError expected where a payload goes on behind every form that it might have.
THE_END: Final = "its end"


# ---- requests


@message(byte_order=BIG)
class Produce:
    """One record. An empty key is none. The document's own example leaves the partition outside."""

    topic: str = text16()
    key: bytes = bytes32()
    value: bytes = bytes32()
    partition: int = i32(since=PROGRAMS, default=AUTO)


@message(byte_order=BIG)
class Consume:
    """The one record at an offset."""

    topic: str = text16()
    partition: int = i32()
    offset: int = u64()


@message(byte_order=BIG)
class CreateTopic:
    """A topic, unless it is there."""

    topic: str = text16()
    partitions: int = i32()


@message(byte_order=BIG)
class Metadata:
    """Where the partitions of a topic begin and end."""

    topic: str = text16()


@message(byte_order=BIG)
class Subscribe:
    """Where a group is to begin to read; the length of the mode is one byte."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    mode: str = text8()


@message(byte_order=BIG)
class SubscribeByDocument:
    """The same with two bytes, as the document has it."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    mode: str = text16()


@message(byte_order=BIG)
class Commit:
    """How far a group has read: the next offset."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    offset: int = u64()


@message(byte_order=BIG)
class Fetch:
    """Records from an offset on. The document knows no filter."""

    topic: str = text16()
    partition: int = i32()
    offset: int = u64()
    count_max: int = i32()
    filter: str = text16(since=PROGRAMS)


@message(byte_order=BIG)
class ListTopics:
    """The names of all topics."""


@message(byte_order=BIG)
class DeleteTopic:
    """No such topic any more."""

    topic: str = text16()


@message(byte_order=BIG)
class ClusterJoin:
    """Become part of another cluster."""

    peer: str = text16()


@message(byte_order=BIG)
class ClusterLeave:
    """Be part of it no longer."""


@message(byte_order=BIG)
class ClusterStatus:
    """How the cluster is. No layout is written down anywhere."""


@message(byte_order=BIG)
class ClusterMetadata:
    """Who serves which partition, of one topic or of all; none named at all means all, too."""

    topic: str = text16(since=PROGRAMS)


@message(byte_order=BIG)
class GetOffset:
    """How far a group has read."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()


@message(byte_order=BIG)
class GetLag:
    """How far a group is behind."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()


@message(byte_order=BIG)
class ResetOffset:
    """Move a group's position. Java's client says an offset in every mode."""

    topic: str = text16()
    group: str = text16()
    partition: int = i32()
    mode: str = text8()
    offset: int | None = u64(since=PROGRAMS, default=None)


@message(byte_order=BIG)
class ListGroups:
    """All groups."""


@message(byte_order=BIG)
class DescribeGroup:
    """One group. Go's client sends an empty topic, Java's none."""

    topic: str = text16(since=PROGRAMS)
    group: str = text16()


@message(byte_order=BIG)
class DeleteGroup:
    """Forget a group's positions. The topic as in DescribeGroup."""

    topic: str = text16(since=PROGRAMS)
    group: str = text16()


@message(byte_order=BIG)
class SeekToTimestamp:
    """The first offset at or after a time, kept as the group's position if one is named."""

    topic: str = text16()
    group: str = text16(since=PROGRAMS)
    partition: int = i32()
    timestamp_ms: int = i64()


@message(byte_order=BIG)
class Auth:
    """Who I am."""

    user: str = text16()
    password: str = text16()


@message(byte_order=BIG)
class WhoAmI:
    """Who do you think I am."""


class InvalidCall:
    """Not of the wire: stands for a whole frame that is no request, and is answered in its turn."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class UnservedCall:
    """Not of the wire: stands for a request that has a name and is not served."""

    __slots__ = ("opcode",)

    def __init__(self, opcode: Opcode) -> None:
        self.opcode = opcode


# ---- answers


@message(byte_order=BIG)
class Produced:
    """Where a record is, and what of it arrived."""

    topic: str = text16()
    partition: int = i32()
    offset: int = u64()
    timestamp_ms: int = i64()
    key_size: int = i32()
    value_size: int = i32()


@message(byte_order=BIG)
class Consumed:
    """A record."""

    key: bytes = bytes32()
    value: bytes = bytes32()


@message(byte_order=BIG)
class Done:
    """It is done. The programs read the first byte; the text is what the document has behind it."""

    success: bool = boolean()
    text: str = text16(since=PROGRAMS)


@message(byte_order=BIG)
class PartitionEnds:
    """Where one partition begins and ends; the end is exclusive."""

    partition: int = i32()
    leader_id: int = i32()
    oldest: int = u64()
    newest: int = u64()


@message(byte_order=BIG)
class TopicMetadata:
    """The partitions of a topic."""

    topic: str = text16()
    partitions: list[PartitionEnds] = array32(PartitionEnds)


@message(byte_order=BIG)
class Place:
    """An offset."""

    offset: int = u64()


@message(byte_order=BIG)
class TopicNames:
    """Topics, in order."""

    topics: list[str] = array32(text16())


@message(byte_order=BIG)
class PartitionState:
    """Who serves one partition."""

    partition: int = i32()
    leader_id: str = text16()
    leader_address: str = text16()
    epoch: int = u64()
    state: str = text16()
    replicas: list[str] = array32(text16())
    in_sync: list[str] = array32(text16())


@message(byte_order=BIG)
class TopicState:
    """The partitions of one topic."""

    topic: str = text16()
    partitions: list[PartitionState] = array32(PartitionState)


@message(byte_order=BIG)
class ClusterState:
    """A cluster, by topics."""

    cluster_id: str = text16()
    topics: list[TopicState] = array32(TopicState)


@message(byte_order=BIG)
class Lag:
    """How far a group has read, and what there is."""

    current: int = u64()
    committed: int = u64()
    latest: int = u64()
    lag: int = u64()


@message(byte_order=BIG)
class PartitionPosition:
    """How far one partition is read."""

    partition: int = i32()
    offset: int = u64()


@message(byte_order=BIG)
class GroupSummary:
    """A group of one topic; a reader that has subscribed counts as a member while it is connected."""

    topic: str = text16()
    group: str = text16()
    member_count: int = u32()
    positions: list[PartitionPosition] = array32(PartitionPosition)


@message(byte_order=BIG)
class Groups:
    """All groups."""

    groups: list[GroupSummary] = array32(GroupSummary)


@message(byte_order=BIG)
class GroupDescribed:
    """One group: as Java's client reads it (0), which names no topic, and as the others do (1)."""

    topic: str = text16(since=PROGRAMS)
    group: str = text16()
    member_count: int = u32(since=PROGRAMS)
    positions: list[PartitionPosition] = array32(PartitionPosition, since=PROGRAMS)
    state: str = text16(until=DOCUMENT)
    members: list[str] = array32(text16(), until=DOCUMENT)
    topics: list[str] = array32(text16(), until=DOCUMENT)
    coordinator: str = text16(until=DOCUMENT)


@message(byte_order=BIG)
class Authenticated:
    """Whether that is believed, and what it allows."""

    success: bool = boolean()
    user: str = text16()
    roles: list[str] = array32(text8())
    error: str = text16()


@message(byte_order=BIG)
class Identity:
    """Who the peer is believed to be; with nothing in it, nobody, in eleven bytes that all clients read."""

    authenticated: bool = boolean()
    user: str = text16()
    roles: list[str] = array32(text16())
    permissions: list[str] = array32(text16())


# ---- which forms there are


class Layout(NamedTuple):
    """A form of a message. only_programs: a peer that sends it was not written after the document."""

    cls: type[Any]
    version: int = PROGRAMS
    only_programs: bool = False


REQUESTS: Final[Mapping[int, Sequence[Layout]]] = {
    Opcode.PRODUCE: (Layout(Produce), Layout(Produce, DOCUMENT)),
    Opcode.CONSUME: (Layout(Consume),),
    Opcode.CREATE_TOPIC: (Layout(CreateTopic),),
    Opcode.METADATA: (Layout(Metadata),),
    Opcode.SUBSCRIBE: (Layout(Subscribe, only_programs=True), Layout(SubscribeByDocument, DOCUMENT)),
    Opcode.COMMIT: (Layout(Commit),),
    Opcode.FETCH: (Layout(Fetch, only_programs=True), Layout(Fetch, DOCUMENT)),
    Opcode.LIST_TOPICS: (Layout(ListTopics),),
    Opcode.DELETE_TOPIC: (Layout(DeleteTopic),),
    Opcode.CONSUME_ZERO_COPY: (Layout(Consume),),
    Opcode.FETCH_BINARY: (Layout(Fetch, only_programs=True), Layout(Fetch, DOCUMENT)),
    Opcode.CLUSTER_JOIN: (Layout(ClusterJoin),),
    Opcode.CLUSTER_LEAVE: (Layout(ClusterLeave),),
    Opcode.CLUSTER_STATUS: (Layout(ClusterStatus),),
    Opcode.CLUSTER_METADATA: (Layout(ClusterMetadata), Layout(ClusterMetadata, DOCUMENT)),
    Opcode.GET_OFFSET: (Layout(GetOffset),),
    Opcode.RESET_OFFSET: (
        Layout(ResetOffset, only_programs=True),
        Layout(ResetOffset, DOCUMENT, only_programs=True),
    ),
    Opcode.LIST_GROUPS: (Layout(ListGroups),),
    Opcode.DESCRIBE_GROUP: (Layout(DescribeGroup), Layout(DescribeGroup, DOCUMENT)),
    Opcode.GET_LAG: (Layout(GetLag),),
    Opcode.DELETE_GROUP: (Layout(DeleteGroup), Layout(DeleteGroup, DOCUMENT)),
    Opcode.SEEK_TO_TIMESTAMP: (Layout(SeekToTimestamp), Layout(SeekToTimestamp, DOCUMENT)),
    Opcode.AUTH: (Layout(Auth),),
    Opcode.WHOAMI: (Layout(WhoAmI),),
}

# By the opcode of the answer. The second form is what the programs' own broker says, where that
# is shorter; FETCH and ERROR are not here.
ANSWERS: Final[Mapping[int, Sequence[Layout]]] = {
    Opcode.PRODUCE: (Layout(Produced),),
    Opcode.CONSUME: (Layout(Consumed),),
    Opcode.CONSUME_ZERO_COPY: (Layout(Consumed),),
    Opcode.CREATE_TOPIC: (Layout(Done), Layout(Done, DOCUMENT)),
    Opcode.METADATA: (Layout(TopicMetadata),),
    Opcode.SUBSCRIBE: (Layout(Place),),
    Opcode.COMMIT: (Layout(Done), Layout(Done, DOCUMENT)),
    Opcode.LIST_TOPICS: (Layout(TopicNames),),
    Opcode.DELETE_TOPIC: (Layout(Done), Layout(Done, DOCUMENT)),
    Opcode.CLUSTER_JOIN: (Layout(Done),),
    Opcode.CLUSTER_LEAVE: (Layout(Done),),
    Opcode.CLUSTER_STATUS: (Layout(Done),),
    Opcode.CLUSTER_METADATA: (Layout(ClusterState),),
    Opcode.GET_OFFSET: (Layout(Place),),
    Opcode.RESET_OFFSET: (Layout(Done, DOCUMENT),),
    Opcode.LIST_GROUPS: (Layout(Groups),),
    Opcode.DESCRIBE_GROUP: (Layout(GroupDescribed), Layout(GroupDescribed, DOCUMENT)),
    Opcode.GET_LAG: (Layout(Lag),),
    Opcode.DELETE_GROUP: (Layout(Done, DOCUMENT),),
    Opcode.SEEK_TO_TIMESTAMP: (Layout(Place),),
    Opcode.AUTH_RESPONSE: (Layout(Authenticated),),
    Opcode.WHOAMI: (Layout(Identity), Layout(Authenticated)),
}


def decode_exactly(layouts: Sequence[Layout], payload: Buffer) -> tuple[Any, Layout]:
    """The message and its form: the first that ends where the payload does. Else BinaryError."""
    wrong: BinaryError | None = None
    for layout in layouts:
        try:
            found, end = codec(layout.cls, layout.version).decode(payload)
        except BinaryError as error:
            wrong = wrong or error
            continue
        if end == len(payload):
            return found, layout
        wrong = wrong or BinaryError("payload", end, f"{len(payload) - end} bytes more", THE_END)
    assert wrong is not None
    try:
        raise wrong
    finally:
        # An error that its own frame keeps would keep the payload with it, until somebody collects.
        del wrong

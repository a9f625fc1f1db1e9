"""In which forms each request and answer comes, and which of them a payload has.

The bytes do not name their form: the one that ends with the payload's last byte is it. Errors
are errors.py's, and records of an answer to FETCH recordset.py's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from onelog.binary.errors import BinaryError
from onelog.binary.message import codec
from onelog.protocols.flymq.framing import Opcode
from onelog.protocols.flymq.messages.admin import (
    Auth,
    Authenticated,
    ClusterJoin,
    ClusterLeave,
    ClusterMetadata,
    ClusterState,
    ClusterStatus,
    Identity,
    WhoAmI,
)
from onelog.protocols.flymq.messages.fetch import Consume, Consumed, Fetch
from onelog.protocols.flymq.messages.groups import (
    Commit,
    DeleteGroup,
    DescribeGroup,
    GetLag,
    GetOffset,
    GroupDescribed,
    Groups,
    Lag,
    ListGroups,
    Place,
    ResetOffset,
    SeekToTimestamp,
    Subscribe,
    SubscribeByDocument,
)
from onelog.protocols.flymq.messages.produce import Produce, Produced
from onelog.protocols.flymq.messages.topics import (
    CreateTopic,
    DeleteTopic,
    Done,
    ListTopics,
    Metadata,
    TopicMetadata,
    TopicNames,
)
from onelog.protocols.flymq.messages.versions import DOCUMENT, PROGRAMS

Buffer = bytes | bytearray | memoryview

# What a BinaryError expected where a payload goes on behind every form that it might have.
THE_END: Final = "its end"


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

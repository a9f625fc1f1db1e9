"""Which handler serves which request. One FlyMQHandler a connection."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from onelog.errors import InvalidRequest, OnelogError, Unsupported
from onelog.protocols.contract import Later, Outcome, Reply, Session
from onelog.protocols.flymq.connection import Packed
from onelog.protocols.flymq.handlers import admin, fetch, groups, produce, topics
from onelog.protocols.flymq.handlers.context import Context
from onelog.protocols.flymq.messages.admin import (
    Auth,
    ClusterJoin,
    ClusterLeave,
    ClusterMetadata,
    ClusterStatus,
    WhoAmI,
)
from onelog.protocols.flymq.messages.fetch import Consume, Fetch
from onelog.protocols.flymq.messages.forms import InvalidCall, UnservedCall
from onelog.protocols.flymq.messages.groups import (
    Commit,
    DeleteGroup,
    DescribeGroup,
    GetLag,
    GetOffset,
    ListGroups,
    ResetOffset,
    SeekToTimestamp,
    Subscribe,
    SubscribeByDocument,
)
from onelog.protocols.flymq.messages.produce import Produce
from onelog.protocols.flymq.messages.topics import CreateTopic, DeleteTopic, ListTopics, Metadata

if TYPE_CHECKING:
    from onelog.broker.broker import Broker


class FlyMQHandler:
    """The meaning side of one connection. Owned by its pump."""

    def __init__(self, broker: "Broker", session: Session) -> None:
        self._context = Context(broker, session)

    def handle(self, message: Any) -> Outcome:
        """Returns when the order is fixed."""
        try:
            if isinstance(message, Packed):
                return self._unpacked(message)
            return HANDLERS[type(message)](self._context, message)
        except OnelogError as error:
            return Reply(self._context.refuse(error))

    def closed(self) -> None:
        """It reads for no group any more."""
        self._context.broker.unsubscribe(self._context.subscriber)

    def _unpacked(self, packed: Packed) -> Outcome:
        """What it inflates to is let go of before the next one inflates: a small frame may be a large one."""
        message = packed.unpack()
        outcome = HANDLERS[type(message)](self._context, message)
        if isinstance(outcome, Later):
            outcome.hold = True
        return outcome


def _invalid(context: Context, call: InvalidCall) -> Outcome:
    raise InvalidRequest(call.reason)


def _unserved(context: Context, call: UnservedCall) -> Outcome:
    raise Unsupported(f"{call.opcode.name} (0x{call.opcode:02X})")


HANDLERS: Final[Mapping[type, Callable[[Context, Any], Outcome]]] = {
    Produce: produce.produce,
    Consume: fetch.consume,
    Fetch: fetch.fetch,
    CreateTopic: topics.create_topic,
    DeleteTopic: topics.delete_topic,
    ListTopics: topics.list_topics,
    Metadata: topics.metadata,
    Subscribe: groups.subscribe,
    SubscribeByDocument: groups.subscribe,
    Commit: groups.commit,
    GetOffset: groups.get_offset,
    GetLag: groups.get_lag,
    ResetOffset: groups.reset_offset,
    SeekToTimestamp: groups.seek_to_timestamp,
    ListGroups: groups.list_groups,
    DescribeGroup: groups.describe_group,
    DeleteGroup: groups.delete_group,
    ClusterMetadata: admin.cluster_metadata,
    ClusterJoin: admin.cluster_join,
    ClusterLeave: admin.cluster_leave,
    ClusterStatus: admin.cluster_status,
    Auth: admin.auth,
    WhoAmI: admin.whoami,
    InvalidCall: _invalid,
    UnservedCall: _unserved,
}

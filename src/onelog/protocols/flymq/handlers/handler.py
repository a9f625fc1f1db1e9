"""Which handler serves which request. One FlyMQHandler a connection."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from onelog.errors import InvalidRequest, OnelogError, Unsupported
from onelog.protocols.contract import Later, Outcome, Reply, Session
from onelog.protocols.flymq import messages
from onelog.protocols.flymq.connection import Packed
from onelog.protocols.flymq.handlers import admin, fetch, groups, produce, topics
from onelog.protocols.flymq.handlers.context import Context

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


def _invalid(context: Context, call: messages.InvalidCall) -> Outcome:
    raise InvalidRequest(call.reason)


def _unserved(context: Context, call: messages.UnservedCall) -> Outcome:
    raise Unsupported(f"{call.opcode.name} (0x{call.opcode:02X})")


HANDLERS: Final[Mapping[type, Callable[[Context, Any], Outcome]]] = {
    messages.Produce: produce.produce,
    messages.Consume: fetch.consume,
    messages.Fetch: fetch.fetch,
    messages.CreateTopic: topics.create_topic,
    messages.DeleteTopic: topics.delete_topic,
    messages.ListTopics: topics.list_topics,
    messages.Metadata: topics.metadata,
    messages.Subscribe: groups.subscribe,
    messages.SubscribeByDocument: groups.subscribe,
    messages.Commit: groups.commit,
    messages.GetOffset: groups.get_offset,
    messages.GetLag: groups.get_lag,
    messages.ResetOffset: groups.reset_offset,
    messages.SeekToTimestamp: groups.seek_to_timestamp,
    messages.ListGroups: groups.list_groups,
    messages.DescribeGroup: groups.describe_group,
    messages.DeleteGroup: groups.delete_group,
    messages.ClusterMetadata: admin.cluster_metadata,
    messages.ClusterJoin: admin.cluster_join,
    messages.ClusterLeave: admin.cluster_leave,
    messages.ClusterStatus: admin.cluster_status,
    messages.Auth: admin.auth,
    messages.WhoAmI: admin.whoami,
    messages.InvalidCall: _invalid,
    messages.UnservedCall: _unserved,
}

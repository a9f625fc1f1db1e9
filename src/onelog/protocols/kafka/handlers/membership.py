"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: being a member of a group."""

from collections.abc import Callable, Sequence
from typing import Any

from onelog.broker.broker import (
    Joined,
    JoinGroup,
    Leaving,
    MemberProtocol,
    Membership,
    Synced,
    SyncGroup,
)
from onelog.errors import MemberIdRequired, OnelogError
from onelog.protocols.contract import Later, Outcome
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.context import Context
from onelog.protocols.kafka.messages.consumer_protocol import topics_of
from onelog.protocols.kafka.messages.membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from onelog.ticket import Ticket

REBALANCE_TIMEOUT_SINCE = 1  # JoinGroup: until then the session's time is that of a rebalance, too
KNOWN_ID_SINCE = 4  # JoinGroup: a new member is told its name first, and joins with it
MANY_SINCE = 3  # LeaveGroup: many members, each with an outcome
NULL_PROTOCOL_SINCE = 7  # JoinGroup: no protocol is null
SKIP_SINCE = 9  # JoinGroup: a leader can be told not to assign anew

CONSUMERS = "consumer"


def join_group(context: Context, request: Request) -> Outcome:
    """Answered when the next generation begins; until then this connection waits."""
    body: JoinGroupRequest = request.body
    has_timeout = request.version >= REBALANCE_TIMEOUT_SINCE
    ticket = context.broker.join_group(
        JoinGroup(
            group=body.group_id,
            member=body.member_id,
            instance=body.group_instance_id,
            client_id=context.session.client_id,
            client_host=_host(context.session.peer),
            session_timeout_ms=body.session_timeout_ms,
            rebalance_timeout_ms=body.rebalance_timeout_ms if has_timeout else body.session_timeout_ms,
            protocol_type=body.protocol_type,
            protocols=tuple(_protocol(body.protocol_type, protocol) for protocol in body.protocols),
            needs_known_id=request.version >= KNOWN_ID_SINCE,
            may_skip_assignment=request.version >= SKIP_SINCE,
        )
    )

    def refused(error: BaseException) -> JoinGroupResponse:
        return JoinGroupResponse(
            error_code=context.refuse(error),
            protocol_name=None if request.version >= NULL_PROTOCOL_SINCE else "",
            member_id=error.member if isinstance(error, MemberIdRequired) else body.member_id,
        )

    return _later(ticket, _joined, refused, hold=True)


def sync_group(context: Context, request: Request) -> Outcome:
    """Answered when the leader has said who has what; until then this connection waits."""
    body: SyncGroupRequest = request.body
    ticket = context.broker.sync_group(
        SyncGroup(
            group=body.group_id,
            by=Membership(body.member_id, body.generation_id, body.group_instance_id),
            assignments={one.member_id: bytes(one.assignment) for one in body.assignments},
            protocol_type=body.protocol_type,
            protocol=body.protocol_name,
        )
    )

    def said(synced: Synced) -> SyncGroupResponse:
        return SyncGroupResponse(
            assignment=synced.assignment,
            protocol_type=synced.protocol_type,
            protocol_name=synced.protocol,
        )

    return _later(ticket, said, lambda error: SyncGroupResponse(error_code=context.refuse(error)), hold=True)


def heartbeat(context: Context, request: Request) -> Outcome:
    """Still a member, or not."""
    body: HeartbeatRequest = request.body
    by = Membership(body.member_id, body.generation_id, body.group_instance_id)
    return _later(
        context.broker.heartbeat(body.group_id, by),
        lambda _: HeartbeatResponse(),
        lambda error: HeartbeatResponse(error_code=context.refuse(error)),
    )


def leave_group(context: Context, request: Request) -> Outcome:
    """Each that is named has an outcome; the only one of an old request is that of the whole."""
    body: LeaveGroupRequest = request.body
    has_many = request.version >= MANY_SINCE
    members = body.members if has_many else [MemberIdentity(member_id=body.member_id)]
    leaving = [Leaving(member.member_id, member.group_instance_id) for member in members]

    def said(outcomes: Sequence[OnelogError | None]) -> LeaveGroupResponse:
        codes = [Code.NONE if error is None else context.refuse(error) for error in outcomes]
        if not has_many:
            return LeaveGroupResponse(error_code=codes[0])
        return LeaveGroupResponse(
            members=[
                MemberResponse(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    error_code=code,
                )
                for member, code in zip(members, codes, strict=True)
            ]
        )

    return _later(
        context.broker.leave_group(body.group_id, leaving),
        said,
        lambda error: LeaveGroupResponse(error_code=context.refuse(error)),
    )


def _protocol(protocol_type: str, protocol: JoinGroupRequestProtocol) -> MemberProtocol:
    metadata = bytes(protocol.metadata)
    topics = topics_of(metadata) if protocol_type == CONSUMERS else None
    return MemberProtocol(protocol.name, metadata, topics)


def _joined(joined: Joined) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol or "",
        leader=joined.leader,
        skip_assignment=joined.skips_assignment,
        member_id=joined.member,
        members=[
            JoinGroupResponseMember(
                member_id=member.member, group_instance_id=member.instance, metadata=member.metadata
            )
            for member in joined.members
        ],
    )


def _host(peer: str) -> str:
    """As Kafka's tools show it: the address behind a slash, without the port."""
    return "/" + peer.rpartition(":")[0].strip("[]") if ":" in peer else peer


def _later(
    ticket: Ticket[Any],
    said: Callable[[Any], Any],
    refused: Callable[[BaseException], Any],
    *,
    hold: bool = False,
) -> Outcome:
    def answer(done: Ticket[Any]) -> Any:
        return said(done.result()) if done.error is None else refused(done.error)

    return Later(ticket, hold=hold, answer=answer)

"""DescribeGroups, ListGroups, DeleteGroups and OffsetDelete: groups as administrators see them."""

from collections.abc import Sequence

from onelog.broker.broker import GroupDescribed, Phase
from onelog.errors import GroupNotEmpty, OnelogError, UnknownGroup
from onelog.model import TopicName
from onelog.protocols.contract import Later, Outcome
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.context import NOT_ASKED, Context
from onelog.protocols.kafka.messages.group_admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from onelog.ticket import Ticket

UNKNOWN_SINCE = 6  # DescribeGroups: an unknown group is an error, and not a dead one
COMPACT_SINCE = 3  # ListGroups: until then a text has 15 bits for its length
TEXT_BYTES_MAX = (1 << 15) - 1

# What may be asked of a group when nobody is forbidden anything; see context.py.
GROUP_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))

STATES = {
    Phase.EMPTY: "Empty",
    Phase.PREPARING: "PreparingRebalance",
    Phase.COMPLETING: "CompletingRebalance",
    Phase.STABLE: "Stable",
}
DEAD = "Dead"
CLASSIC = "Classic"


def describe_groups(context: Context, request: Request) -> Outcome:
    """One element for each group that is asked for, in that order."""
    body: DescribeGroupsRequest = request.body
    operations = GROUP_OPERATIONS if body.include_authorized_operations else NOT_ASKED
    groups = [_described(context, name, request.version) for name in body.groups]
    for group in groups:
        group.authorized_operations = operations
    return _behind_changes(context, DescribeGroupsResponse(groups=groups))


def list_groups(context: Context, request: Request) -> Outcome:
    """Groups with members and groups with positions, filtered by words in any case."""
    body: ListGroupsRequest = request.body
    states = {state.lower() for state in body.states_filter}
    types = {kind.lower() for kind in body.types_filter}
    listed = []
    if not types or CLASSIC.lower() in types:
        for name in context.broker.list_groups():
            group = context.broker.describe_group(name)
            state = STATES[group.phase]
            if _can_say(name, request.version) and (not states or state.lower() in states):
                listed.append(
                    ListedGroup(
                        group_id=name,
                        protocol_type=group.protocol_type,
                        group_state=state,
                        group_type=CLASSIC,
                    )
                )
    return _behind_changes(context, ListGroupsResponse(groups=listed))


def _can_say(name: str, version: int) -> bool:
    """Other dialects have groups with longer names than the first versions can tell of."""
    return version >= COMPACT_SINCE or len(name.encode()) <= TEXT_BYTES_MAX


def delete_groups(context: Context, request: Request) -> Outcome:
    """Each group has its own outcome."""
    body: DeleteGroupsRequest = request.body

    def answer(ticket: Ticket[list[OnelogError | None]]) -> DeleteGroupsResponse:
        verdicts = ticket.result() if ticket.error is None else [ticket.error] * len(body.groups_names)
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=name, error_code=_code(context, verdict))
                for name, verdict in zip(body.groups_names, verdicts, strict=True)
            ]
        )

    return Later(context.broker.delete_groups(body.groups_names), answer=answer)


def offset_delete(context: Context, request: Request) -> Outcome:
    """Each position has its own outcome, unless the group as a whole is refused."""
    body: OffsetDeleteRequest = request.body
    places = [
        (TopicName(topic.name), partition.partition_index)
        for topic in body.topics
        for partition in topic.partitions
    ]
    try:
        context.broker.describe_group(body.group_id)
    except UnknownGroup as error:
        return _behind_changes(context, OffsetDeleteResponse(error_code=context.refuse(error)))

    def answer(ticket: Ticket[list[OnelogError | None]]) -> OffsetDeleteResponse:
        if ticket.error is not None:
            return OffsetDeleteResponse(error_code=context.refuse(ticket.error))
        verdicts = ticket.result()
        refusal = next((verdict for verdict in verdicts if isinstance(verdict, GroupNotEmpty)), None)
        if refusal is not None:
            return OffsetDeleteResponse(error_code=context.refuse(refusal))
        return OffsetDeleteResponse(topics=_deleted(context, body, verdicts))

    return Later(context.broker.delete_positions(body.group_id, places), answer=answer)


def _deleted(
    context: Context, body: OffsetDeleteRequest, verdicts: Sequence[OnelogError | None]
) -> list[OffsetDeleteResponseTopic]:
    rest = iter(verdicts)
    return [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=partition.partition_index, error_code=_code(context, next(rest))
                )
                for partition in topic.partitions
            ],
        )
        for topic in body.topics
    ]


def _described(context: Context, name: str, version: int) -> DescribedGroup:
    try:
        group = context.broker.describe_group(name)
    except UnknownGroup as error:
        if version < UNKNOWN_SINCE:
            return DescribedGroup(group_id=name, group_state=DEAD)
        code = context.refuse(error)
        return DescribedGroup(group_id=name, group_state=DEAD, error_code=code, error_message=str(error))
    return DescribedGroup(
        group_id=name,
        group_state=STATES[group.phase],
        protocol_type=group.protocol_type,
        protocol_data=group.protocol,
        members=_members(group),
    )


def _members(group: GroupDescribed) -> list[DescribedGroupMember]:
    return [
        DescribedGroupMember(
            member_id=member.member,
            group_instance_id=member.instance,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata,
            member_assignment=member.assignment,
        )
        for member in group.members
    ]


def _code(context: Context, verdict: BaseException | None) -> Code:
    return Code.NONE if verdict is None else context.refuse(verdict)


def _behind_changes(context: Context, response: object) -> Outcome:
    """What was seen is told when it is durable."""

    def answer(ticket: Ticket[None]) -> object:
        ticket.result()
        return response

    return Later(context.broker.barrier(), answer=answer)

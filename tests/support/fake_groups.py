"""Groups of the fake cluster, in which nobody is waited for: who joins is in the next generation.

Others may be in a group (`strangers`), and one of them may lead it (`given`: what that one
gives to our member). Requests that are to fail do so by the faults of the fake cluster.
"""

from dataclasses import dataclass, field
from typing import Any

from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages import group_admin, membership

STRANGER = "stranger"


@dataclass
class Group:
    """One group: its generation, and what each member said and got."""

    generation: int = 0
    members: dict[str, bytes] = field(default_factory=dict)
    strangers: dict[str, bytes] = field(default_factory=dict)
    assigned: dict[str, bytes] = field(default_factory=dict)
    given: bytes | None = None
    assignor: str = ""
    skips: bool = False


class FakeGroups:
    """All of them; each answers as the broker that keeps it."""

    def __init__(self) -> None:
        self.by_name: dict[str, Group] = {}
        self._ids = 0

    def group(self, name: str) -> Group:
        return self.by_name.setdefault(name, Group())

    def join(self, request: membership.JoinGroupRequest, code: Code) -> Any:
        group = self.group(request.group_id)
        member = request.member_id
        if not (code or member or request.group_instance_id):
            self._ids += 1
            return membership.JoinGroupResponse(
                error_code=Code.MEMBER_ID_REQUIRED, member_id=f"member-{self._ids}"
            )
        if code:
            return membership.JoinGroupResponse(error_code=code, member_id=member)
        member = member or f"{request.group_instance_id}-1"
        group.generation += 1
        group.members[member] = request.protocols[0].metadata
        group.assignor = request.protocols[0].name
        leads = group.given is None
        everyone = group.members | group.strangers
        return membership.JoinGroupResponse(
            generation_id=group.generation,
            protocol_type=request.protocol_type,
            protocol_name=group.assignor,
            leader=member if leads else STRANGER,
            skip_assignment=group.skips,
            member_id=member,
            members=[
                membership.JoinGroupResponseMember(member_id=each, metadata=said)
                for each, said in everyone.items()
                if leads
            ],
        )

    def sync(self, request: membership.SyncGroupRequest, code: Code) -> Any:
        group = self.group(request.group_id)
        if code:
            self._doubt(group, request.member_id, code)
            return membership.SyncGroupResponse(error_code=code)
        if group.given is not None:
            group.assigned[request.member_id] = group.given
        group.assigned.update({each.member_id: each.assignment for each in request.assignments})
        return membership.SyncGroupResponse(assignment=group.assigned.get(request.member_id, b""))

    def heartbeat(self, request: membership.HeartbeatRequest, code: Code) -> Any:
        self._doubt(self.group(request.group_id), request.member_id, code)
        return membership.HeartbeatResponse(error_code=code)

    def _doubt(self, group: Group, member: str, code: Code) -> None:
        """Whom the broker does not know is not there."""
        if code == Code.UNKNOWN_MEMBER_ID:
            group.members.pop(member, None)

    def leave(self, request: membership.LeaveGroupRequest, code: Code) -> Any:
        group = self.group(request.group_id)
        ids = [each.member_id for each in request.members] or [request.member_id]
        for member in ids:
            group.members.pop(member, None)
        return membership.LeaveGroupResponse(
            error_code=code,
            members=[membership.MemberResponse(member_id=member, error_code=code) for member in ids],
        )

    def list(self, request: group_admin.ListGroupsRequest, code: Code) -> Any:
        listed = [
            group_admin.ListedGroup(group_id=name, protocol_type="consumer", group_state=_state(group))
            for name, group in self.by_name.items()
        ]
        return group_admin.ListGroupsResponse(error_code=code, groups=listed)

    def describe(self, request: group_admin.DescribeGroupsRequest, code: Code) -> Any:
        described = []
        for name in request.groups:
            group = self.by_name.get(name, Group())
            members = [
                group_admin.DescribedGroupMember(
                    member_id=member,
                    client_id="onelog",
                    client_host="/127.0.0.1",
                    member_metadata=said,
                    member_assignment=group.assigned.get(member, b""),
                )
                for member, said in group.members.items()
            ]
            described.append(
                group_admin.DescribedGroup(
                    error_code=code,
                    group_id=name,
                    group_state=_state(group) if name in self.by_name else "Dead",
                    protocol_type="consumer",
                    protocol_data=group.assignor,
                    members=members,
                )
            )
        return group_admin.DescribeGroupsResponse(groups=described)

    def delete(self, request: group_admin.DeleteGroupsRequest, code: Code) -> Any:
        results = []
        for name in request.groups_names:
            group = self.by_name.get(name)
            refused = Code.GROUP_ID_NOT_FOUND if group is None else Code.NONE
            if group is not None and group.members:
                refused = Code.NON_EMPTY_GROUP
            if not (code or refused):
                del self.by_name[name]
            results.append(group_admin.DeletableGroupResult(group_id=name, error_code=code or refused))
        return group_admin.DeleteGroupsResponse(results=results)

    def delete_offsets(self, request: group_admin.OffsetDeleteRequest, code: Code) -> Any:
        answered = []
        for topic in request.topics:
            parts = [
                group_admin.OffsetDeleteResponsePartition(partition_index=p.partition_index, error_code=code)
                for p in topic.partitions
            ]
            answered.append(group_admin.OffsetDeleteResponseTopic(name=topic.name, partitions=parts))
        return group_admin.OffsetDeleteResponse(topics=answered)


def _state(group: Group) -> str:
    return "Stable" if group.members else "Empty"

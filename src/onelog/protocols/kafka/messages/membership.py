"""Who is in a group: JoinGroup (11), Heartbeat (12), LeaveGroup (13), SyncGroup (14)."""

from onelog.binary.fields import array32, boolean, bytes32, i16, i32, text16
from onelog.binary.message import SIGNED, message


@message()
class JoinGroupRequestProtocol:
    name: str = text16()
    metadata: bytes = bytes32()


@message(flexible=6, lengths=SIGNED)
class JoinGroupRequest:
    """One wants to be a member, or stay one: what it could follow, most wanted first."""

    group_id: str = text16()
    session_timeout_ms: int = i32()
    rebalance_timeout_ms: int = i32(since=1, default=-1)
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True, since=5)
    protocol_type: str = text16()
    protocols: list[JoinGroupRequestProtocol] = array32(JoinGroupRequestProtocol)
    reason: str | None = text16(nullable=True, since=8)


@message()
class JoinGroupResponseMember:
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True, since=5)
    metadata: bytes = bytes32()


@message(flexible=6, lengths=SIGNED)
class JoinGroupResponse:
    """The generation that one is part of; its leader alone hears of the members."""

    throttle_time_ms: int = i32(since=2)
    error_code: int = i16()
    generation_id: int = i32(default=-1)
    protocol_type: str | None = text16(nullable=True, since=7)
    protocol_name: str | None = text16(nullable=7, default="")
    leader: str = text16()
    skip_assignment: bool = boolean(since=9)
    member_id: str = text16()
    members: list[JoinGroupResponseMember] = array32(JoinGroupResponseMember)


@message(flexible=4, lengths=SIGNED)
class HeartbeatRequest:
    """One is still there."""

    group_id: str = text16()
    generation_id: int = i32()
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True, since=3)


@message(flexible=4, lengths=SIGNED)
class HeartbeatResponse:
    """And is still a member, or has to join again."""

    throttle_time_ms: int = i32(since=1)
    error_code: int = i16()


@message()
class MemberIdentity:
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True)
    reason: str | None = text16(nullable=True, since=5)


@message(flexible=4, lengths=SIGNED)
class LeaveGroupRequest:
    """One member goes until version 2, then many."""

    group_id: str = text16()
    member_id: str = text16(until=2)
    members: list[MemberIdentity] = array32(MemberIdentity, since=3)


@message()
class MemberResponse:
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True)
    error_code: int = i16()


@message(flexible=4, lengths=SIGNED)
class LeaveGroupResponse:
    """What became of each."""

    throttle_time_ms: int = i32(since=1)
    error_code: int = i16()
    members: list[MemberResponse] = array32(MemberResponse, since=3)


@message()
class SyncGroupRequestAssignment:
    member_id: str = text16()
    assignment: bytes = bytes32()


@message(flexible=4, lengths=SIGNED)
class SyncGroupRequest:
    """The leader says who has what; the others say nothing, and all of them ask."""

    group_id: str = text16()
    generation_id: int = i32()
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True, since=3)
    protocol_type: str | None = text16(nullable=True, since=5)
    protocol_name: str | None = text16(nullable=True, since=5)
    assignments: list[SyncGroupRequestAssignment] = array32(SyncGroupRequestAssignment)


@message(flexible=4, lengths=SIGNED)
class SyncGroupResponse:
    """What the member has."""

    throttle_time_ms: int = i32(since=1)
    error_code: int = i16()
    protocol_type: str | None = text16(nullable=True, since=5)
    protocol_name: str | None = text16(nullable=True, since=5)
    assignment: bytes = bytes32()

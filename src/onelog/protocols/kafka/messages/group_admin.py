"""Groups seen from outside: DescribeGroups (15), ListGroups (16), DeleteGroups (42), OffsetDelete (47)."""

from onelog.binary.fields import array32, boolean, bytes32, i16, i32, text16
from onelog.binary.message import SIGNED, message


@message(flexible=5, lengths=SIGNED)
class DescribeGroupsRequest:
    """Who is in these groups?"""

    groups: list[str] = array32(text16())
    include_authorized_operations: bool = boolean(since=3)


@message()
class DescribedGroupMember:
    member_id: str = text16()
    group_instance_id: str | None = text16(nullable=True, since=4)
    client_id: str = text16()
    client_host: str = text16()
    member_metadata: bytes = bytes32()
    member_assignment: bytes = bytes32()


@message()
class DescribedGroup:
    error_code: int = i16()
    error_message: str | None = text16(nullable=True, since=6)
    group_id: str = text16()
    group_state: str = text16()
    protocol_type: str = text16()
    protocol_data: str = text16()
    members: list[DescribedGroupMember] = array32(DescribedGroupMember)
    authorized_operations: int = i32(since=3, default=-(1 << 31))


@message(flexible=5, lengths=SIGNED)
class DescribeGroupsResponse:
    """One element for each group that was asked for."""

    throttle_time_ms: int = i32(since=1)
    groups: list[DescribedGroup] = array32(DescribedGroup)


@message(flexible=3, lengths=SIGNED)
class ListGroupsRequest:
    """Which groups are there? No filter lets all through."""

    states_filter: list[str] = array32(text16(), since=4)
    types_filter: list[str] = array32(text16(), since=5)


@message()
class ListedGroup:
    group_id: str = text16()
    protocol_type: str = text16()
    group_state: str = text16(since=4)
    group_type: str = text16(since=5)


@message(flexible=3, lengths=SIGNED)
class ListGroupsResponse:
    """Names, and what kind of protocol their members speak."""

    throttle_time_ms: int = i32(since=1)
    error_code: int = i16()
    groups: list[ListedGroup] = array32(ListedGroup)


@message(flexible=2, lengths=SIGNED)
class DeleteGroupsRequest:
    """These groups are to go, with their positions."""

    groups_names: list[str] = array32(text16())


@message()
class DeletableGroupResult:
    group_id: str = text16()
    error_code: int = i16()


@message(flexible=2, lengths=SIGNED)
class DeleteGroupsResponse:
    """What became of each."""

    throttle_time_ms: int = i32()
    results: list[DeletableGroupResult] = array32(DeletableGroupResult)


@message()
class OffsetDeleteRequestPartition:
    partition_index: int = i32()


@message()
class OffsetDeleteRequestTopic:
    name: str = text16()
    partitions: list[OffsetDeleteRequestPartition] = array32(OffsetDeleteRequestPartition)


@message(lengths=SIGNED)
class OffsetDeleteRequest:
    """A group's positions in these partitions are to go. The one message that never became flexible."""

    group_id: str = text16()
    topics: list[OffsetDeleteRequestTopic] = array32(OffsetDeleteRequestTopic)


@message()
class OffsetDeleteResponsePartition:
    partition_index: int = i32()
    error_code: int = i16()


@message()
class OffsetDeleteResponseTopic:
    name: str = text16()
    partitions: list[OffsetDeleteResponsePartition] = array32(OffsetDeleteResponsePartition)


@message(lengths=SIGNED)
class OffsetDeleteResponse:
    """What became of each."""

    error_code: int = i16()
    throttle_time_ms: int = i32()
    topics: list[OffsetDeleteResponseTopic] = array32(OffsetDeleteResponseTopic)

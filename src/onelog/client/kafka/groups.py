"""Groups seen from outside: which there are, who is in them, how far behind they are, and their end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from onelog.client.errors import ConnectionLost
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError, check
from onelog.client.kafka.offsets import Offsets, Spot
from onelog.client.kafka.positions import Positions
from onelog.client.kafka.subscription import PROTOCOL_TYPE, Place, assignment_of
from onelog.client.retry import Deadline
from onelog.model import Isolation
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

# What brokers before version 6 of DescribeGroups say of a group that is not there.
DEAD = "Dead"


class GroupInfo(NamedTuple):
    """A group in a list. Brokers of old do not tell its state."""

    name: str
    state: str
    protocol_type: str


@dataclass(frozen=True)
class GroupMember:
    """Somebody in a group, and what he holds."""

    id: str
    instance_id: str | None
    client_id: str
    host: str
    places: frozenset[Place]


@dataclass(frozen=True)
class GroupDescription:
    """A group: its state, by which name its members share, and who they are."""

    name: str
    state: str
    protocol_type: str
    assignor: str
    members: Sequence[GroupMember]


class Progress(NamedTuple):
    """How far a group is in a partition. Lag: what is there and was not read.

    position: None where it has none yet; then all that is there is still to be read.
    """

    topic: str
    partition: int
    position: int | None
    start: int
    end: int

    @property
    def lag(self) -> int:
        """Below the start nothing is left to be read."""
        position = self.start if self.position is None else self.position
        return max(0, self.end - max(position, self.start))


class Groups:
    """Groups of one cluster. Holds no state: safe to use from several threads."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client
        self._positions = Positions(client)
        self._offsets = Offsets(client)

    def list(self) -> Sequence[GroupInfo]:
        """Every group, by name; each broker knows its own."""

        def attempt(deadline: Deadline) -> Sequence[GroupInfo]:
            answers = self._client.ask_all(
                ListGroupsRequest(), ListGroupsResponse, doing="asking for groups", deadline=deadline
            )
            found: set[GroupInfo] = set()
            for answer in answers:
                check(answer.error_code, where="groups")
                found.update(GroupInfo(g.group_id, g.group_state, g.protocol_type) for g in answer.groups)
            return sorted(found)

        return self._client.run(attempt)

    def describe(self, name: str) -> GroupDescription:
        """A group and its members; KafkaError where there is none of that name."""
        where = f"group {name!r}"

        def attempt(deadline: Deadline) -> GroupDescription:
            answer = self._client.ask_coordinator(
                name,
                DescribeGroupsRequest(groups=[name]),
                DescribeGroupsResponse,
                doing=f"asking for {where}",
                deadline=deadline,
            )
            (group,) = answer.groups
            check(group.error_code, where=where, message=group.error_message)
            if group.group_state == DEAD:
                raise KafkaError(Code.GROUP_ID_NOT_FOUND, where=where)
            return _described(group)

        return self._client.run(attempt)

    def delete(self, name: str) -> None:
        """Forget a group with its positions; KafkaError while it has members."""
        where = f"group {name!r}"
        lost = False

        def attempt(deadline: Deadline) -> None:
            nonlocal lost
            try:
                answer = self._client.ask_coordinator(
                    name,
                    DeleteGroupsRequest(groups_names=[name]),
                    DeleteGroupsResponse,
                    doing=f"deleting {where}",
                    deadline=deadline,
                )
            except ConnectionLost as error:
                lost = lost or error.sent
                raise
            for each in answer.results:
                # Gone by the attempt whose answer was lost.
                if not (lost and each.error_code == Code.GROUP_ID_NOT_FOUND):
                    check(each.error_code, where=where)

        self._client.run(attempt)

    def delete_positions(self, name: str, places: Iterable[Place]) -> None:
        """Forget how far a group is in some partitions; KafkaError where a member reads their topic."""
        where = f"group {name!r}"
        by_topic: dict[str, list[OffsetDeleteRequestPartition]] = {}
        for topic, partition in places:
            by_topic.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=partition))
        topics = [OffsetDeleteRequestTopic(name=topic, partitions=some) for topic, some in by_topic.items()]
        request = OffsetDeleteRequest(group_id=name, topics=topics)

        def attempt(deadline: Deadline) -> None:
            doing = f"deleting positions of {where}"
            answer = self._client.ask_coordinator(
                name, request, OffsetDeleteResponse, doing=doing, deadline=deadline
            )
            check(answer.error_code, where=where)
            for each in answer.topics:
                for p in each.partitions:
                    check(p.error_code, where=f"{where}, {each.name}/{p.partition_index}")

        self._client.run(attempt)

    def progress(
        self,
        name: str,
        *,
        held: Iterable[Place] = (),
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> Sequence[Progress]:
        """How far a group is wherever it has a position, in the order of topics and partitions.

        held: what its members hold, which is told of without a position, too.
        """
        known = self._positions.of(name)
        by_topic: dict[str, dict[int, int | None]] = {}
        for place in sorted({*known, *held}):
            topic, partition = place
            by_topic.setdefault(topic, {})[partition] = known[place].offset if place in known else None
        found = []
        for topic, positions in by_topic.items():
            starts = self._offsets.list(topic, Spot.EARLIEST, partitions=positions, isolation=isolation)
            ends = self._offsets.list(topic, Spot.LATEST, partitions=positions, isolation=isolation)
            found += [
                Progress(topic, partition, offset, starts[partition].offset, ends[partition].offset)
                for partition, offset in positions.items()
            ]
        return found


def _described(group: DescribedGroup) -> GroupDescription:
    is_consumers = group.protocol_type == PROTOCOL_TYPE
    return GroupDescription(
        name=group.group_id,
        state=group.group_state,
        protocol_type=group.protocol_type,
        assignor=group.protocol_data,
        members=sorted(
            (_member(each, group.group_id, is_consumer=is_consumers) for each in group.members),
            key=lambda member: member.id,
        ),
    )


def _member(member: DescribedGroupMember, group: str, *, is_consumer: bool) -> GroupMember:
    where = f"group {group!r}, member {member.member_id}"
    # What members of other kinds of groups hold is said in their own words.
    places = assignment_of(member.member_assignment, where=where) if is_consumer else frozenset()
    return GroupMember(
        id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        host=member.client_host,
        places=places,
    )

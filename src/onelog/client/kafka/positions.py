"""How far groups have read: kept by the broker, for anybody who knows the group's name.

Without membership, as tools do it: a group whose members are at work refuses commits but
theirs, which name the generation that they are made in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import check
from onelog.client.retry import Deadline
from onelog.protocols.kafka.messages.groups import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

NO_GENERATION = -1
# From the next version on topics go by their ids, which are not needed here.
BY_NAME_MAX = 9

Place = tuple[str, int]


@dataclass(frozen=True)
class Position:
    """The next offset to read, and what its group noted with it."""

    offset: int
    note: str = ""
    leader_epoch: int = -1


class Membership(NamedTuple):
    """Under which a member commits; of nobody, unless said otherwise."""

    generation: int = NO_GENERATION
    member_id: str = ""
    instance_id: str | None = None


NOBODY = Membership()


class Positions:
    """Positions of any group of one cluster. Holds no state: safe to use from several threads."""

    def __init__(self, client: KafkaClient) -> None:
        self._client = client

    def commit(
        self, group: str, positions: Mapping[Place, Position | int], *, membership: Membership = NOBODY
    ) -> None:
        """Keep where a group is, by topic and partition; KafkaError names the first that was refused."""
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, partition), position in positions.items():
            at = Position(position) if isinstance(position, int) else position
            by_topic.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=at.offset,
                    committed_leader_epoch=at.leader_epoch,
                    committed_metadata=at.note,
                )
            )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=membership.generation,
            member_id=membership.member_id,
            group_instance_id=membership.instance_id,
            topics=[OffsetCommitRequestTopic(name=t, partitions=p) for t, p in by_topic.items()],
        )

        def attempt(deadline: Deadline) -> None:
            answer = self._client.ask_coordinator(
                group,
                request,
                OffsetCommitResponse,
                doing=f"committing positions of group {group!r}",
                deadline=deadline,
                version_max=BY_NAME_MAX,
            )
            for each in answer.topics:
                for p in each.partitions:
                    check(p.error_code, where=f"group {group!r}, {each.name}/{p.partition_index}")

        self._client.run(attempt)

    def of(self, group: str, places: Iterable[Place] | None = None) -> dict[Place, Position]:
        """Where a group is, at these places or at all it has been; places without a position are left out."""
        by_topic: dict[str, list[int]] | None = None
        if places is not None:
            by_topic = {}
            for topic, partition in places:
                by_topic.setdefault(topic, []).append(partition)
        request = _request(group, by_topic)

        def attempt(deadline: Deadline) -> dict[Place, Position]:
            answer = self._client.ask_coordinator(
                group,
                request,
                OffsetFetchResponse,
                doing=f"asking for positions of group {group!r}",
                deadline=deadline,
                version_max=BY_NAME_MAX,
            )
            return _found(group, answer)

        return self._client.run(attempt)


def _request(group: str, by_topic: Mapping[str, list[int]] | None) -> OffsetFetchRequest:
    """In the words of version 7 and before, and in those since; the version picks."""
    if by_topic is None:
        return OffsetFetchRequest(
            group_id=group, topics=None, groups=[OffsetFetchRequestGroup(group_id=group, topics=None)]
        )
    before = [OffsetFetchRequestTopic(name=t, partition_indexes=p) for t, p in by_topic.items()]
    since = [OffsetFetchRequestTopics(name=t, partition_indexes=p) for t, p in by_topic.items()]
    return OffsetFetchRequest(
        group_id=group, topics=before, groups=[OffsetFetchRequestGroup(group_id=group, topics=since)]
    )


def _found(group: str, answer: OffsetFetchResponse) -> dict[Place, Position]:
    where = f"group {group!r}"
    source: OffsetFetchResponse | OffsetFetchResponseGroup = answer.groups[0] if answer.groups else answer
    check(source.error_code, where=where)
    found: dict[Place, Position] = {}
    for topic in source.topics:
        for each in topic.partitions:
            check(each.error_code, where=f"{where}, {topic.name}/{each.partition_index}")
            if each.committed_offset >= 0:
                found[topic.name, each.partition_index] = Position(
                    each.committed_offset, each.metadata or "", each.committed_leader_epoch
                )
    return found

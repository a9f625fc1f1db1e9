"""One round of joining a group: who is there, who shares out, what one is given.

    JoinGroup, twice where the first one only gives an id -> the leader shares out -> SyncGroup

A round may have to be begun again; whoever runs it does so. What lasts from round to round is
the member's id: a second one would be waited for by all the others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onelog.client.kafka.assignors import Assignor
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError, check
from onelog.client.kafka.subscription import (
    PROTOCOL_TYPE,
    Place,
    Subscription,
    assignment_bytes,
    assignment_of,
    subscription_bytes,
    subscription_of,
)
from onelog.client.retry import Deadline
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

# Of a session, so that one or two that are lost end nothing.
HEARTBEATS_A_SESSION = 10


@dataclass(frozen=True)
class MemberTimes:
    """How long a group waits for its members."""

    session_s: float = 45.0
    rebalance_s: float = 60.0

    @property
    def heartbeat_s(self) -> float:
        """How often a member says that it is there."""
        return self.session_s / HEARTBEATS_A_SESSION


@dataclass(frozen=True)
class Wish:
    """What one wants to be: a member of this group, for these topics, sharing like this."""

    group: str
    topics: frozenset[str]
    assignor: Assignor
    times: MemberTimes
    instance_id: str | None

    @property
    def where(self) -> str:
        """The group in messages."""
        return f"group {self.group!r}"


@dataclass(frozen=True)
class Joined:
    """A place in a generation. shared: the partitions that one has shared out, as their leader."""

    generation: int
    places: frozenset[Place]
    shared: Mapping[str, int] | None


class Joining:
    """Owns the id of one member. One thread at a time."""

    def __init__(self, client: KafkaClient, wish: Wish) -> None:
        self._client = client
        self._wish = wish
        self.member_id = ""

    def attempt(self, owned: frozenset[Place], generation: int, deadline: Deadline) -> Joined:
        """One round, by one who holds these places since a generation."""
        answer = self._join(owned, generation, deadline)
        if answer.error_code == Code.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            answer = self._join(owned, generation, deadline)
        check(answer.error_code, where=self._wish.where)
        self.member_id = answer.member_id
        if answer.leader != answer.member_id:
            return Joined(answer.generation_id, self._synced(answer, [], deadline), None)
        shared, shares = self._shares(answer, deadline)
        return Joined(answer.generation_id, self._synced(answer, shares, deadline), shared)

    def counts(self, topics: Iterable[str], deadline: Deadline) -> dict[str, int]:
        """How many partitions topics have; none, where there is no such topic yet."""
        return {topic: self._count(topic, deadline) for topic in topics}

    def _join(self, owned: frozenset[Place], generation: int, deadline: Deadline) -> JoinGroupResponse:
        wish = self._wish
        metadata = subscription_bytes(Subscription(wish.topics, owned, generation))
        request = JoinGroupRequest(
            group_id=wish.group,
            session_timeout_ms=int(wish.times.session_s * 1000),
            rebalance_timeout_ms=int(wish.times.rebalance_s * 1000),
            member_id=self.member_id,
            group_instance_id=wish.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=wish.assignor.name, metadata=metadata)],
        )
        doing = f"joining {wish.where}"
        return self._client.ask_coordinator(
            wish.group, request, JoinGroupResponse, doing=doing, deadline=deadline
        )

    def _shares(
        self, answer: JoinGroupResponse, deadline: Deadline
    ) -> tuple[Mapping[str, int], list[SyncGroupRequestAssignment]]:
        members = {
            each.member_id: subscription_of(
                each.metadata, where=f"{self._wish.where}, member {each.member_id}"
            )
            for each in answer.members
        }
        topics = sorted({topic for wanted in members.values() for topic in wanted.topics})
        counts = self.counts(topics, deadline)
        if answer.skip_assignment:
            return counts, []
        assigned = self._wish.assignor.assign(members, counts)
        return counts, [
            SyncGroupRequestAssignment(member_id=member, assignment=assignment_bytes(places))
            for member, places in assigned.items()
        ]

    def _synced(
        self, joined: JoinGroupResponse, shares: list[SyncGroupRequestAssignment], deadline: Deadline
    ) -> frozenset[Place]:
        wish = self._wish
        request = SyncGroupRequest(
            group_id=wish.group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=wish.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=wish.assignor.name,
            assignments=shares,
        )
        doing = f"hearing what {wish.where} gives"
        answer = self._client.ask_coordinator(
            wish.group, request, SyncGroupResponse, doing=doing, deadline=deadline
        )
        check(answer.error_code, where=wish.where)
        return assignment_of(answer.assignment, where=wish.where)

    def _count(self, topic: str, deadline: Deadline) -> int:
        try:
            return self._client.topic(topic, deadline).partition_count
        except KafkaError as error:
            if error.code != Code.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return 0

"""One group as it stands: its members, its phase, its deadlines. Data, and questions about it.

    EMPTY --join--> PREPARING --all have joined, or time is up--> COMPLETING --leader assigns--> STABLE
      ^                 |  ^---------- somebody joins anew, leaves, or is not heard of ----------'
      '---nobody left---'

Deadlines are of the clock that never jumps. A group that is not there is what Kafka calls dead.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from onelog.broker.groups.words import JoinedMember, MemberProtocol, Phase
from onelog.broker.settings import BrokerSettings

# A member that never heard its own name cannot say that it is still there: while it waits to
# join for the first time it has so long, and then it is expected to ask again.
NEW_MEMBER_TIMEOUT_MS = 300_000

# What a member may be called, and what it may call its ways of sharing: others are told in messages
# that have 15 bits for a length, some of them of a name that is made of this and a UUID.
NAME_BYTES_MAX: Final = 1 << 14

CONSUMERS = "consumer"  # the one type of protocol whose members say which topics they read


@dataclass(frozen=True)
class GroupLimits:
    """What may be asked of groups, and how long they wait."""

    session_timeout_min_ms: int
    session_timeout_max_ms: int
    initial_rebalance_delay_ms: int
    members_max: int
    member_bytes_max: int

    @classmethod
    def of(cls, settings: BrokerSettings) -> "GroupLimits":
        """As the broker's settings say."""
        return cls(
            session_timeout_min_ms=settings.group_session_timeout_min_ms,
            session_timeout_max_ms=settings.group_session_timeout_max_ms,
            initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
            members_max=settings.group_members_max,
            member_bytes_max=settings.group_member_bytes_max,
        )


@dataclass(frozen=True, slots=True)
class Member:
    """One member. join_ask, sync_ask: the asking that waits for its answer, if one does.

    is_new: it was never part of a generation, and may not know its own name yet.
    """

    id: str
    instance: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    join_ask: int | None = None
    sync_ask: int | None = None

    def said_for(self, protocol: str | None) -> bytes:
        """What it says for a protocol."""
        return next((p.metadata for p in self.protocols if p.name == protocol), b"")

    def topics_for(self, protocol: str | None) -> frozenset[str] | None:
        """The topics that it wants to read by a protocol, if they are known."""
        return next((p.topics for p in self.protocols if p.name == protocol), None)


@dataclass(frozen=True, slots=True)
class Gathering:
    """The first members of an empty group are waited for: more of them prolong it."""

    delay_ms: int
    left_ms: int
    has_grown: bool = False


@dataclass(slots=True)
class Group:
    """One group. Changed while a decision is made about its copy, and never after, but for its sessions."""

    name: str
    phase: Phase = Phase.EMPTY
    since_ms: int = 0  # by the clock on the wall
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)  # which member an instance is now
    # Until when a member has to be heard of. One that waits for an answer is not asked for more.
    sessions: dict[str, int] = field(default_factory=dict)
    # Names that were given out, and until when they have to come back.
    pending: dict[str, int] = field(default_factory=dict)
    unsynced: set[str] = field(default_factory=set)
    gathering: Gathering | None = None
    join_deadline_ms: int | None = None
    sync_deadline_ms: int | None = None

    def copy(self) -> "Group":
        """Another one to make a decision about."""
        return replace(
            self,
            members=dict(self.members),
            instances=dict(self.instances),
            sessions=dict(self.sessions),
            pending=dict(self.pending),
            unsynced=set(self.unsynced),
        )

    @property
    def joining(self) -> int:
        """How many members wait for the next generation."""
        return sum(member.join_ask is not None for member in self.members.values())

    @property
    def have_all_joined(self) -> bool:
        """Whether nobody has to be waited for."""
        return not self.pending and self.joining == len(self.members)

    @property
    def rebalance_timeout_ms(self) -> int:
        """As long as the most patient member wants."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def supports(self, protocol_type: str, names: list[str]) -> bool:
        """Whether one with these protocols can be a member beside those that are."""
        if not self.members:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and not self.common_protocols().isdisjoint(names)

    def common_protocols(self) -> set[str]:
        """What all members could follow."""
        counted = Counter(name for member in self.members.values() for name in _names(member))
        return {name for name, count in counted.items() if count == len(self.members)}

    def chosen_protocol(self) -> str:
        """Each member votes for the first of its own that all can follow; the first of equals wins."""
        common = self.common_protocols()
        votes = Counter(
            next(name for name in _names(member) if name in common) for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    def for_leader(self) -> list[JoinedMember]:
        """The members as their leader hears of them."""
        return [
            JoinedMember(member.id, member.instance, member.said_for(self.protocol))
            for member in self.members.values()
        ]

    def reads(self, topic: str) -> bool:
        """Whether the members read a topic; if that is unknown, they may."""
        if self.protocol_type != CONSUMERS or self.protocol is None:
            return bool(self.members)
        topics = [member.topics_for(self.protocol) for member in self.members.values()]
        return any(some is None or topic in some for some in topics)

    def next_deadline_ms(self) -> int | None:
        """When something is due, if nothing happens before."""
        due = [*self.sessions.values(), *self.pending.values(), self.join_deadline_ms, self.sync_deadline_ms]
        return min((at for at in due if at is not None), default=None)


def _names(member: Member) -> list[str]:
    """Each once: who says a protocol twice has one vote all the same."""
    return list(dict.fromkeys(protocol.name for protocol in member.protocols))

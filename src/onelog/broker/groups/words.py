"""What is asked of a group and what it answers: plain values, no behaviour.

A request that may have to wait carries the number of its asking; answers name it again,
also those of others who had been waiting. Dialects get these words from broker.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from onelog.errors import OnelogError


class Moment(NamedTuple):
    """When something is decided: by the clock that never jumps, and by the one on the wall."""

    monotonic_ms: int
    wall_ms: int


class Phase(Enum):
    """Where a group is between two generations."""

    EMPTY = "empty"
    PREPARING = "preparing"
    COMPLETING = "completing"
    STABLE = "stable"


class MemberProtocol(NamedTuple):
    """One way of sharing the work that a member could follow, and what it says for it.

    topics: those that it wants to read, if what it says is known to name them; None: unknown.
    """

    name: str
    metadata: bytes
    topics: frozenset[str] | None = None


class Membership(NamedTuple):
    """Who says so: a member in a generation. Without member, instance and generation: nobody."""

    member: str = ""
    generation: int = -1
    instance: str | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether whoever speaks says that it is a member."""
        return bool(self.member) or self.generation >= 0 or self.instance is not None


NOBODY = Membership()


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Become a member, or stay one in the next generation. No member: a new one.

    fresh_id: the name of the member, if it is to get one.
    needs_known_id: a new member is told its name first, and comes again with it.
    may_skip_assignment: a leader that came back can be told that all is as it was.
    """

    group: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Sequence[MemberProtocol]
    fresh_id: str = ""
    member: str = ""
    instance: str | None = None
    client_id: str = ""
    client_host: str = ""
    needs_known_id: bool = True
    may_skip_assignment: bool = True
    ask: int = 0


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """What is mine? The leader says it for all. Protocols that are None are not checked."""

    group: str
    by: Membership
    assignments: Mapping[str, bytes] = field(default_factory=dict)
    protocol_type: str | None = None
    protocol: str | None = None
    ask: int = 0


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """I am still here."""

    group: str
    by: Membership
    ask: int = 0


class Leaving(NamedTuple):
    """One member that goes; without a name it is the instance that goes."""

    member: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """These go, each with an outcome of its own."""

    group: str
    leaving: Sequence[Leaving]
    ask: int = 0


@dataclass(frozen=True, slots=True)
class CommitAs:
    """May this one commit for the group? is_known: it has positions, if nothing else."""

    group: str
    by: Membership
    is_known: bool
    ask: int = 0


@dataclass(frozen=True, slots=True)
class TimePassed:
    """What was due has happened."""

    group: str


@dataclass(frozen=True, slots=True)
class Resume:
    """The broker has started: sessions begin again, and what was on its way is done over."""

    group: str


@dataclass(frozen=True, slots=True)
class Forget:
    """The group is to go; it has no members."""

    group: str


Command = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | CommitAs | TimePassed | Resume | Forget


class JoinedMember(NamedTuple):
    """A member as the leader of its generation hears of it."""

    member: str
    instance: str | None
    metadata: bytes


class Joined(NamedTuple):
    """The generation that a member is part of. members: for the leader alone."""

    member: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str
    members: Sequence[JoinedMember] = ()
    skips_assignment: bool = False


class Synced(NamedTuple):
    """What a member has in its generation."""

    assignment: bytes
    protocol_type: str | None
    protocol: str | None


Outcome = Joined | Synced | Sequence[OnelogError | None] | OnelogError | None


class Answer(NamedTuple):
    """What an asking comes to."""

    ask: int
    outcome: Outcome


class MemberDescribed(NamedTuple):
    """A member as people see it. What it said and has is known in a generation that stands."""

    member: str
    instance: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupDescribed(NamedTuple):
    """A group as people see it. Without members ever: it has positions only, and no protocol type."""

    name: str
    phase: Phase
    protocol_type: str
    protocol: str
    members: Sequence[MemberDescribed]

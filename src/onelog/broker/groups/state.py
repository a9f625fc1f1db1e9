"""Which groups there are: what a request or time does to one, and what a change does. Pure.

A decision is made about a copy of the group; the group as it becomes is the change. It is
made against everything decided before it, durable or not. Who only says that it is there
moves the end of its session, for which nothing is copied: groups have thousands who say so.
"""

from dataclasses import dataclass, field, replace

from onelog.broker.groups import joining, membership, timing
from onelog.broker.groups.decision import Decision
from onelog.broker.groups.group import Group, GroupLimits
from onelog.broker.groups.words import (
    Answer,
    Command,
    CommitAs,
    Forget,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Moment,
    Phase,
    Resume,
    SyncGroup,
    TimePassed,
)
from onelog.errors import (
    GroupNotEmpty,
    InvalidGroup,
    MemberIdRequired,
    OnelogError,
    UnknownGroup,
    UnknownMember,
)


@dataclass(frozen=True, slots=True)
class Changed:
    """A group is like this now; there was none before, or it was like that."""

    before: Group | None
    after: Group


@dataclass(frozen=True, slots=True)
class Forgotten:
    """There is no such group any more."""

    name: str


@dataclass(frozen=True, slots=True)
class Heard:
    """A member was heard of: its session ends later. Nothing of it lasts."""

    group: str
    member: str
    until_ms: int


Change = Changed | Forgotten | Heard


@dataclass
class GroupsState:
    """All groups that have, or had, members. Owned by the service; changed by apply alone."""

    by_name: dict[str, Group] = field(default_factory=dict)


def decide(
    state: GroupsState, command: Command, *, at: Moment, limits: GroupLimits
) -> tuple[list[Change], list[Answer]]:
    """What the command does, and what whoever waits is to hear of it."""
    before = state.by_name.get(command.group)
    if isinstance(command, Forget):
        return _forget(command, before), []
    if before is not None and isinstance(command, Heartbeat | CommitAs):
        return _listen(command, before, at, limits)
    group = before.copy() if before is not None else Group(command.group, since_ms=at.wall_ms)
    decision = Decision(group, at, limits)
    try:
        _carry_out(decision, command, is_there=before is not None)
    except MemberIdRequired as error:
        # Not a refusal of the change: the name that it gives out is remembered.
        decision.answer(_ask(command), error)
    except OnelogError as error:
        return [], [Answer(_ask(command), error)]
    if _is_nothing(group):
        changes: list[Change] = [] if before is None else [Forgotten(group.name)]
        return changes, decision.answers
    return [Changed(before, group)] if group != before else [], decision.answers


def apply(state: GroupsState, change: Change) -> None:
    """Make the change true in memory."""
    match change:
        case Changed(_, after):
            state.by_name[after.name] = after
        case Forgotten(name):
            del state.by_name[name]
        case Heard(name, member, until_ms):
            state.by_name[name].sessions[member] = until_ms


def _listen(
    command: Heartbeat | CommitAs, before: Group, at: Moment, limits: GroupLimits
) -> tuple[list[Change], list[Answer]]:
    decision = Decision(replace(before, sessions={}), at, limits)  # those in it are heard of now
    try:
        _carry_out(decision, command, is_there=True)
    except OnelogError as error:
        return [], [Answer(command.ask, error)]
    heard = decision.group.sessions.items()
    return [Heard(before.name, member, until_ms) for member, until_ms in heard], decision.answers


def _carry_out(decision: Decision, command: Command, *, is_there: bool) -> None:
    if not command.group and not isinstance(command, CommitAs):
        raise InvalidGroup(group=command.group)
    match command:
        case JoinGroup():
            joining.check(command, decision.limits)
            if not is_there and command.member:
                raise UnknownMember(group=command.group, member=command.member)
            joining.join(decision, command)
        case SyncGroup():
            membership.sync(decision, command)
        case Heartbeat():
            membership.heartbeat(decision, command)
        case LeaveGroup():
            membership.leave(decision, command)
        case CommitAs():
            if not is_there and not command.is_known and command.by.generation >= 0:
                raise UnknownGroup(group=command.group)
            membership.commit(decision, command)
        case TimePassed():
            timing.time_passed(decision)
        case Resume():
            timing.resume(decision)


def _forget(command: Forget, before: Group | None) -> list[Change]:
    if before is None:
        return []
    if before.phase is not Phase.EMPTY:
        raise GroupNotEmpty(group=command.group)
    return [Forgotten(command.group)]


def _ask(command: Command) -> int:
    assert not isinstance(command, TimePassed | Resume | Forget)
    return command.ask


def _is_nothing(group: Group) -> bool:
    """It never had a generation, and nobody is about to make one."""
    return group.phase is Phase.EMPTY and group.generation == 0 and not group.pending

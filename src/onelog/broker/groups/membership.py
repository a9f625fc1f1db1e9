"""What members do between joins: sync, heartbeat, commit, leave."""

from dataclasses import replace

from onelog.broker.groups import rebalance
from onelog.broker.groups.decision import Decision
from onelog.broker.groups.group import Member
from onelog.broker.groups.words import (
    CommitAs,
    Heartbeat,
    LeaveGroup,
    Leaving,
    Membership,
    Phase,
    Synced,
    SyncGroup,
)
from onelog.errors import (
    GroupNotEmpty,
    InconsistentProtocol,
    InvalidRequest,
    OnelogError,
    RebalanceInProgress,
    UnknownMember,
)


def sync(decision: Decision, request: SyncGroup) -> None:
    """Answered with what the member has, once the leader has said it."""
    group = decision.group
    member = decision.current(request.by)
    _check_protocol(decision, request)
    match group.phase:
        case Phase.EMPTY:
            raise UnknownMember(group=group.name, member=member.id)
        case Phase.PREPARING:
            raise RebalanceInProgress(group=group.name)
        case Phase.COMPLETING:
            _wait_for_leader(decision, member, request)
        case Phase.STABLE:
            _seen_by(decision, member)
            decision.heard(member)
            decision.answer(request.ask, _synced(decision, member))


def heartbeat(decision: Decision, request: Heartbeat) -> None:
    """Still a member; or it has to join anew."""
    member = decision.current(request.by)
    if decision.group.phase is Phase.EMPTY:
        raise UnknownMember(group=request.group, member=member.id)
    decision.heard_meanwhile(member)
    if decision.group.phase is Phase.PREPARING:
        decision.answer(request.ask, RebalanceInProgress(group=request.group))
    else:
        decision.answer(request.ask, None)


def commit(decision: Decision, request: CommitAs) -> None:
    """Members commit what is theirs; while there are any, nobody else does."""
    group, by = decision.group, request.by
    if by.generation < 0 and group.phase is Phase.EMPTY:
        decision.answer(request.ask, None)
        return
    if not by.is_claimed:
        raise GroupNotEmpty(group=group.name)
    member = decision.current(by)
    if group.phase is Phase.COMPLETING:
        # It has heard of the generation and not yet of what it has in it.
        raise RebalanceInProgress(group=group.name)
    decision.heard_meanwhile(member)
    decision.answer(request.ask, None)


def leave(decision: Decision, request: LeaveGroup) -> None:
    """Those who go, go together: one rebalance for all of them."""
    outcomes: list[OnelogError | None] = []
    members_before = len(decision.group.members)
    for leaving in request.leaving:
        try:
            _leave(decision, leaving)
        except OnelogError as error:
            outcomes.append(error)
        else:
            outcomes.append(None)
    if None in outcomes:
        rebalance.gone(decision, members=len(decision.group.members) < members_before)
    decision.answer(request.ask, outcomes)


def _leave(decision: Decision, leaving: Leaving) -> None:
    group = decision.group
    if not leaving.member:
        # People send an instance away by its name alone.
        name = group.instances.get(leaving.instance) if leaving.instance is not None else None
        if name is None:
            raise UnknownMember(group=group.name, member=leaving.instance or "")
        decision.remove(group.members[name])
    elif leaving.member in group.pending and leaving.instance is None:
        del group.pending[leaving.member]
    else:
        decision.remove(decision.known(Membership(leaving.member, instance=leaving.instance)))


def _check_protocol(decision: Decision, request: SyncGroup) -> None:
    group = decision.group
    pairs = ((request.protocol_type, group.protocol_type), (request.protocol, group.protocol))
    if any(said is not None and said != ours for said, ours in pairs):
        raise InconsistentProtocol(
            group=group.name,
            found=f"{request.protocol_type}: {request.protocol}",
            expected=f"{group.protocol_type}: {group.protocol}",
        )


def _wait_for_leader(decision: Decision, member: Member, request: SyncGroup) -> None:
    group = decision.group
    size = max(map(len, request.assignments.values()), default=0)
    if size > decision.limits.member_bytes_max:
        raise InvalidRequest(
            f"group {group.name!r}: an assignment of {size} bytes; "
            f"a member has at most {decision.limits.member_bytes_max}"
        )
    if member.sync_ask is not None:
        # Whoever asked before has gone, or asks twice: one of them gets the answer.
        decision.answer(member.sync_ask, RebalanceInProgress(group=group.name))
    _seen_by(decision, member)
    decision.put(replace(member, sync_ask=request.ask))
    group.sessions.pop(member.id, None)
    if group.leader == member.id:
        _assign(decision, request)


def _assign(decision: Decision, request: SyncGroup) -> None:
    """The leader has spoken. Who was not named has nothing, and hears that."""
    group = decision.group
    decision.enter(Phase.STABLE)
    for member in list(group.members.values()):
        assigned = replace(member, assignment=request.assignments.get(member.id, b""), sync_ask=None)
        decision.put(assigned)
        if member.sync_ask is not None:
            decision.answer(member.sync_ask, _synced(decision, assigned))
            decision.heard(assigned)


def _seen_by(decision: Decision, member: Member) -> None:
    """It has asked for its assignment; when all have, nobody is waited for."""
    group = decision.group
    group.unsynced.discard(member.id)
    if not group.unsynced:
        group.sync_deadline_ms = None


def _synced(decision: Decision, member: Member) -> Synced:
    group = decision.group
    return Synced(member.assignment, group.protocol_type, group.protocol)

"""JoinGroup: whether one may be a member, and what that means for those who are."""

from dataclasses import replace

from onelog.broker.groups import rebalance
from onelog.broker.groups.decision import Decision
from onelog.broker.groups.group import NAME_BYTES_MAX, NEW_MEMBER_TIMEOUT_MS, Group, GroupLimits, Member
from onelog.broker.groups.words import JoinGroup, Membership, Phase
from onelog.errors import (
    FencedInstance,
    GroupFull,
    InconsistentProtocol,
    InvalidRequest,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMember,
)


def check(request: JoinGroup, limits: GroupLimits) -> None:
    """What is wrong with it whatever group it is about."""
    least, most = limits.session_timeout_min_ms, limits.session_timeout_max_ms
    if not least <= request.session_timeout_ms <= most:
        raise InvalidSessionTimeout(
            group=request.group,
            found_ms=request.session_timeout_ms,
            least_ms=least,
            most_ms=most,
        )
    _check_names(request)
    size = sum(len(protocol.name) + len(protocol.metadata) for protocol in request.protocols)
    if size > limits.member_bytes_max:
        raise InvalidRequest(
            f"group {request.group!r}: protocols of {size} bytes; a member has at most {limits.member_bytes_max}"
        )


def _check_names(request: JoinGroup) -> None:
    names = [
        request.group,
        request.instance or "",
        request.protocol_type,
        *(p.name for p in request.protocols),
    ]
    for name in names:
        size = len(name.encode())
        if size > NAME_BYTES_MAX:
            raise InvalidRequest(
                f"group {request.group!r:.80}: a name of {size} bytes, {name!r:.80}; expected at most {NAME_BYTES_MAX}"
            )


def join(decision: Decision, request: JoinGroup) -> None:
    """Take it in, or back; it waits for its answer where others have to come first."""
    group = decision.group
    if not _has_room(group, request.member, decision.limits.members_max):
        raise GroupFull(group=group.name, members_max=decision.limits.members_max)
    if not group.supports(request.protocol_type, [protocol.name for protocol in request.protocols]):
        raise InconsistentProtocol(
            group=group.name,
            found=f"{request.protocol_type}: {', '.join(p.name for p in request.protocols)}",
            expected=f"{group.protocol_type or 'any'}: {', '.join(sorted(group.common_protocols()))}",
        )
    if request.member:
        _join_again(decision, request)
    elif request.instance is not None:
        _join_as_instance(decision, request)
    elif request.needs_known_id:
        group.pending[request.fresh_id] = decision.at.monotonic_ms + request.session_timeout_ms
        raise MemberIdRequired(group=group.name, member=request.fresh_id)
    else:
        _add(decision, request, request.fresh_id)


def _has_room(group: Group, member: str, members_max: int) -> bool:
    """Members that are, stay. While all join anew, those who come first are the ones who are in."""
    if group.phase is Phase.PREPARING:
        known = group.members.get(member)
        is_in = known is not None and known.join_ask is not None
        return is_in or member in group.pending or group.joining + len(group.pending) < members_max
    is_in = member in group.members or member in group.pending
    return is_in or len(group.members) + len(group.pending) < members_max


def _join_again(decision: Decision, request: JoinGroup) -> None:
    group = decision.group
    if request.member in group.pending and request.instance is None:
        _add(decision, request, request.member)
        return
    member = decision.known(Membership(request.member, instance=request.instance))
    is_same = member.protocols == tuple(request.protocols)
    match group.phase:
        case Phase.PREPARING:
            _rejoin(decision, member, request)
        case Phase.COMPLETING if is_same:
            # The answer to its first asking may have been lost.
            decision.answer(request.ask, decision.joined(member))
        case Phase.STABLE if is_same and group.leader != member.id:
            decision.answer(request.ask, decision.joined(member))
        case Phase.COMPLETING | Phase.STABLE:
            # A leader may know of changes that are not in what it says: more partitions, say.
            _rejoin(decision, member, request)
        case Phase.EMPTY:
            raise UnknownMember(group=group.name, member=request.member)


def _join_as_instance(decision: Decision, request: JoinGroup) -> None:
    """An instance that starts anew takes the place of what it was before."""
    group = decision.group
    assert request.instance is not None
    known = group.instances.get(request.instance)
    if known is None:
        _add(decision, request, request.fresh_id)
        return
    leader_before = group.leader
    member = _renamed(decision, group.members[known], request.fresh_id)
    member = _updated(member, request)
    decision.put(member)
    match group.phase:
        case Phase.STABLE if group.protocol == group.chosen_protocol():
            # Nobody else has to notice: it gets what it had before.
            leads = group.leader == member.id
            joined = decision.joined(member)
            if request.may_skip_assignment:
                joined = joined._replace(skips_assignment=leads)
            else:
                # It would assign anew as a leader, and nobody would hear of that.
                joined = joined._replace(leader=leader_before or "", members=())
            decision.answer_join(member, joined)
        case Phase.COMPLETING | Phase.STABLE:
            # Its old name may be in the leader's hands already, and would get what is its own.
            _wait(decision, member)
            rebalance.prepare(decision)
        case _:
            _wait(decision, member)
            rebalance.complete_if_all_joined(decision)


def _renamed(decision: Decision, old: Member, name: str) -> Member:
    """The same member under another name, in its old place; the old name is fenced from now on."""
    group = decision.group
    assert old.instance is not None
    fenced = FencedInstance(group=group.name, instance=old.instance)
    for ask in (old.join_ask, old.sync_ask):
        if ask is not None:
            decision.answer(ask, fenced)
    new = replace(old, id=name, join_ask=None, sync_ask=None)
    group.members = {m.id: m for m in (new if m is old else m for m in group.members.values())}
    group.instances[old.instance] = name
    group.sessions.pop(old.id, None)
    if old.id in group.unsynced:
        group.unsynced.remove(old.id)
        group.unsynced.add(name)
    if group.leader == old.id:
        group.leader = name
    decision.heard(new)
    return new


def _add(decision: Decision, request: JoinGroup, name: str) -> None:
    group = decision.group
    group.pending.pop(name, None)
    if not group.members:
        group.protocol_type = request.protocol_type
    if group.leader is None:
        group.leader = name
    if group.gathering is not None:
        group.gathering = replace(group.gathering, has_grown=True)
    member = Member(
        id=name,
        instance=request.instance,
        client_id=request.client_id,
        client_host=request.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=tuple(request.protocols),
        is_new=True,
        join_ask=request.ask,
    )
    decision.put(member)
    group.sessions[name] = decision.at.monotonic_ms + NEW_MEMBER_TIMEOUT_MS
    rebalance.prepare_or_complete(decision)


def _rejoin(decision: Decision, member: Member, request: JoinGroup) -> None:
    if member.join_ask is not None:
        # Whoever asked before has gone, or asks twice: one of them gets the answer.
        decision.answer(member.join_ask, RebalanceInProgress(group=decision.group.name))
    _wait(decision, _updated(member, request))
    rebalance.prepare_or_complete(decision)


def _wait(decision: Decision, member: Member) -> None:
    """It waits for its answer, and nothing is expected of it until then."""
    decision.put(member)
    if not member.is_new:
        decision.group.sessions.pop(member.id, None)


def _updated(member: Member, request: JoinGroup) -> Member:
    return replace(
        member,
        client_id=request.client_id,
        client_host=request.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=tuple(request.protocols),
        join_ask=request.ask,
    )

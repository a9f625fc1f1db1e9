"""From one generation to the next: members are gathered, a leader assigns, all hear what they have.

Whoever does not come back in time is a member no more, but for an instance: it has a name of
its own to come back under, and keeps its place until its session is over.
"""

from dataclasses import replace
from typing import Final

from onelog.broker.groups.decision import Decision
from onelog.broker.groups.group import Gathering
from onelog.broker.groups.words import Phase
from onelog.errors import RebalanceInProgress

# Members may say that a rebalance takes no time at all, or less: looking whether an instance is
# back would then never end, nor let anybody else have a turn.
LOOK_AGAIN_MS_MIN: Final = 1000


def prepare(decision: Decision) -> None:
    """Everybody is to join again."""
    group, now_ms = decision.group, decision.at.monotonic_ms
    if group.phase is Phase.COMPLETING:
        _send_back(decision)
    group.sync_deadline_ms = None
    group.unsynced.clear()
    was_empty = group.phase is Phase.EMPTY
    decision.enter(Phase.PREPARING)
    if was_empty:
        # The group is new, and others may be about to come: they are given a moment, or
        # each of them would cost all others a rebalance.
        delay_ms = decision.limits.initial_rebalance_delay_ms
        left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.gathering = Gathering(delay_ms, left_ms)
        group.join_deadline_ms = now_ms + delay_ms
    else:
        group.join_deadline_ms = now_ms + group.rebalance_timeout_ms
        complete_if_all_joined(decision)


def prepare_or_complete(decision: Decision) -> None:
    """Somebody came: a rebalance begins, or the one that is on its way may be able to end."""
    if decision.group.phase is Phase.PREPARING:
        complete_if_all_joined(decision)
    else:
        prepare(decision)


def complete_if_all_joined(decision: Decision) -> None:
    """The next generation begins early, if nobody is missing."""
    group = decision.group
    if group.phase is Phase.PREPARING and group.gathering is None and group.have_all_joined:
        complete(decision)


def gather_or_complete(decision: Decision) -> None:
    """The time to join is up, unless the first members of a group have become more in it."""
    group = decision.group
    gathering = group.gathering
    if gathering is not None and gathering.has_grown and gathering.left_ms > 0:
        delay_ms = min(decision.limits.initial_rebalance_delay_ms, gathering.left_ms)
        group.gathering = Gathering(delay_ms, max(gathering.left_ms - gathering.delay_ms, 0))
        group.join_deadline_ms = decision.at.monotonic_ms + delay_ms
    else:
        complete(decision)


def complete(decision: Decision) -> None:
    """The next generation begins with those who joined."""
    group = decision.group
    group.gathering = None
    for member in [m for m in group.members.values() if m.join_ask is None and m.instance is None]:
        decision.remove(member)
    if group.members and not _elect(decision):
        # Instances alone are left, none of which is back. They have until their sessions end.
        wait_ms = max(group.rebalance_timeout_ms, LOOK_AGAIN_MS_MIN)
        group.join_deadline_ms = decision.at.monotonic_ms + wait_ms
        return
    group.join_deadline_ms = None
    group.generation += 1
    if not group.members:
        group.protocol = None
        decision.enter(Phase.EMPTY)
        return
    group.protocol = group.chosen_protocol()
    decision.enter(Phase.COMPLETING)
    group.sync_deadline_ms = decision.at.monotonic_ms + group.rebalance_timeout_ms
    group.unsynced = set(group.members)
    for member in list(group.members.values()):
        decision.answer_join(member, decision.joined(member))


def gone(decision: Decision, *, members: bool) -> None:
    """Somebody is a member no more; or only a name is not waited for any more."""
    if members and decision.group.phase in (Phase.COMPLETING, Phase.STABLE):
        prepare(decision)
    else:
        complete_if_all_joined(decision)


def _elect(decision: Decision) -> bool:
    """The leader stays if it is back; else the first who is. Whether there is one."""
    group = decision.group
    leader = group.members.get(group.leader or "")
    if leader is None or leader.join_ask is None:
        back = next((member for member in group.members.values() if member.join_ask is not None), None)
        if back is None:
            return False
        group.leader = back.id
    return True


def _send_back(decision: Decision) -> None:
    """Who waits for an assignment of this generation is to join the next one."""
    group = decision.group
    for member in list(group.members.values()):
        if member.sync_ask is not None:
            decision.answer(member.sync_ask, RebalanceInProgress(group=group.name))
            decision.put(replace(member, sync_ask=None))
            decision.heard(member)

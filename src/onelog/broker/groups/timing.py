"""What time does to a group: sessions end, names are never claimed, joins and syncs take too long.

Nothing is due before its moment, and everything at it; who watches the clock is the service.
"""

from onelog.broker.groups import rebalance
from onelog.broker.groups.decision import Decision
from onelog.broker.groups.words import Phase


def time_passed(decision: Decision) -> None:
    """Do what is due."""
    group, now_ms = decision.group, decision.at.monotonic_ms
    _end_sessions(decision)
    if group.join_deadline_ms is not None and group.join_deadline_ms <= now_ms:
        rebalance.gather_or_complete(decision)
    if group.sync_deadline_ms is not None and group.sync_deadline_ms <= now_ms:
        _remove_unsynced(decision)


def resume(decision: Decision) -> None:
    """After a start, nobody has been heard of yet, and nobody waits.

    A generation that stood goes on. One that was on its way is begun anew: those who heard of
    it join again, as they would on any rebalance.
    """
    group = decision.group
    for member in group.members.values():
        decision.heard(member)
    if not group.members:
        group.phase = Phase.EMPTY
    elif group.phase in (Phase.PREPARING, Phase.COMPLETING):
        group.phase = Phase.PREPARING
        group.join_deadline_ms = decision.at.monotonic_ms + group.rebalance_timeout_ms


def _end_sessions(decision: Decision) -> None:
    group, now_ms = decision.group, decision.at.monotonic_ms
    unclaimed = [name for name, until_ms in group.pending.items() if until_ms <= now_ms]
    silent = [name for name, until_ms in group.sessions.items() if until_ms <= now_ms]
    for name in unclaimed:
        del group.pending[name]
    for name in silent:
        decision.remove(group.members[name])
    if unclaimed or silent:
        rebalance.gone(decision, members=bool(silent))


def _remove_unsynced(decision: Decision) -> None:
    """They joined and never asked for what they have: what was assigned to them lies idle."""
    group = decision.group
    group.sync_deadline_ms = None
    for name in list(group.unsynced):
        decision.remove(group.members[name])
    rebalance.prepare(decision)

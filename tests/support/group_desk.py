"""Members of groups at the door of an open broker."""

from collections.abc import Sequence
from typing import Any

from onelog.broker.broker import (
    Broker,
    Joined,
    JoinGroup,
    MemberProtocol,
    Membership,
    Synced,
    SyncGroup,
)
from onelog.ticket import Ticket
from tests.support.virtual_clock import turns, virtual_clock

DELAY_MS = 3000


def joining(
    member: str = "", *, group: str = "billing", topics: Sequence[str] = ("orders",), **options: Any
) -> JoinGroup:
    """A consumer's request."""
    protocol = MemberProtocol("range", b"says", frozenset(topics))
    request: dict[str, Any] = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": (protocol,),
        "needs_known_id": False,
    }
    return JoinGroup(group=group, member=member, **{**request, **options})


async def answered(broker: Broker, ticket: Ticket[Any], *, within_ms: int = 10 * DELAY_MS) -> Any:
    """The answer, for which time passes if need be; what is on its way to the disk is waited for."""
    for _ in range(within_ms // 500):
        await turns()
        await broker.barrier()
        if ticket.done:
            break
        await virtual_clock().advance(500)
    return await ticket


async def member_of(broker: Broker, group: str = "billing", **options: Any) -> Membership:
    """The only member of a group that stands."""
    joined: Joined = await answered(broker, broker.join_group(joining(group=group, **options)))
    by = Membership(joined.member, joined.generation)
    synced: Synced = await broker.sync_group(SyncGroup(group, by, {joined.member: b"all"}))
    assert synced.assignment == b"all"
    return by

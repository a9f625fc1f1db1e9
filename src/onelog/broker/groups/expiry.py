"""When positions go by themselves, and groups of which nothing is left.

no members ever                 a while after the commit
no members any more             the same, but not before the last one is gone for as long
a generation that stands        the same, of topics that no member reads; else never
a generation on its way         never
a commit that said how long     then, in any of the above that is not never
"""

import asyncio
from collections.abc import Mapping

from onelog import metrics as m
from onelog.broker.catalog import Catalog, Statement
from onelog.broker.groups.group import CONSUMERS, Group
from onelog.broker.groups.service import GroupsService
from onelog.broker.groups.words import Phase
from onelog.broker.positions.service import PositionsService
from onelog.broker.positions.state import Kept, Place
from onelog.broker.subscribers import Subscribers
from onelog.broker.topics.served import Served
from onelog.clock import Clock
from onelog.errors import UnknownTopicId
from onelog.metrics import Metrics
from onelog.model import TopicId
from onelog.ticket import Ticket


def is_expired(kept: Kept, group: Group | None, *, is_read: bool, now_ms: int, retention_ms: int) -> bool:
    """Whether a position may go. is_read: somebody reads its topic for the group."""
    if is_read or (group is not None and group.phase in (Phase.PREPARING, Phase.COMPLETING)):
        return False
    if group is not None and group.phase is Phase.STABLE and group.protocol_type != CONSUMERS:
        return False
    if kept.expires_ms is not None:
        return now_ms >= kept.expires_ms
    since_ms = kept.committed_ms
    if group is not None and group.phase is Phase.EMPTY and group.protocol_type is not None:
        since_ms = max(since_ms, group.since_ms)
    return now_ms - since_ms >= retention_ms


class Expiry:
    """Looks now and then, until closed. Lives in the loop's thread."""

    def __init__(
        self,
        *,
        groups: GroupsService,
        positions: PositionsService,
        subscribers: Subscribers,
        served: Served,
        catalog: Catalog,
        clock: Clock,
        metrics: Metrics,
        retention_ms: int,
        interval_ms: int,
    ) -> None:
        self._groups = groups
        self._positions = positions
        self._subscribers = subscribers
        self._served = served
        self._catalog = catalog
        self._clock = clock
        self._expired = metrics.series(m.POSITIONS_EXPIRED)
        self._retention_ms = retention_ms
        self._interval_s = interval_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Look now and then, until closed."""
        self._timer = self._loop.call_later(self._interval_s, self._look)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def check(self) -> Ticket[None]:
        """Forget what may go, in one transaction."""
        statements: list[Statement] = []
        for name in self._positions.groups():
            gone = self._gone(name, self._positions.kept(name))
            self._expired.add(len(gone))
            statements += self._positions.drop(name, gone)
        for group in self._groups.groups():
            if group.phase is Phase.EMPTY and not group.pending and not self._positions.is_known(group.name):
                statements += self._groups.forget(group.name)
        return self._catalog.write(statements) if statements else self._catalog.barrier()

    def _look(self) -> None:
        try:
            self.check()
        finally:
            self.start()  # whatever it was that broke: it does not end expiry for all groups

    def _gone(self, name: str, positions: Mapping[Place, Kept]) -> list[Place]:
        group = self._groups.group(name)
        read_by_others = self._subscribers.of(name)
        gone = []
        for place, kept in positions.items():
            topic = self._name(place[0])
            is_read = topic in read_by_others or (
                group is not None
                and group.phase is Phase.STABLE
                and group.protocol_type == CONSUMERS
                and group.reads(topic)
            )
            if is_expired(
                kept,
                group,
                is_read=is_read,
                now_ms=self._clock.wall_ms(),
                retention_ms=self._retention_ms,
            ):
                gone.append(place)
        return gone

    def _name(self, topic_id: TopicId) -> str:
        try:
            return self._served.topic_by_id(topic_id).name
        except UnknownTopicId:
            return ""

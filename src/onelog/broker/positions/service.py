"""Remembering positions of groups: decided at once, answered when durable.

A position belongs to a topic's id, so one that was left by a deleted topic is never taken for
its successor's. A read answers what was true when it was asked, once that is durable.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from onelog.broker.catalog import Catalog, Statement
from onelog.broker.positions import rows
from onelog.broker.positions.state import (
    Change,
    Committed,
    Deleted,
    Kept,
    Place,
    PositionsState,
    TopicForgotten,
    apply,
    decide,
)
from onelog.broker.topics.served import Served
from onelog.broker.values import Commit, Position
from onelog.clock import Clock
from onelog.errors import OnelogError, UnknownTopic, UnknownTopicId
from onelog.model import TopicId, TopicName
from onelog.ticket import Ticket

Lag = tuple[TopicName, int, int]


class PositionsService:
    """Owns how far each group has read. Lives in the loop's thread."""

    def __init__(
        self,
        loaded: PositionsState,
        *,
        catalog: Catalog,
        served: Served,
        is_alive: Callable[[TopicId], bool],
        clock: Clock,
        note_bytes_max: int,
    ) -> None:
        self._state = loaded
        self._clock = clock
        self._catalog = catalog
        self._served = served
        self._is_alive = is_alive
        self._note_bytes_max = note_bytes_max

    def start(self) -> None:
        """What was committed before such times were kept counts as committed now."""
        now_ms = self._clock.wall_ms()
        old = [
            Committed(group, *place, kept._replace(committed_ms=now_ms))
            for group, places in self._state.by_group.items()
            for place, kept in places.items()
            if kept.committed_ms == 0
        ]
        if old:
            self._catalog.write(self._changed(old))

    def commit(self, group: str, commits: Sequence[Commit]) -> Ticket[list[OnelogError | None]]:
        """All of them that may be, in one transaction; each with its own outcome."""
        outcomes: list[OnelogError | None] = []
        statements: list[Statement] = []
        for commit in commits:
            try:
                change = self._decide(group, commit)
            except OnelogError as error:
                outcomes.append(error)
                continue
            statements.extend(self._changed([change]))
            outcomes.append(None)
        durable = self._catalog.write(statements) if statements else self._catalog.barrier()
        return durable.then(lambda _: outcomes)

    def positions(
        self, group: str, partitions: Sequence[tuple[TopicName, int]] | None
    ) -> Ticket[Mapping[tuple[TopicName, int], Position]]:
        """The group's positions, of these partitions or of all; what it never committed is left out."""
        known = self._of(group)
        found = known if partitions is None else {p: known[p] for p in partitions if p in known}
        return self._catalog.barrier().then(lambda _: found)

    def delete(
        self, group: str, partitions: Sequence[tuple[TopicName, int]]
    ) -> Ticket[list[OnelogError | None]]:
        """Forget these, in one transaction; each with its own outcome."""
        outcomes: list[OnelogError | None] = []
        statements: list[Statement] = []
        for topic, partition in partitions:
            try:
                place = (self._served.topic(topic).id, partition)
            except OnelogError as error:
                outcomes.append(error)
                continue
            if place in self._state.by_group.get(group, {}):
                statements.extend(self._changed([Deleted(group, *place)]))
            outcomes.append(None)
        durable = self._catalog.write(statements) if statements else self._catalog.barrier()
        return durable.then(lambda _: outcomes)

    def groups(self) -> list[str]:
        """Every group that has a position, by name."""
        return sorted(self._state.by_group)

    def is_known(self, group: str) -> bool:
        """Whether the group has a position."""
        return group in self._state.by_group

    def kept(self, group: str) -> Mapping[Place, Kept]:
        """The group's positions with their times, also those of topics that are about to go."""
        return self._state.by_group.get(group, {})

    def times(self, group: str) -> Mapping[tuple[TopicName, int], int]:
        """When each of the group's positions was committed."""
        return {place: kept.committed_ms for place, kept in self._kept_of(group).items()}

    def drop(self, group: str, places: Sequence[Place]) -> list[Statement]:
        """These go, in the transaction of whoever decided that."""
        return self._changed([Deleted(group, *place) for place in places])

    def lag(self, group: str) -> list[Lag]:
        """How many visible records of each partition the group has not read yet."""
        found: list[Lag] = []
        for (topic, partition), position in sorted(self._of(group).items()):
            served = self._served.partition(topic, partition)
            if served.is_open:
                found.append((topic, partition, max(0, served.marks.durable - position.offset)))
        return found

    def forget(self, topic_id: TopicId) -> list[Statement]:
        """The topic goes; its positions are to go in the same transaction."""
        return self._changed([TopicForgotten(topic_id)])

    def _changed(self, changes: Sequence[Change]) -> list[Statement]:
        """Made true in memory; true on disk once these are."""
        statements: list[Statement] = []
        for change in changes:
            apply(self._state, change)
            statements.extend(rows.statements(change))
        return statements

    def _decide(self, group: str, commit: Commit) -> Committed:
        self._served.partition(commit.topic, commit.partition)
        topic_id = self._served.topic(commit.topic).id
        if not self._is_alive(topic_id):
            # Deleted, though not durably yet: a row behind that transaction would never be removed.
            raise UnknownTopic(topic=commit.topic)
        position = Position(commit.offset, commit.leader_epoch, commit.note)
        return decide(
            group,
            topic_id,
            commit.partition,
            position,
            note_bytes_max=self._note_bytes_max,
            now_ms=self._clock.wall_ms(),
            keep_ms=commit.keep_ms,
        )

    def _of(self, group: str) -> dict[tuple[TopicName, int], Position]:
        return {place: kept.position for place, kept in self._kept_of(group).items()}

    def _kept_of(self, group: str) -> dict[tuple[TopicName, int], Kept]:
        """By the names of the topics that are served."""
        found = {}
        for (topic_id, index), kept in self._state.by_group.get(group, {}).items():
            with suppress(UnknownTopicId):
                found[self._served.topic_by_id(topic_id).name, index] = kept
        return found

"""The broker: one method for each use, delegating; the only door for dialects, console and tests.

What a method returns at once is true already (visible records, durable topics); what is not
true yet comes as a Ticket. A refusal is a OnelogError: raised, in a list of outcomes, or as
the failure of a ticket. All of it belongs to one loop.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar
from uuid import UUID

from onelog.broker.assembly import Parts
from onelog.broker.groups.words import (
    NOBODY,
    GroupDescribed,
    Joined,
    JoinedMember,
    JoinGroup,
    Leaving,
    MemberDescribed,
    MemberProtocol,
    Membership,
    Phase,
    Synced,
    SyncGroup,
)
from onelog.broker.settings import BrokerSettings
from onelog.broker.subscribers import Subscriber
from onelog.broker.topics.settings import described
from onelog.broker.values import (
    Aborted,
    AlterTopic,
    Append,
    AppendResult,
    Commit,
    DirectoryInfo,
    ListChange,
    NewTopic,
    OffsetAt,
    PartitionInfo,
    Position,
    ProduceRules,
    Read,
    ReadResult,
    SettingChange,
    SettingValue,
    Spot,
    Topic,
    TopicChange,
)
from onelog.broker.waiting import Waiter
from onelog.clock import Clock
from onelog.errors import OnelogError
from onelog.metrics import Metrics
from onelog.model import Isolation, ProducerId, TopicId, TopicName, View
from onelog.records.control import Marker
from onelog.storage.log import Marks
from onelog.storage.store import Store
from onelog.ticket import Ticket

__all__ = [
    "Aborted",
    "AlterTopic",
    "Append",
    "AppendResult",
    "Broker",
    "BrokerSettings",
    "Commit",
    "DirectoryInfo",
    "GroupDescribed",
    "JoinGroup",
    "Joined",
    "JoinedMember",
    "Leaving",
    "ListChange",
    "Marks",
    "MemberDescribed",
    "MemberProtocol",
    "Membership",
    "NewTopic",
    "OffsetAt",
    "PartitionInfo",
    "Phase",
    "Position",
    "ProduceRules",
    "Read",
    "ReadResult",
    "SettingChange",
    "SettingValue",
    "Spot",
    "Subscriber",
    "SyncGroup",
    "Synced",
    "Topic",
    "TopicChange",
    "Waiter",
]

NODE_ID = 1

T = TypeVar("T")


class Broker:
    """One open broker. Made by Broker.open, in the loop that it belongs to."""

    def __init__(self, parts: Parts, *, clock: Clock, metrics: Metrics, settings: BrokerSettings) -> None:
        self.node_id = NODE_ID
        self.cluster_id = parts.cluster_id
        self.clock = clock
        self.metrics = metrics
        self.settings = settings
        self.opened_ms = clock.wall_ms()
        self._parts = parts
        self._kept: dict[object, Any] = {}

    @classmethod
    async def open(
        cls,
        *,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        settings: BrokerSettings,
        on_failure: Callable[[OnelogError], None],
    ) -> Self:
        """Load the catalog and open every log; then it serves. A log that is damaged stays closed."""
        parts = await Parts.open(
            store=store, clock=clock, metrics=metrics, settings=settings, on_failure=on_failure
        )
        return cls(parts, clock=clock, metrics=metrics, settings=settings)

    async def close(self) -> None:
        """Write what was staged, answer it, and close the store cleanly."""
        await self._parts.close()

    def kept(self, make: Callable[["Broker"], T]) -> T:
        """What a dialect keeps for all its connections to this broker: made once, by its class."""
        found: T | None = self._kept.get(make)
        if found is None:
            found = self._kept[make] = make(self)
        return found

    def end_waits(self) -> None:
        """It is about to close: members that wait for others are sent back, so that nobody waits for them."""
        self._parts.groups.end_waits()

    # Topics.

    def topics(self) -> list[Topic]:
        """All topics, by name."""
        return self._parts.served.topics()

    def topic(self, name: str) -> Topic:
        """The topic of that name, or UnknownTopic."""
        return self._parts.served.topic(name)

    def topic_by_id(self, id: TopicId) -> Topic:
        """The topic of that id, or UnknownTopicId."""
        return self._parts.served.topic_by_id(id)

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> Ticket[list[Topic | OnelogError]]:
        """Make topics; each has its own outcome, and is served when the ticket is done."""
        return self._parts.topics.create(topics, validate_only=validate_only)

    def ensure_topic(self, name: str) -> Ticket[Topic]:
        """The topic of that name, made if it is not there and that is allowed."""
        return self._parts.topics.ensure(name)

    def delete_topics(self, topics: Sequence[str | UUID]) -> Ticket[list[Topic | OnelogError]]:
        """Remove topics, by name or id, with their records and positions."""
        return self._parts.topics.delete(topics)

    def alter_topics(
        self, topics: Sequence[AlterTopic], *, validate_only: bool = False
    ) -> Ticket[list[Topic | OnelogError]]:
        """Change settings."""
        return self._parts.topics.alter(topics, validate_only=validate_only)

    def grow_partitions(self, name: str, count: int, *, validate_only: bool = False) -> Ticket[Topic]:
        """Add partitions to a topic, up to the count."""
        return self._parts.topics.grow(name, count, validate_only=validate_only)

    def observe_topics(self, observer: Callable[[TopicChange], None]) -> None:
        """Tell it of every topic that is made, changed or removed from now on, once that is durable."""
        self._parts.served.observe(observer)

    def unobserve_topics(self, observer: Callable[[TopicChange], None]) -> None:
        """No more."""
        self._parts.served.unobserve(observer)

    def topic_settings(self, topic: Topic) -> list[SettingValue]:
        """Every setting of the topic, own or default."""
        return described(topic, message_bytes_max=self.settings.message_bytes_max)

    # Records.

    def produce(self, appends: Sequence[Append], *, rules: ProduceRules) -> list[Ticket[AppendResult]]:
        """One ticket for each; their order in the logs is fixed on return.

        Batches have passed records.batch.check_produced and records.codec.validate.
        """
        return self._parts.producing.produce(appends, rules)

    def end_transaction(
        self, topic: str, partition: int, marker: Marker, *, producer_id: int, producer_epoch: int
    ) -> Ticket[AppendResult]:
        """The end of a producer's transaction in one partition. Whoever decided it has it durable already."""
        return self._parts.producing.end_transaction(
            topic, partition, marker, producer_id=producer_id, producer_epoch=producer_epoch
        )

    def place(self, topic: str, key: bytes | None) -> int:
        """The partition for a record whose dialect leaves that to the broker."""
        return self._parts.routing.place(topic, key)

    def fetch(
        self,
        reads: Sequence[Read],
        *,
        bytes_max: int,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        view: View = View.RAW,
        dialect: str | None,
    ) -> list[ReadResult | OnelogError]:
        """What is visible now. dialect None: for a look of our own, which is not counted as read."""
        return self._parts.fetching.fetch(
            reads, bytes_max=bytes_max, isolation=isolation, view=view, dialect=dialect
        )

    def wait_fetch(
        self,
        reads: Sequence[Read],
        *,
        bytes_max: int,
        bytes_min: int,
        wait_ms: int,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        view: View = View.RAW,
        dialect: str | None,
    ) -> Ticket[list[ReadResult | OnelogError]]:
        """What is visible when there is enough, something is wrong, or time is up. May be cancelled."""
        return self._parts.fetching.wait_fetch(
            reads,
            bytes_max=bytes_max,
            bytes_min=bytes_min,
            wait_ms=wait_ms,
            isolation=isolation,
            view=view,
            dialect=dialect,
        )

    def watch_partition(self, topic: str, partition: int, waiter: Waiter) -> Callable[[], None]:
        """Tell the waiter what becomes visible there, and of all else to look again for, until it is called off."""
        return self._parts.fetching.watch(topic, partition, waiter)

    def list_offset(
        self,
        topic: str,
        partition: int,
        *,
        at: int | Spot,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        leader_epoch: int = -1,
    ) -> OffsetAt:
        """The offset at a place, or of the first record of a time; all -1 where there is none."""
        return self._parts.offsets.list_offset(
            topic, partition, at=at, isolation=isolation, leader_epoch=leader_epoch
        )

    def describe_partition(self, topic: str, partition: int) -> PartitionInfo:
        """One partition as it stands."""
        return self._parts.offsets.describe(topic, partition)

    def describe_directory(self) -> DirectoryInfo:
        """Where all logs are, and what is free there; or DiskFailed."""
        return self._parts.files.directory()

    def delete_records(self, topic: str, partition: int, offset: int | Spot) -> Ticket[int]:
        """Nothing below the offset is read any more (Spot.LATEST: nothing that is there); the new start."""
        return self._parts.retention.delete_records(topic, partition, offset)

    def init_producer(self) -> Ticket[tuple[ProducerId, int]]:
        """A new producer id and its epoch."""
        return self._parts.producers.init_producer()

    # Groups.

    def join_group(self, request: JoinGroup) -> Ticket[Joined]:
        """Be a member of the next generation; answered when it has begun."""
        return self._parts.groups.join(request)

    def sync_group(self, request: SyncGroup) -> Ticket[Synced]:
        """What a member has to do in its generation; answered when the leader has said it."""
        return self._parts.groups.sync(request)

    def heartbeat(self, group: str, by: Membership) -> Ticket[None]:
        """A member is still there; RebalanceInProgress if it is to join again."""
        return self._parts.groups.heartbeat(group, by)

    def leave_group(self, group: str, leaving: Sequence[Leaving]) -> Ticket[Sequence[OnelogError | None]]:
        """These are members no more; each with its own outcome."""
        return self._parts.groups.leave(group, leaving)

    def list_groups(self) -> list[str]:
        """Every group that has members or positions, or had members not long ago. In an answer, behind barrier()."""
        return self._parts.holdings.names()

    def describe_group(self, name: str) -> GroupDescribed:
        """One group as it stands, or UnknownGroup. In an answer, behind barrier()."""
        return self._parts.holdings.describe(name)

    def delete_groups(self, names: Sequence[str]) -> Ticket[list[OnelogError | None]]:
        """Forget groups that have no members, with their positions; each with its own outcome."""
        return self._parts.holdings.delete_groups(names)

    def commit_positions(
        self, group: str, commits: Sequence[Commit], *, by: Membership = NOBODY
    ) -> Ticket[list[OnelogError | None]]:
        """Remember how far a group has read; each with its own outcome. While it has members, they alone may."""
        return self._parts.holdings.commit(group, commits, by=by)

    def positions(
        self, group: str, partitions: Sequence[tuple[TopicName, int]] | None = None
    ) -> Ticket[Mapping[tuple[TopicName, int], Position]]:
        """Where the group stands; what it never committed is left out."""
        return self._parts.positions.positions(group, partitions)

    def position_times(self, group: str) -> Mapping[tuple[TopicName, int], int]:
        """When each of the group's positions was committed, in ms. Asked for with positions(), it is of the same."""
        return self._parts.positions.times(group)

    def delete_positions(
        self, group: str, partitions: Sequence[tuple[TopicName, int]]
    ) -> Ticket[list[OnelogError | None]]:
        """Forget how far a group has read; each with its own outcome. What it never committed is done.

        Of topics that its members read, nothing is forgotten.
        """
        return self._parts.holdings.delete_positions(group, partitions)

    def subscribe(self, subscriber: Subscriber, group: str, topic: str) -> None:
        """It reads this topic for this group, until it is gone; no membership comes of it."""
        self._parts.subscribers.add(subscriber, group, topic)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """It is gone."""
        self._parts.subscribers.remove(subscriber)

    def forget_subscribers(self, group: str, topic: str) -> None:
        """Nobody counts as reading this topic for this group any more."""
        self._parts.subscribers.forget(group, topic)

    def subscribers(self, group: str) -> Mapping[TopicName, Sequence[str]]:
        """The topics that are read for this group without membership, and who reads them."""
        return self._parts.subscribers.of(group)

    def subscribed_groups(self) -> list[str]:
        """Every group for which somebody reads without membership."""
        return self._parts.subscribers.groups()

    def groups(self) -> list[str]:
        """Every group that has a position. In an answer, behind barrier()."""
        return self._parts.positions.groups()

    def lag(self, group: str) -> list[tuple[TopicName, int, int]]:
        """(topic, partition, records not yet read). In an answer, behind barrier()."""
        return self._parts.positions.lag(group)

    def barrier(self) -> Ticket[None]:
        """Done when every change decided so far is durable."""
        return self._parts.catalog.barrier()

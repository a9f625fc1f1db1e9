"""Groups as FlyMQ has them: positions under a group's name in one topic, and who reads.

A group of FlyMQ belongs to a topic; the broker's spans all of them. There are no members,
generations or assignments: any connection reads and commits anything. A group is there while it
has a position or a subscriber.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from onelog.broker.broker import Commit as PositionCommit
from onelog.broker.broker import Position, Spot, Topic
from onelog.errors import InvalidRequest, OnelogError, UnknownGroup, UnknownTopic
from onelog.model import Isolation, TopicName
from onelog.protocols.contract import Outcome
from onelog.protocols.flymq.handlers.context import Context, follow
from onelog.protocols.flymq.messages.groups import (
    Commit,
    DeleteGroup,
    DescribeGroup,
    GetLag,
    GetOffset,
    GroupDescribed,
    Groups,
    GroupSummary,
    Lag,
    ListGroups,
    PartitionPosition,
    Place,
    ResetOffset,
    SeekToTimestamp,
    Subscribe,
    SubscribeByDocument,
)
from onelog.protocols.flymq.messages.topics import Done
from onelog.protocols.flymq.messages.versions import TEXT_BYTES_MAX
from onelog.protocols.flymq.names import shown
from onelog.ticket import Ticket

Positions = Mapping[tuple[TopicName, int], Position]

# `committed` is what FlyMQ's command line sends; no mode at all means latest.
SUBSCRIBE_MODES: Final[Mapping[str, Spot | None]] = {
    "earliest": Spot.EARLIEST,
    "latest": Spot.LATEST,
    "": Spot.LATEST,
    "commit": None,
    "committed": None,
}
RESET_MODES: Final[Mapping[str, Spot | None]] = {
    "earliest": Spot.EARLIEST,
    "latest": Spot.LATEST,
    "offset": None,
}


def subscribe(context: Context, request: Subscribe | SubscribeByDocument) -> Outcome:
    """Where to begin. The connection counts as a reader of the group until it ends."""
    if request.mode not in SUBSCRIBE_MODES:
        raise InvalidRequest(f"unknown subscribe mode: {request.mode}")
    spot = SUBSCRIBE_MODES[request.mode]
    topic = context.topic(request.topic)
    context.broker.describe_partition(topic.name, request.partition)
    context.broker.subscribe(context.subscriber, request.group, topic.name)
    if spot is not None:
        return context.behind_appends(lambda: Place(offset=_offset(context, topic, request.partition, spot)))
    place = (topic.name, request.partition)

    def say(found: Positions) -> Place:
        if place in found:
            return Place(offset=found[place].offset)
        return Place(offset=_offset(context, topic, request.partition, Spot.EARLIEST))

    return context.later(context.broker.positions(request.group, [place]), say)


def commit(context: Context, request: Commit) -> Outcome:
    """Keep a position as it is given; answered when it is durable."""
    topic = context.topic(request.topic)
    return context.later(_commit(context, request.group, topic, request.partition, request.offset), _done)


def get_offset(context: Context, request: GetOffset) -> Outcome:
    """The group's position; 0 where it has none in this partition."""
    return _of_group(context, request, lambda topic, offset: Place(offset=offset))


def get_lag(context: Context, request: GetLag) -> Outcome:
    """How many visible records are behind the group's position."""

    def say(topic: Topic, offset: int) -> Lag:
        latest = _offset(context, topic, request.partition, Spot.LATEST)
        return Lag(current=offset, committed=offset, latest=latest, lag=max(0, latest - offset))

    return _of_group(context, request, say)


def reset_offset(context: Context, request: ResetOffset) -> Outcome:
    """Move the position to an end of the log, or to an offset."""
    if request.mode not in RESET_MODES:
        raise InvalidRequest(f"unknown reset mode: {request.mode}")
    spot = RESET_MODES[request.mode]
    topic = context.topic(request.topic)
    wanted = request.offset
    if spot is None and wanted is None:
        raise InvalidRequest("buffer too small: mode offset, and no offset behind it")

    def start() -> Ticket[list[OnelogError | None]]:
        offset = wanted if spot is None else _offset(context, topic, request.partition, spot)
        assert offset is not None
        return _commit(context, request.group, topic, request.partition, offset)

    return context.in_turn(start, _done)


def seek_to_timestamp(context: Context, request: SeekToTimestamp) -> Outcome:
    """The first offset at or after a time, or the end; kept as the group's position if one is named."""
    topic = context.topic(request.topic)

    def find() -> int:
        found = context.broker.list_offset(
            topic.name, request.partition, at=request.timestamp_ms, isolation=Isolation.READ_COMMITTED
        ).offset
        return found if found >= 0 else _offset(context, topic, request.partition, Spot.LATEST)

    if not request.group:
        return context.behind_appends(lambda: Place(offset=find()))

    def start() -> Ticket[Place]:
        offset = find()
        kept = _commit(context, request.group, topic, request.partition, offset)
        return kept.then(lambda outcomes: _place(outcomes, offset))

    return context.in_turn(start, lambda place: place)


def list_groups(context: Context, request: ListGroups) -> Outcome:
    """Every group of every topic that has a position or a reader."""
    broker = context.broker
    names = {*broker.groups(), *broker.subscribed_groups()}
    tickets = {group: broker.positions(group) for group in names if _is_sayable(group)}

    def say(_: None) -> Groups:
        groups = [
            _summary(context, group, topic, positions)
            for group, ticket in tickets.items()
            for topic, positions in _by_topic(context, group, ticket.result()).items()
        ]
        return Groups(groups=sorted(groups, key=lambda found: (found.topic, found.group)))

    # Answers of the catalog come in order: behind this one all of them are there.
    return context.later(broker.barrier(), say)


def describe_group(context: Context, request: DescribeGroup) -> Outcome:
    """One group, of a topic or, if none is named, of all in which it is."""

    def say(found: Positions) -> GroupDescribed:
        topics = _of_topics(context, request, found)
        names = [shown(topic) for topic in topics]
        reading = context.broker.subscribers(request.group)
        readers = {reader for topic in topics for reader in reading.get(topic, ())}
        return GroupDescribed(
            topic=names[0] if len(names) == 1 else "",
            group=request.group,
            member_count=len(readers),
            positions=[position for positions in topics.values() for position in positions],
            state="Stable" if readers else "Empty",
            members=sorted(readers),
            topics=names,
            coordinator=str(context.address),
        )

    return context.later(context.broker.positions(request.group), say)


def delete_group(context: Context, request: DeleteGroup) -> Outcome:
    """Forget the group's positions in a topic or, if none is named, in all."""
    gone: Ticket[list[OnelogError | None]] = Ticket()

    def forget(found: Positions) -> Ticket[list[OnelogError | None]]:
        topics = _of_topics(context, request, found)
        places = [(topic, position.partition) for topic, some in topics.items() for position in some]
        deleting: Ticket[list[OnelogError | None]] = Ticket.resolved([])
        if places:
            deleting = context.broker.delete_positions(request.group, places)
        return deleting.then(lambda outcomes: _without_readers(context, request.group, topics, outcomes))

    found = context.broker.positions(request.group)
    found.add_callback(lambda done: follow(lambda: forget(done.result()), gone))
    return context.later(gone, _done, hold=True)


def _of_group(context: Context, request: GetOffset | GetLag, say: Callable[[Topic, int], Any]) -> Outcome:
    """Something about a group's position in a partition; the group has to be there."""
    unknown = UnknownGroup(f"{request.topic}:{request.group}")
    try:
        topic = context.topic(request.topic)
    except UnknownTopic:
        raise unknown from None

    def judged(found: Positions) -> Any:
        if topic.name not in _by_topic(context, request.group, found):
            raise unknown
        place = (topic.name, request.partition)
        return say(topic, found[place].offset if place in found else 0)

    return context.in_turn(lambda: context.broker.positions(request.group), judged)


def _of_topics(
    context: Context, request: DescribeGroup | DeleteGroup, found: Positions
) -> Mapping[TopicName, list[PartitionPosition]]:
    topics = _by_topic(context, request.group, found)
    if request.topic:
        topics = {name: positions for name, positions in topics.items() if shown(name) == request.topic}
    if not topics:
        raise UnknownGroup(f"{request.topic}:{request.group}")
    return topics


def _by_topic(context: Context, group: str, found: Positions) -> dict[TopicName, list[PartitionPosition]]:
    """The topics in which a group is, in order, each with its positions."""
    topics: dict[TopicName, list[PartitionPosition]] = {}
    for topic in context.broker.subscribers(group):
        topics[topic] = []
    for (topic, partition), position in sorted(found.items()):
        entry = PartitionPosition(partition=partition, offset=position.offset)
        topics.setdefault(topic, []).append(entry)
    return dict(sorted(topics.items()))


def _summary(
    context: Context, group: str, topic: TopicName, positions: list[PartitionPosition]
) -> GroupSummary:
    readers = context.broker.subscribers(group).get(topic, ())
    return GroupSummary(topic=shown(topic), group=group, member_count=len(readers), positions=positions)


def _offset(context: Context, topic: Topic, partition: int, spot: Spot) -> int:
    found = context.broker.list_offset(topic.name, partition, at=spot, isolation=Isolation.READ_COMMITTED)
    return found.offset


def _commit(
    context: Context, group: str, topic: Topic, partition: int, offset: int
) -> Ticket[list[OnelogError | None]]:
    return context.broker.commit_positions(group, [PositionCommit(topic.name, partition, offset)])


def _done(outcomes: list[OnelogError | None]) -> Done:
    """A failure is an error frame: no client looks at the truth in the answer."""
    for outcome in outcomes:
        if outcome is not None:
            raise outcome
    return Done(success=True)


def _place(outcomes: list[OnelogError | None], offset: int) -> Place:
    _done(outcomes)
    return Place(offset=offset)


def _without_readers(
    context: Context, group: str, topics: Iterable[TopicName], outcomes: list[OnelogError | None]
) -> list[OnelogError | None]:
    """Nobody counts as a reader of a group that is gone; of one that stays, everybody does."""
    if not any(outcomes):
        for topic in topics:
            with suppress(UnknownTopic):  # gone meanwhile, and its readers with it
                context.broker.forget_subscribers(group, topic)
    return outcomes


def _is_sayable(group: str) -> bool:
    return len(group.encode()) <= TEXT_BYTES_MAX

"""Topics: made, removed, listed, and where their partitions begin and end."""

from onelog.broker.broker import NewTopic, Spot, Topic
from onelog.errors import InvalidPartitions, OnelogError, TopicExists, UnknownTopic
from onelog.model import Isolation
from onelog.protocols.contract import Outcome
from onelog.protocols.flymq.handlers.context import Context
from onelog.protocols.flymq.messages.topics import (
    CreateTopic,
    DeleteTopic,
    Done,
    ListTopics,
    Metadata,
    PartitionEnds,
    TopicMetadata,
    TopicNames,
)
from onelog.protocols.flymq.names import is_hidden, shown, spelled
from onelog.ticket import Ticket


def create_topic(context: Context, request: CreateTopic) -> Outcome:
    """Make it, unless it is there. No partitions: the broker's default."""
    stored = spelled(request.topic)
    if request.partitions < 0:
        raise InvalidPartitions(stored, found=request.partitions, expected="0 or more")
    new = NewTopic(stored, request.partitions or None)
    return context.later(context.broker.create_topics([new]), _created, hold=True)


def delete_topic(context: Context, request: DeleteTopic) -> Outcome:
    """No such topic any more, if there was one."""

    def start() -> Ticket[list[Topic | OnelogError]]:
        try:
            return context.broker.delete_topics([context.topic(request.topic).name])
        except UnknownTopic:
            # Perhaps somebody's creation is on its way: the broker knows.
            return context.broker.delete_topics([spelled(request.topic)])

    return context.in_turn(start, _deleted, hold=True)


def list_topics(context: Context, request: ListTopics) -> Outcome:
    """All names in order, but the hidden ones."""
    names = sorted(name for topic in context.broker.topics() if not is_hidden(name := shown(topic.name)))
    return context.later(context.broker.barrier(), lambda _: TopicNames(topics=names))


def metadata(context: Context, request: Metadata) -> Outcome:
    """The ends of every partition; what is not visible is not in them."""
    return context.behind_appends(lambda: _described(context, request))


def _described(context: Context, request: Metadata) -> TopicMetadata:
    topic = context.topic(request.topic)
    ends = []
    for index in range(topic.partition_count):
        oldest, newest = (
            context.broker.list_offset(topic.name, index, at=spot, isolation=Isolation.READ_COMMITTED).offset
            for spot in (Spot.EARLIEST, Spot.LATEST)
        )
        node = context.broker.node_id
        ends.append(PartitionEnds(partition=index, leader_id=node, oldest=oldest, newest=newest))
    return TopicMetadata(topic=request.topic, partitions=ends)


def _created(made: list[Topic | OnelogError]) -> Done:
    if isinstance(made[0], OnelogError) and not isinstance(made[0], TopicExists):
        raise made[0]
    return Done(success=True)


def _deleted(gone: list[Topic | OnelogError]) -> Done:
    if isinstance(gone[0], OnelogError) and not isinstance(gone[0], UnknownTopic):
        raise gone[0]
    return Done(success=True)

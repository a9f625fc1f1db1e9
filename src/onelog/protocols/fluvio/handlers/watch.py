"""Watch: who asks is told of topics, partitions and the unit, and hears of every change at once."""

from onelog.broker.broker import Broker, Topic, TopicChange
from onelog.protocols.contract import Outcome, ProtocolError, Push
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.handlers.context import Context
from onelog.protocols.fluvio.handlers.objects import (
    all_partitions,
    all_topics,
    custom_unit_object,
    gone_partitions,
    partition_objects,
    topic_object,
    unit_object,
)
from onelog.protocols.fluvio.messages.objects import LABELS, Label
from onelog.protocols.fluvio.messages.watch import Change, ChangeKind, WatchRequest, WatchResponse
from onelog.protocols.fluvio.streams import Feed, StillStream, WatchStream


class News:
    """What changes at one broker, for all who watch it. Whoever made a topic, they hear of it."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.topics = Feed(Label.TOPIC, lambda: all_topics(broker), is_whole=True)
        # A partition's marks move between its changes.
        self.partitions = Feed(Label.PARTITION, lambda: all_partitions(broker))
        broker.observe_topics(self._changed)

    @property
    def is_watched(self) -> bool:
        """Whether anybody hears of a new topic."""
        return self.topics.is_watched or self.partitions.is_watched

    def _changed(self, change: TopicChange) -> None:
        if change.after is None:
            assert change.before is not None
            # Partitions first, as from Fluvio's own controller: no topic is without its partitions.
            gone = gone_partitions(change.before)
            self.partitions.add([Change(ChangeKind.DELETE, each) for each in gone])
            self.topics.add([Change(ChangeKind.DELETE, topic_object(change.before))])
            return
        self.topics.add([Change(ChangeKind.UPDATE, topic_object(change.after))])
        first = _first_different(change.before, change.after)
        there = partition_objects(self._broker, change.after, first=first)
        if there:
            self.partitions.add([Change(ChangeKind.UPDATE, each) for each in there])


def _first_different(before: Topic | None, after: Topic) -> int:
    """From which partition on there is news: a setting changes all of them, growing the new ones."""
    if before is None or before.settings != after.settings:
        return 0
    return before.partition_count


def watch(context: Context, request: Request) -> Outcome:
    """A stream that begins with everything there is of one kind."""
    body: WatchRequest = request.body
    news = context.broker.kept(News)
    match body.label:
        case Label.TOPIC:
            return Push(WatchStream(news.topics, request.version))
        case Label.PARTITION:
            return Push(WatchStream(news.partitions, request.version))
    if body.label not in LABELS:
        raise ProtocolError(f"a watch of {body.label!r:.40}; expected one of {', '.join(LABELS)}")
    return Push(StillStream(WatchResponse(body.label, news.topics.epoch, all=_still(context, body.label))))


def _still(context: Context, label: str) -> list[object]:
    """What there is of a kind that does not change. Of most kinds there is nothing."""
    if label == Label.UNIT:
        return [unit_object(context.unit_address)]
    if label == Label.CUSTOM_UNIT:
        return [custom_unit_object(context.unit_address)]
    return []

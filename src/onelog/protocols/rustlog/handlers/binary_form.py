"""Requests in the binary form, as the published programs mean them.

A Fetch with a group begins at the group's position, and finds nothing while there is none. An
answer tells no offsets: the records stand side by side before next_offset, and end at a gap.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from onelog.broker.broker import Commit, Topic
from onelog.errors import InvalidRequest, OnelogError
from onelog.model import OFFSET_MAX, TopicName
from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.rustlog import binary_form, report
from onelog.protocols.rustlog.errors import BinaryCode, binary_error, binary_oversized, binary_refusal
from onelog.protocols.rustlog.handlers.context import Context, Refuse, made
from onelog.protocols.rustlog.handlers.fetch import Shape, taken
from onelog.protocols.rustlog.messages import binary
from onelog.protocols.rustlog.recordset import BINARY_RECORDS_MAX

SHAPE: Final = Shape(room=binary_form.FETCH_ROOM, record_size=binary_form.record_size, stops_at_gaps=True)


class BinaryHandler:
    """The calls in the binary form of one connection."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._broker = context.broker

    def handle(self, message: Any) -> Outcome:
        """One request."""
        refuse = partial(self._refusal, message)
        try:
            return _WORK[type(message)](self, message, refuse)
        except OnelogError as error:
            return Reply(refuse(error))

    # ---- records

    def produce(self, request: binary.Produce, refuse: Refuse) -> Outcome:
        """Append all of them; answered when they are durable."""
        count = len(request.records)
        if count == 0:
            # The programs' broker says 0 here, wherever the log ends.
            self._broker.describe_partition(TopicName(request.topic), request.partition)
            return Reply(binary.Produced(base_offset=0, record_count=0))
        ticket = self._context.append(
            request.topic, request.partition, request.records, records_max=BINARY_RECORDS_MAX
        )
        return self._context.later(
            ticket, lambda done: binary.Produced(base_offset=done.first, record_count=count), refuse
        )

    def fetch(self, request: binary.Fetch, refuse: Refuse) -> Outcome:
        """Records from the group's position on; without a group, from the offset on."""
        if not request.group:
            return self._context.behind_appends(lambda: self._fetched(request, request.offset), refuse)
        place = (TopicName(request.topic), request.partition)
        ticket = self._broker.positions(request.group, [place])

        def look() -> Any:
            found = ticket.result()
            if place not in found:
                return binary.Fetched(records=[], next_offset=0)
            return self._fetched(request, found[place].offset)

        return self._context.behind_everything(look, refuse)

    def _fetched(self, request: binary.Fetch, offset: int) -> Any:
        topic = TopicName(request.topic)
        info = self._broker.describe_partition(topic, request.partition)
        # There is no other way to ask where a log begins.
        start = offset or info.start
        if start > OFFSET_MAX or start >= info.high_watermark or request.max_bytes == 0:
            return binary.Fetched(records=[], next_offset=offset)
        found = taken(self._broker, topic, request.partition, start, bytes_max=request.max_bytes, shape=SHAPE)
        if found.oversized is not None:
            at, size = found.oversized
            return binary_oversized(offset=at, size=size)
        return binary.Fetched(
            records=[record.payload for record in found.records], next_offset=found.next_offset
        )

    # ---- positions of groups

    def commit(self, request: binary.OffsetCommit, refuse: Refuse) -> Outcome:
        """Keep a position as it is given; answered when it is durable."""
        commit = Commit(TopicName(request.topic), request.partition, request.offset)
        ticket = self._broker.commit_positions(request.group, [commit])
        return self._context.later(ticket, lambda outcomes: _committed(outcomes[0]), refuse)

    def position(self, request: binary.OffsetFetch, refuse: Refuse) -> Outcome:
        """The group's position, whichever dialect committed it."""
        place = (TopicName(request.topic), request.partition)
        ticket = self._broker.positions(request.group, [place])
        return self._context.later(
            ticket,
            lambda found: binary.Position(offset=found[place].offset if place in found else None),
            refuse,
        )

    # ---- topics

    def create_topic(self, request: binary.CreateTopic, refuse: Refuse) -> Outcome:
        """Make a topic; answered when it is durable and takes records."""
        ticket = self._context.create_topic(request.topic, request.partition_count)
        return self._context.later(
            ticket, lambda results: binary.Created(success=bool(made(results[0]))), refuse, hold=True
        )

    def list_topics(self, request: binary.ListTopics, refuse: Refuse) -> Outcome:
        """All topics, also those whose names RustLog could not create."""
        topics = [
            binary.TopicSummary(name=topic.name, partition_count=topic.partition_count)
            for topic in self._broker.topics()
        ]
        return self._context.later(self._broker.barrier(), lambda _: binary.TopicList(topics=topics), refuse)

    def describe_topic(self, request: binary.DescribeTopic, refuse: Refuse) -> Outcome:
        """Every partition of a topic."""
        topic = self._broker.topic(request.topic)
        return self._context.behind_everything(lambda: self._described(topic), refuse)

    def _described(self, topic: Topic) -> binary.TopicDescribed:
        return binary.TopicDescribed(
            topic=topic.name,
            partition_count=topic.partition_count,
            partitions=[
                binary.PartitionSummary(
                    partition=index, high_watermark=self._high_watermark(topic.name, index)
                )
                for index in range(topic.partition_count)
            ],
        )

    def describe_partition(self, request: binary.DescribePartition, refuse: Refuse) -> Outcome:
        """One partition of a topic."""
        topic = self._broker.topic(request.topic)
        return self._context.behind_everything(
            lambda: binary.PartitionDescribed(
                topic=topic.name,
                partition=request.partition,
                high_watermark=self._high_watermark(topic.name, request.partition),
            ),
            refuse,
        )

    def _high_watermark(self, topic: TopicName, partition: int) -> int:
        return self._broker.describe_partition(topic, partition).high_watermark

    # ---- the rest

    def metrics_fetch(self, request: binary.MetricsFetch, refuse: Refuse) -> Outcome:
        """The broker in numbers, first those that the programs look for."""
        return self._context.behind_everything(
            lambda: binary.MetricsText(text=report.text(self._broker)), refuse
        )

    def ping(self, request: binary.Ping, refuse: Refuse) -> Outcome:
        """Still there."""
        return Reply(binary.Pong())

    def undecodable(self, call: binary.Undecodable, refuse: Refuse) -> Outcome:
        """A frame that was no request."""
        raise InvalidRequest(call.reason)

    def _refusal(self, request: Any, error: OnelogError) -> binary.Error:
        self._context.refused(error)
        if isinstance(request, binary.Undecodable):
            return binary_error(BinaryCode.INVALID, request.reason)
        return binary_refusal(request, error)


def _committed(outcome: OnelogError | None) -> binary.Committed:
    if outcome is not None:
        raise outcome
    return binary.Committed(success=True)


_WORK: Final[Mapping[type, Callable[[BinaryHandler, Any, Refuse], Outcome]]] = {
    binary.Produce: BinaryHandler.produce,
    binary.Fetch: BinaryHandler.fetch,
    binary.OffsetCommit: BinaryHandler.commit,
    binary.OffsetFetch: BinaryHandler.position,
    binary.CreateTopic: BinaryHandler.create_topic,
    binary.ListTopics: BinaryHandler.list_topics,
    binary.DescribeTopic: BinaryHandler.describe_topic,
    binary.DescribePartition: BinaryHandler.describe_partition,
    binary.MetricsFetch: BinaryHandler.metrics_fetch,
    binary.Ping: BinaryHandler.ping,
    binary.Undecodable: BinaryHandler.undecodable,
}
BINARY: Final = frozenset(_WORK)

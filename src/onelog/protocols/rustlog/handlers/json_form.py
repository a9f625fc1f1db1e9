"""Requests in JSON, as the document has them: errors with details, positions that may be null."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from onelog.broker.broker import Commit, Topic
from onelog.errors import ErrorCode, InvalidRequest, OnelogError, UnknownTopic
from onelog.model import OFFSET_MAX, TopicName
from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.rustlog import json_form, report
from onelog.protocols.rustlog.errors import oversized, refusal
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.handlers.context import Context, made
from onelog.protocols.rustlog.handlers.fetch import Shape, taken
from onelog.protocols.rustlog.messages.json import (
    CreateTopic,
    CreateTopicResponse,
    DescribePartition,
    DescribePartitionResponse,
    DescribeTopic,
    DescribeTopicResponse,
    Error,
    Fetch,
    FetchResponse,
    InvalidCall,
    ListTopics,
    ListTopicsResponse,
    MetricsFetch,
    MetricsFetchResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    PartitionSummary,
    Ping,
    Pong,
    Produce,
    ProduceResponse,
    TopicSummary,
)
from onelog.protocols.rustlog.recordset import RECORDS_MAX

SHAPE: Final = Shape(room=json_form.FETCH_ROOM, record_size=json_form.record_size)

# Refused commits that RustLog has its own word for. A group with members is theirs to commit for.
_NO_SUCCESS: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC,
        ErrorCode.UNKNOWN_PARTITION,
        ErrorCode.UNKNOWN_MEMBER,
        ErrorCode.STALE_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.GROUP_NOT_EMPTY,
    )
)


class JsonHandler:
    """The calls in JSON of one connection."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._broker = context.broker

    def handle(self, message: Any) -> Outcome:
        """One request."""
        try:
            return _WORK[type(message)](self, message)
        except OnelogError as error:
            return Reply(self._refusal(error))

    # ---- records

    def produce(self, request: Produce) -> Outcome:
        """Append all of them; answered when they are durable."""
        count = len(request.records)
        if count == 0:
            return self._context.behind_appends(lambda: self._produced_nothing(request), self._refusal)
        ticket = self._context.append(
            request.topic, request.partition, request.records, records_max=RECORDS_MAX
        )
        return self._context.later(
            ticket, lambda done: ProduceResponse(base_offset=done.first, record_count=count), self._refusal
        )

    def _produced_nothing(self, request: Produce) -> Any:
        info = self._broker.describe_partition(TopicName(request.topic), request.partition)
        return ProduceResponse(base_offset=info.high_watermark, record_count=0)

    def fetch(self, request: Fetch) -> Outcome:
        """Records from an offset on. The group is named for metrics only and changes nothing."""
        return self._context.behind_appends(lambda: self._fetched(request), self._refusal)

    def _fetched(self, request: Fetch) -> Any:
        topic = TopicName(request.topic)
        info = self._broker.describe_partition(topic, request.partition)
        nothing = FetchResponse(records=[], next_offset=request.offset)
        if request.offset > OFFSET_MAX or request.offset >= info.high_watermark:
            return nothing
        if request.max_bytes == 0 and request.offset >= info.start:
            return nothing
        found = taken(
            self._broker,
            topic,
            request.partition,
            request.offset,
            bytes_max=request.max_bytes,
            shape=SHAPE,
        )
        if found.oversized is not None:
            offset, size = found.oversized
            return oversized(offset=offset, size=size, size_max=FRAME_BYTES_MAX)
        return FetchResponse(records=found.records, next_offset=found.next_offset)

    # ---- positions of groups

    def commit(self, request: OffsetCommit) -> Outcome:
        """Keep a position as it is given; answered when it is durable."""
        commit = Commit(TopicName(request.topic), request.partition, request.offset)
        ticket = self._broker.commit_positions(request.group, [commit])
        return self._context.later(ticket, lambda outcomes: _committed(outcomes[0]), self._refusal)

    def position(self, request: OffsetFetch) -> Outcome:
        """The group's position, whichever dialect committed it."""
        place = (TopicName(request.topic), request.partition)
        ticket = self._broker.positions(request.group, [place])
        return self._context.later(
            ticket,
            lambda found: OffsetFetchResponse(offset=found[place].offset if place in found else None),
            self._refusal,
        )

    # ---- topics

    def create_topic(self, request: CreateTopic) -> Outcome:
        """Make a topic; answered when it is durable and takes records."""
        ticket = self._context.create_topic(request.topic, request.partition_count)
        return self._context.later(
            ticket, lambda results: _created(made(results[0])), self._refusal, hold=True
        )

    def list_topics(self, request: ListTopics) -> Outcome:
        """All topics, also those whose names RustLog could not create."""
        topics = [TopicSummary(topic.name, topic.partition_count) for topic in self._broker.topics()]
        return self._context.later(
            self._broker.barrier(), lambda _: ListTopicsResponse(topics=topics), self._refusal
        )

    def describe_topic(self, request: DescribeTopic) -> Outcome:
        """Every partition of a topic."""
        topic = self._broker.topic(request.topic)
        return self._context.behind_everything(
            lambda: DescribeTopicResponse(
                topic=topic.name,
                partitions=[self._summary(topic.name, index) for index in range(topic.partition_count)],
            ),
            self._refusal,
        )

    def describe_partition(self, request: DescribePartition) -> Outcome:
        """One partition of a topic."""
        topic = self._broker.topic(request.topic)
        return self._context.behind_everything(
            lambda: self._described(topic, request.partition), self._refusal
        )

    def _described(self, topic: Topic, partition: int) -> DescribePartitionResponse:
        summary = self._summary(topic.name, partition)
        return DescribePartitionResponse(
            topic=topic.name,
            partition=partition,
            high_watermark=summary.high_watermark,
            log_start_offset=summary.log_start_offset,
            segment_count=summary.segment_count,
        )

    def _summary(self, topic: TopicName, partition: int) -> PartitionSummary:
        info = self._broker.describe_partition(topic, partition)
        return PartitionSummary(
            partition=partition,
            high_watermark=info.high_watermark,
            log_start_offset=info.start,
            segment_count=info.segment_count,
        )

    # ---- the rest

    def metrics_fetch(self, request: MetricsFetch) -> Outcome:
        """The broker in numbers."""
        return self._context.behind_everything(
            lambda: MetricsFetchResponse(metrics=report.metrics(self._broker)), self._refusal
        )

    def ping(self, request: Ping) -> Outcome:
        """Still there."""
        return Reply(Pong())

    def invalid(self, call: InvalidCall) -> Outcome:
        """A frame that was an object, but no request."""
        raise InvalidRequest(call.reason)

    def _refusal(self, error: OnelogError) -> Error:
        self._context.refused(error)
        topics = [topic.name for topic in self._broker.topics()] if isinstance(error, UnknownTopic) else []
        return refusal(error, topics=topics)


def _committed(outcome: OnelogError | None) -> OffsetCommitResponse:
    if outcome is not None and outcome.code in _NO_SUCCESS:
        return OffsetCommitResponse(success=False)
    if outcome is not None:
        raise outcome
    return OffsetCommitResponse(success=True)


def _created(topic: Topic) -> CreateTopicResponse:
    return CreateTopicResponse(success=True, partitions_created=topic.partition_count)


_WORK: Final[Mapping[type, Callable[[JsonHandler, Any], Outcome]]] = {
    Produce: JsonHandler.produce,
    Fetch: JsonHandler.fetch,
    OffsetCommit: JsonHandler.commit,
    OffsetFetch: JsonHandler.position,
    CreateTopic: JsonHandler.create_topic,
    ListTopics: JsonHandler.list_topics,
    DescribeTopic: JsonHandler.describe_topic,
    DescribePartition: JsonHandler.describe_partition,
    MetricsFetch: JsonHandler.metrics_fetch,
    Ping: JsonHandler.ping,
    InvalidCall: JsonHandler.invalid,
}
JSON: Final = frozenset(_WORK)

"""RustLog's requests in the broker's words, and its answers in RustLog's.

RustLog serves the requests of a connection one after the other. Appends may overlap all the
same, since their order is fixed at once; what looks at a log waits until the appends before it
on its connection are visible, and the creation of a topic holds whatever comes behind it.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from onelog import metrics as m
from onelog.broker.broker import Append, Broker, Commit, NewTopic, ProduceRules, Read, Topic
from onelog.errors import (
    ErrorCode,
    InvalidName,
    InvalidPartitions,
    InvalidRequest,
    OnelogError,
    UnknownTopic,
)
from onelog.model import OFFSET_MAX, Isolation, TopicName, View
from onelog.protocols.contract import Later, Outcome, Reply, Session
from onelog.protocols.rustlog import json_form, report
from onelog.protocols.rustlog.errors import oversized, refusal
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.messages import (
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
from onelog.protocols.rustlog.recordset import RECORDS_MAX, Taken, batch_of, take
from onelog.ticket import Ticket

DIALECT: Final = "rustlog"
PARTITIONS_MAX: Final = 1000
RULES: Final = ProduceRules(dialect=DIALECT, batch_bytes_max=FRAME_BYTES_MAX)
# Reads that found nothing but what a reader may not see (undone transactions, markers) go on,
# but not for ever in one turn of the loop.
READS_MAX: Final = 16

# What RustLog can say of a name, of the 249 characters that the product allows.
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,249}")
_NAME_RULE: Final = "expected 1 to 249 of a-z A-Z 0-9 _ -"

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

T = TypeVar("T")


class RustLogHandler:
    """One connection's calls. Owned by its pump."""

    def __init__(self, broker: Broker, session: Session) -> None:
        self._broker = broker
        self._session = session
        self._last_append: Ticket[Any] | None = None

    def handle(self, message: Any) -> Outcome:
        """One request."""
        try:
            return _WORK[type(message)](self, message)
        except OnelogError as error:
            return Reply(self._refusal(error))

    def closed(self) -> None:
        """Nothing of a connection outlives it."""
        self._last_append = None

    # ---- records

    def produce(self, request: Produce) -> Outcome:
        """Append all of them in one batch; answered when they are durable."""
        count = len(request.records)
        if count > RECORDS_MAX:
            raise InvalidRequest(f"{count} records in one Produce; at most {RECORDS_MAX} are allowed")
        if count == 0:
            return self._behind_appends(lambda: self._produced_nothing(request))
        batch = batch_of(request.records, timestamp_ms=self._broker.clock.wall_ms())
        append = Append(TopicName(request.topic), request.partition, [batch])
        [ticket] = self._broker.produce([append], rules=RULES)
        self._last_append = ticket
        return self._later(ticket, lambda done: ProduceResponse(base_offset=done.first, record_count=count))

    def _produced_nothing(self, request: Produce) -> Any:
        info = self._broker.describe_partition(TopicName(request.topic), request.partition)
        return ProduceResponse(base_offset=info.high_watermark, record_count=0)

    def fetch(self, request: Fetch) -> Outcome:
        """Records from an offset on. The group is named for metrics only and changes nothing."""
        return self._behind_appends(lambda: self._fetched(request))

    def _fetched(self, request: Fetch) -> Any:
        info = self._broker.describe_partition(TopicName(request.topic), request.partition)
        nothing = FetchResponse(records=[], next_offset=request.offset)
        if request.offset > OFFSET_MAX or request.offset >= info.high_watermark:
            return nothing
        if request.max_bytes == 0 and request.offset >= info.start:
            return nothing
        taken = self._taken(request)
        for reason, count in taken.losses.items():
            self._broker.metrics.series(m.LOSSES, DIALECT, reason).add(count)
        if taken.oversized is not None:
            offset, size = taken.oversized
            self._broker.metrics.series(m.REFUSALS, DIALECT, ErrorCode.RECORD_TOO_LARGE.value).add()
            return oversized(offset=offset, size=size, size_max=FRAME_BYTES_MAX)
        return FetchResponse(records=taken.records, next_offset=taken.next_offset)

    def _taken(self, request: Fetch) -> Taken:
        bytes_max = min(request.max_bytes, FRAME_BYTES_MAX)
        taken = Taken([], next_offset=request.offset)
        for _ in range(READS_MAX):
            read = Read(TopicName(request.topic), request.partition, taken.next_offset, bytes_max)
            [result] = self._broker.fetch(
                [read],
                bytes_max=bytes_max,
                isolation=Isolation.READ_COMMITTED,
                view=View.CLEAN,
                dialect=DIALECT,
            )
            if isinstance(result, OnelogError):
                raise result
            taken = take(
                result.batches,
                offset=taken.next_offset,
                bytes_max=bytes_max,
                room=json_form.FETCH_ROOM,
                size_in_frame=json_form.record_size,
            )
            if taken.records or taken.oversized or result.offset_next == read.offset:
                break
            taken.next_offset = result.offset_next
        return taken

    # ---- positions of groups

    def commit(self, request: OffsetCommit) -> Outcome:
        """Keep a position as it is given; answered when it is durable."""
        commit = Commit(TopicName(request.topic), request.partition, request.offset)
        ticket = self._broker.commit_positions(request.group, [commit])
        return self._later(ticket, lambda outcomes: _committed(outcomes[0]))

    def position(self, request: OffsetFetch) -> Outcome:
        """The group's position, whichever dialect committed it."""
        place = (TopicName(request.topic), request.partition)
        ticket = self._broker.positions(request.group, [place])
        return self._later(
            ticket,
            lambda found: OffsetFetchResponse(offset=found[place].offset if place in found else None),
        )

    # ---- topics

    def create_topic(self, request: CreateTopic) -> Outcome:
        """Make a topic; answered when it is durable and takes records."""
        if _NAME.fullmatch(request.topic) is None:
            raise InvalidName(request.topic, _NAME_RULE)
        count = request.partition_count
        if not 1 <= count <= PARTITIONS_MAX:
            raise InvalidPartitions(request.topic, found=count, expected=f"1 to {PARTITIONS_MAX}")
        ticket = self._broker.create_topics([NewTopic(request.topic, count)])
        return self._later(ticket, lambda made: _created(made[0]), hold=True)

    def list_topics(self, request: ListTopics) -> Outcome:
        """All topics, also those whose names RustLog could not create."""
        topics = [TopicSummary(topic.name, topic.partition_count) for topic in self._broker.topics()]
        return self._later(self._broker.barrier(), lambda _: ListTopicsResponse(topics=topics))

    def describe_topic(self, request: DescribeTopic) -> Outcome:
        """Every partition of a topic."""
        topic = self._broker.topic(request.topic)
        return self._behind_everything(
            lambda: DescribeTopicResponse(
                topic=topic.name,
                partitions=[self._summary(topic.name, index) for index in range(topic.partition_count)],
            )
        )

    def describe_partition(self, request: DescribePartition) -> Outcome:
        """One partition of a topic."""
        topic = self._broker.topic(request.topic)
        return self._behind_everything(lambda: self._described(topic, request.partition))

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
        return self._behind_everything(lambda: MetricsFetchResponse(metrics=report.metrics(self._broker)))

    def ping(self, request: Ping) -> Outcome:
        """Still there."""
        return Reply(Pong())

    def invalid(self, call: InvalidCall) -> Outcome:
        """A frame that was an object, but no request."""
        raise InvalidRequest(call.reason)

    # ---- answers

    def _later(self, ticket: Ticket[T], say: Callable[[T], Any], *, hold: bool = False) -> Outcome:
        def answer(done: Ticket[T]) -> Any:
            try:
                return say(done.result())
            except OnelogError as error:
                return self._refusal(error)

        return Reply(answer(ticket)) if ticket.done else Later(ticket, hold=hold, answer=answer)

    def _behind_appends(self, look: Callable[[], Any]) -> Outcome:
        """Look when this connection's own appends are visible, whatever became of them."""
        last = self._last_append
        if last is None or last.done:
            return Reply(look())

        def answer(_: Ticket[Any]) -> Any:
            try:
                return look()
            except OnelogError as error:
                return self._refusal(error)

        return Later(last, answer=answer)

    def _behind_everything(self, look: Callable[[], Any]) -> Outcome:
        """The same, and when all changes of topics and positions so far are durable."""
        durable = self._broker.barrier()
        last = self._last_append
        if last is None or last.done:
            return self._later(durable, lambda _: look())
        seen: Ticket[None] = Ticket()
        last.add_callback(lambda _: durable.add_callback(lambda done: _pass_on(done, seen)))
        return self._later(seen, lambda _: look())

    def _refusal(self, error: OnelogError) -> Error:
        self._broker.metrics.series(m.REFUSALS, DIALECT, error.code.value).add()
        topics = [topic.name for topic in self._broker.topics()] if isinstance(error, UnknownTopic) else []
        return refusal(error, topics=topics)


def _committed(outcome: OnelogError | None) -> OffsetCommitResponse:
    if outcome is not None and outcome.code in _NO_SUCCESS:
        return OffsetCommitResponse(success=False)
    if outcome is not None:
        raise outcome
    return OffsetCommitResponse(success=True)


def _created(made: Topic | OnelogError) -> CreateTopicResponse:
    if isinstance(made, OnelogError):
        raise made
    return CreateTopicResponse(success=True, partitions_created=made.partition_count)


def _pass_on(done: Ticket[None], waiting: Ticket[None]) -> None:
    if done.error is not None:
        waiting.fail(done.error)
    else:
        waiting.resolve(None)


_WORK: Final[Mapping[type, Callable[[RustLogHandler, Any], Outcome]]] = {
    Produce: RustLogHandler.produce,
    Fetch: RustLogHandler.fetch,
    OffsetCommit: RustLogHandler.commit,
    OffsetFetch: RustLogHandler.position,
    CreateTopic: RustLogHandler.create_topic,
    ListTopics: RustLogHandler.list_topics,
    DescribeTopic: RustLogHandler.describe_topic,
    DescribePartition: RustLogHandler.describe_partition,
    MetricsFetch: RustLogHandler.metrics_fetch,
    Ping: RustLogHandler.ping,
    InvalidCall: RustLogHandler.invalid,
}

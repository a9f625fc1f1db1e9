"""Fetch, ListOffsets and OffsetForLeaderEpoch: reading, and where reading may begin."""

from collections import Counter

from onelog.broker.broker import Read, ReadResult, Spot
from onelog.errors import InvalidRequest, OnelogError, Unsupported
from onelog.model import Isolation, View
from onelog.protocols.contract import Later, Outcome, Reply
from onelog.protocols.kafka import recordset
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.protocols.kafka.handlers.context import Context
from onelog.protocols.kafka.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderEpochEndOffset,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
    PartitionData,
)
from onelog.ticket import Ticket

# What one answer may weigh, whatever the client allows: Kafka's default of fetch.max.bytes.
FETCH_BYTES_MAX = 55 * 1024 * 1024
FINAL_EPOCH = -1
INITIAL_EPOCH = 0

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
# Which of the special timestamps a version of ListOffsets knows.
SPECIAL_SINCE = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
SPOTS = {
    LATEST: Spot.LATEST,
    EARLIEST: Spot.EARLIEST,
    MAX_TIMESTAMP: Spot.MAX_TIMESTAMP,
    EARLIEST_LOCAL: Spot.EARLIEST,
}


def fetch(context: Context, request: Request) -> Outcome:
    """Parked at the broker until there is enough, something failed, or the time is up."""
    body: FetchRequest = request.body
    # Every client is a full fetcher here: sessions only spare repeated lists of partitions.
    if body.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        return Reply(FetchResponse(error_code=Code.FETCH_SESSION_ID_NOT_FOUND, session_id=0, responses=[]))
    return _Fetch(context, request).outcome()


def _isolation(level: int) -> Isolation:
    return Isolation.READ_COMMITTED if level == 1 else Isolation.READ_UNCOMMITTED


class _Fetch:
    """One request on its way: the partitions that can be read wait for their records."""

    __slots__ = ("_answers", "_body", "_context", "_failed", "_isolation", "_reads", "_response", "_version")

    def __init__(self, context: Context, request: Request) -> None:
        self._context = context
        self._version = request.version
        self._body: FetchRequest = request.body
        self._isolation = _isolation(self._body.isolation_level)
        self._response = FetchResponse(error_code=0, session_id=0, responses=[])
        self._reads: list[Read] = []
        self._answers: list[PartitionData] = []
        self._failed = False

    def outcome(self) -> Outcome:
        for topic in self._body.topics:
            answer = FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=[])
            self._response.responses.append(answer)
            try:
                name = self._context.topic(topic.topic, topic.topic_id).name
            except OnelogError as error:
                for part in topic.partitions:
                    answer.partitions.append(self._refused(_empty(part.partition), error))
                continue
            for part in topic.partitions:
                partition = _empty(part.partition)
                answer.partitions.append(partition)
                self._answers.append(partition)
                self._reads.append(
                    Read(
                        topic=name,
                        partition=part.partition,
                        offset=part.fetch_offset,
                        bytes_max=max(0, part.partition_max_bytes),
                        leader_epoch=part.current_leader_epoch,
                    )
                )
        waits = bool(self._reads) and not self._failed
        bytes_max = max(0, min(self._body.max_bytes, FETCH_BYTES_MAX))
        waiting = self._context.broker.wait_fetch(
            self._reads,
            bytes_max=bytes_max,
            bytes_min=min(self._body.min_bytes, bytes_max),
            wait_ms=max(0, self._body.max_wait_ms) if waits else 0,
            isolation=self._isolation,
            view=View.RAW,
            dialect=self._context.session.dialect,
        )
        return Later(waiting, answer=self._answer)

    def _answer(self, waiting: Ticket[list[ReadResult | OnelogError]]) -> FetchResponse:
        for read, answer, result in zip(self._reads, self._answers, waiting.result(), strict=True):
            if isinstance(result, OnelogError):
                self._refused(answer, result)
                continue
            try:
                answer.records = recordset.fetched(
                    result.batches, version=self._version, where=f"{read.topic}/{read.partition}"
                )
            except KafkaRefusal as error:
                self._refused(answer, error)
                continue
            answer.high_watermark = result.marks.durable
            answer.last_stable_offset = result.marks.stable
            answer.log_start_offset = result.marks.start
            if self._isolation is Isolation.READ_COMMITTED:
                answer.aborted_transactions = [
                    AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                    for one in result.aborted
                ]
        return self._response

    def _refused(self, answer: PartitionData, error: BaseException) -> PartitionData:
        self._failed = True
        answer.error_code = self._context.refuse(error)
        return answer


def _empty(partition: int) -> PartitionData:
    return PartitionData(
        partition_index=partition,
        error_code=0,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        preferred_read_replica=-1,
        records=b"",
    )


def list_offsets(context: Context, request: Request) -> Outcome:
    """Known at once: the log is asked in memory, or reads the one batch that decides."""
    body: ListOffsetsRequest = request.body
    isolation = _isolation(body.isolation_level)
    topics = []
    for topic in body.topics:
        times = Counter(part.partition_index for part in topic.partitions)
        answers = [
            _offset(
                context, topic, part, request.version, isolation, is_twice=times[part.partition_index] > 1
            )
            for part in topic.partitions
        ]
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return Reply(ListOffsetsResponse(topics=topics))


def _offset(
    context: Context,
    topic: ListOffsetsTopic,
    part: ListOffsetsPartition,
    version: int,
    isolation: Isolation,
    *,
    is_twice: bool,
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(
        partition_index=part.partition_index, error_code=0, timestamp=-1, offset=-1, leader_epoch=-1
    )
    try:
        if is_twice:
            raise InvalidRequest(f"{topic.name}/{part.partition_index} is asked for twice")
        name = context.broker.topic(topic.name).name
        at = part.timestamp
        if at < 0 and SPECIAL_SINCE.get(at, version + 1) > version:
            raise Unsupported(f"timestamp {at} in ListOffsets {version}")
        # Nothing is tiered here, and nothing waits to be.
        if at in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            context.broker.describe_partition(name, part.partition_index)
            return answer
        found = context.broker.list_offset(
            name,
            part.partition_index,
            at=SPOTS.get(at, at),
            isolation=isolation,
            leader_epoch=part.current_leader_epoch,
        )
    except OnelogError as error:
        answer.error_code = context.refuse(error)
        return answer
    answer.timestamp, answer.offset = found.timestamp_ms, found.offset
    answer.leader_epoch = found.leader_epoch
    return answer


def offset_for_leader_epoch(context: Context, request: Request) -> Outcome:
    """Where the records of an epoch end, for readers that ask whether a log was cut since they read."""
    body: OffsetForLeaderEpochRequest = request.body
    return Reply(
        OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[_epoch_end(context, topic.topic, part) for part in topic.partitions],
                )
                for topic in body.topics
            ]
        )
    )


def _epoch_end(context: Context, topic: str, part: OffsetForLeaderPartition) -> LeaderEpochEndOffset:
    answer = LeaderEpochEndOffset(partition=part.partition)
    try:
        end = context.broker.list_offset(
            topic, part.partition, at=Spot.LATEST, leader_epoch=part.current_leader_epoch
        )
    except OnelogError as error:
        answer.error_code = context.refuse(error)
        return answer
    # A log has had one leader, so that its one epoch ends where the log does. No other is known.
    if part.leader_epoch == end.leader_epoch:
        answer.leader_epoch, answer.end_offset = end.leader_epoch, end.offset
    return answer

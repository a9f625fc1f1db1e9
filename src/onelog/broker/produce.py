"""Producing: what a topic allows, then the order in its partition, then an answer when durable.

Batches come from the dialect with records.batch.check_produced and records.codec.validate passed
(or were built by it): their bytes are what their headers say, and, where they are not compressed,
their records were verified. What is judged here needs policy.
"""

from collections.abc import Sequence

from onelog import metrics as m
from onelog.broker.partition import Partition
from onelog.broker.topics.served import Served
from onelog.broker.topics.settings import TopicPolicy
from onelog.broker.traffic import Traffic
from onelog.broker.values import Append, AppendResult, ProduceRules
from onelog.clock import Clock
from onelog.errors import InvalidRecord, InvalidTimestamp, OnelogError, RecordTooLarge
from onelog.metrics import Metrics
from onelog.records.batch import Batch
from onelog.records.control import Marker
from onelog.records.record import TimestampType
from onelog.ticket import Ticket

NO_TIMESTAMP = -1


class Producing:
    """Takes appends to their partitions. Lives in the loop's thread."""

    def __init__(self, *, served: Served, clock: Clock, metrics: Metrics) -> None:
        self._served = served
        self._clock = clock
        self._traffic = Traffic(metrics, records=m.RECORDS_PRODUCED, size=m.BYTES_PRODUCED)

    def produce(self, appends: Sequence[Append], rules: ProduceRules) -> list[Ticket[AppendResult]]:
        """One ticket each, in their order; the order in the logs is fixed on return."""
        now_ms = self._clock.wall_ms()
        return [self._append(append, rules, now_ms) for append in appends]

    def end_transaction(
        self, topic: str, partition: int, marker: Marker, *, producer_id: int, producer_epoch: int
    ) -> Ticket[AppendResult]:
        """A producer's transaction ends in this partition, as was durably decided."""
        try:
            return self._served.partition(topic, partition).end_transaction(
                marker,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                now_ms=self._clock.wall_ms(),
            )
        except OnelogError as error:
            return Ticket.refused(error)

    def _append(self, append: Append, rules: ProduceRules, now_ms: int) -> Ticket[AppendResult]:
        try:
            partition = self._served.partition(append.topic, append.partition)
            batches = _judged(partition, append.batches, rules, now_ms)
            ticket = partition.append(batches, now_ms=now_ms)
        except OnelogError as error:
            return Ticket.refused(error)
        ticket.add_callback(lambda done: self._count(done, rules.dialect, batches))
        return ticket

    def _count(self, done: Ticket[AppendResult], dialect: str, batches: Sequence[Batch]) -> None:
        if done.error is None:
            records = sum(batch.record_count for batch in batches)
            self._traffic.add(dialect, records=records, size=sum(batch.size for batch in batches))


def _judged(
    partition: Partition, batches: Sequence[Batch], rules: ProduceRules, now_ms: int
) -> Sequence[Batch]:
    """The batches as they may be appended, or the first refusal."""
    policy = partition.policy
    own = policy.batch_bytes_max
    size_max = min(rules.batch_bytes_max if own is None else own, policy.log.segment_bytes - 1)
    for batch in batches:
        if batch.size > size_max:
            raise RecordTooLarge(
                topic=partition.topic, partition=partition.index, size=batch.size, size_max=size_max
            )
    if policy.compaction is not None:
        for batch in batches:
            _judge_keys(partition, batch)
    if policy.restamps:
        return [batch.restamped(now_ms) for batch in batches]
    if rules.kafka_rules:
        for batch in batches:
            _judge_time(partition, batch, policy, now_ms)
    return batches


def _judge_keys(partition: Partition, batch: Batch) -> None:
    """Nothing could ever replace a record without a key."""
    for index, record in enumerate(batch.records()):
        if record.key is None:
            where = f"{partition.topic}/{partition.index}"
            raise InvalidRecord(where, "a record without a key, in a topic that is compacted", index=index)


def _judge_time(partition: Partition, batch: Batch, policy: TopicPolicy, now_ms: int) -> None:
    """By the header alone: the first record's time and the latest one."""
    earliest = now_ms - policy.timestamp_before_max_ms
    latest = now_ms + policy.timestamp_after_max_ms
    found = batch.max_timestamp_ms
    first = batch.base_timestamp_ms
    is_late = found != NO_TIMESTAMP and not earliest <= found <= latest
    if first != NO_TIMESTAMP and first < earliest:
        found, is_late = first, True
    if is_late or batch.timestamp_type is not TimestampType.CREATE_TIME:
        raise InvalidTimestamp(
            topic=partition.topic,
            partition=partition.index,
            timestamp_ms=found,
            earliest_ms=earliest,
            latest_ms=latest,
        )

"""What a topic allows: sizes and times, for whom; and what is counted."""

from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import Append, ProduceRules
from onelog.errors import InvalidTimestamp, RecordTooLarge, UnknownPartition, UnknownTopic
from onelog.model import TopicName
from onelog.records.batch import Batch
from onelog.records.record import TimestampType
from tests.support.brokers import DIALECT, KAFKA_RULES, ORDERS, batch, open_desk, values
from tests.support.virtual_clock import START_MS, run, turns

HOUR_MS = 3_600_000


def test_each_append_of_a_request_has_its_own_answer(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            appends = [
                Append(ORDERS, 0, [batch("a")]),
                Append(TopicName("nothing"), 0, [batch("b")]),
                Append(ORDERS, 1, [batch("c")]),
                Append(ORDERS, 0, [batch("d")]),
            ]
            first, unknown, beyond, last = desk.broker.produce(appends, rules=KAFKA_RULES)
            assert isinstance(unknown.error, UnknownTopic)
            assert isinstance(beyond.error, UnknownPartition)
            assert ((await first).first, (await last).first) == (0, 1)

    run(story())


def test_a_topic_whose_row_is_not_durable_is_unknown(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            desk.transactions.shut()
            made = desk.broker.ensure_topic("orders")
            await turns(50)
            assert isinstance(desk.append(batch("a")).error, UnknownTopic)
            desk.transactions.open()
            await made
            assert (await desk.append(batch("a"))).first == 0

    run(story())


def test_without_a_limit_of_its_own_a_topic_holds_each_dialect_to_that_dialects(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            large = batch(b"x" * 1000)
            narrow = ProduceRules(dialect=DIALECT, batch_bytes_max=large.size - 1)
            refusal = desk.append(large, rules=narrow).error
            assert isinstance(refusal, RecordTooLarge)
            assert (refusal.size, refusal.size_max) == (large.size, large.size - 1)
            await desk.append(large, rules=ProduceRules(dialect=DIALECT, batch_bytes_max=large.size))

    run(story())


def test_max_message_bytes_binds_every_dialect(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            large = batch(b"x" * 1000)
            await desk.topic(settings={"max.message.bytes": str(large.size)})
            narrow = ProduceRules(dialect=DIALECT, batch_bytes_max=10)
            wide = ProduceRules(dialect=DIALECT, batch_bytes_max=10 << 20)
            await desk.append(large, rules=narrow)
            assert isinstance(desk.append(batch(b"x" * 1001), rules=wide).error, RecordTooLarge)

    run(story())


def test_a_batch_as_large_as_a_segment_is_refused_whatever_else_is_allowed(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"segment.bytes": str(1 << 20), "max.message.bytes": str(1 << 30)})
            fitting = batch(b"x" * ((1 << 20) - 100))
            await desk.append(fitting)
            assert isinstance(desk.append(batch(b"x" * (1 << 20))).error, RecordTooLarge)

    run(story())


@pytest.mark.parametrize(
    ("ahead_ms", "settings", "is_refused"),
    [
        (0, {}, False),
        (HOUR_MS, {}, False),
        (HOUR_MS + 1, {}, True),
        (-50 * 365 * 24 * HOUR_MS, {}, False),
        (5001, {"message.timestamp.after.max.ms": "5000"}, True),
        (5000, {"message.timestamp.after.max.ms": "5000"}, False),
        (-5001, {"message.timestamp.before.max.ms": "5000"}, True),
        (-5000, {"message.timestamp.before.max.ms": "5000"}, False),
    ],
)
def test_a_kafka_producers_clock_may_be_off_by_so_much(
    tmp_path: Path, ahead_ms: int, settings: dict[str, str], is_refused: bool
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings=settings)
            ticket = desk.append(batch("a", timestamp_ms=START_MS + ahead_ms), rules=KAFKA_RULES)
            if not is_refused:
                await ticket
                return
            assert isinstance(ticket.error, InvalidTimestamp)
            assert ticket.error.timestamp_ms == START_MS + ahead_ms

    run(story())


def test_a_batch_that_begins_too_early_is_refused_though_it_ends_in_time(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"message.timestamp.before.max.ms": "5000"})
            old_and_new = batch("a", "b", timestamp_ms=[START_MS - 6000, START_MS])
            assert isinstance(desk.append(old_and_new, rules=KAFKA_RULES).error, InvalidTimestamp)

    run(story())


@pytest.mark.parametrize("timestamp_ms", [-1, START_MS + 10 * HOUR_MS])
def test_times_of_other_dialects_are_kept_as_they_are(tmp_path: Path, timestamp_ms: int) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a", timestamp_ms=timestamp_ms))
            (found,) = desk.read().batches
            assert found.max_timestamp_ms == timestamp_ms

    run(story())


def test_a_record_without_a_time_is_taken_from_a_kafka_producer(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"message.timestamp.before.max.ms": "5000"})
            await desk.append(batch("a", timestamp_ms=-1), rules=KAFKA_RULES)

    run(story())


def test_a_batch_that_claims_the_logs_own_time_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            claiming = batch("a").restamped(START_MS)
            assert isinstance(desk.append(claiming, rules=KAFKA_RULES).error, InvalidTimestamp)

    run(story())


def test_a_topic_of_append_times_has_the_logs_time_whatever_was_sent(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"message.timestamp.type": "LogAppendTime"})
            sent = batch("a", "b", timestamp_ms=START_MS + 10 * HOUR_MS)
            desk.clock.now_ms += 5
            result = await desk.append(sent, rules=KAFKA_RULES)
            assert result.timestamp_ms == START_MS + 5
            (found,) = desk.read().batches
            assert found.timestamp_type is TimestampType.LOG_APPEND_TIME
            assert {record.timestamp_ms for record in found.records()} == {START_MS + 5}
            Batch.of(found.data)
            assert values(desk.read()) == ["a", "b"]

    run(story())


def test_acknowledged_records_are_counted_by_dialect_and_others_are_not(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            ticket = desk.append(batch("a", "b"))
            await turns(50)
            assert desk.broker.metrics.value(m.RECORDS_PRODUCED, DIALECT) == 0
            desk.syncs.open()
            await ticket
            assert desk.broker.metrics.value(m.RECORDS_PRODUCED, DIALECT) == 2
            assert desk.broker.metrics.value(m.BYTES_PRODUCED, DIALECT) == batch("a", "b").size

    run(story())

"""MetricsFetch: the broker in numbers, over all dialects."""

from pathlib import Path

import pytest

from onelog.broker.broker import Append, Broker, Commit, NewTopic, PartitionInfo, ProduceRules, Read
from onelog.errors import PartitionClosed
from onelog.model import TopicName
from onelog.protocols.rustlog import report
from onelog.protocols.rustlog.messages.json import ConsumerLag, HighWatermark
from onelog.protocols.rustlog.recordset import batch_of
from tests.support.open_broker import open_broker

LOGS = TopicName("logs")


async def filled(broker: Broker) -> None:
    """Three records written through two dialects, read once, and a group that has read one."""
    await broker.create_topics([NewTopic("logs", 2)])
    for dialect, payloads in (("kafka", [b"a", b"b"]), ("rustlog", [b"c"])):
        batch = batch_of(payloads, timestamp_ms=1)
        rules = ProduceRules(dialect=dialect, batch_bytes_max=1000)
        [ticket] = broker.produce([Append(LOGS, 0, [batch])], rules=rules)
        await ticket
    broker.fetch([Read(LOGS, 0, 0, 1000)], bytes_max=1000, dialect="kafka")
    await broker.commit_positions("g", [Commit(LOGS, 0, 1)])


async def test_metrics_cover_all_dialects(tmp_path: Path) -> None:
    async with open_broker(tmp_path) as broker:
        await filled(broker)
        told = report.metrics(broker)
        assert (told.records_produced, told.records_fetched) == (3, 3)
        assert told.bytes_produced == told.bytes_fetched > 0
        assert told.high_watermarks == [HighWatermark("logs", 0, 3), HighWatermark("logs", 1, 0)]
        assert told.consumer_lag == [ConsumerLag("g", "logs", 0, 2)]
        assert "\nonelog_topics 1\n" in told.prometheus


async def test_long_lists_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_broker(tmp_path) as broker:
        await filled(broker)
        monkeypatch.setattr(report, "ENTRIES_MAX", 1)
        assert len(report.metrics(broker).high_watermarks) == 1


async def test_a_closed_partition_has_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_broker(tmp_path) as broker:
        await filled(broker)

        def closed(self: Broker, topic: str, partition: int) -> PartitionInfo:
            raise PartitionClosed(topic=topic, partition=partition, reason="torn")

        with monkeypatch.context() as patched:
            patched.setattr(Broker, "describe_partition", closed)
            assert report.metrics(broker).high_watermarks == []

"""What the pages say when not all is well."""

import json
from pathlib import Path

import pytest

from onelog.broker.broker import Broker, NewTopic, PartitionInfo
from onelog.console.api import health
from onelog.errors import DiskFailed, PartitionClosed
from onelog.ticket import Ticket
from tests.support.open_broker import open_broker


async def test_a_failed_broker_answers_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_broker(tmp_path) as broker:
        failure = DiskFailed(path="data", doing="syncing", found="EIO")
        with monkeypatch.context() as patched:
            patched.setattr(broker, "barrier", lambda: Ticket.refused(failure))
            page = health(broker)
        assert page.status == 503
        assert json.loads(page.body)["status"] == "failed"


async def test_a_closed_partition_is_named_while_the_broker_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_broker(tmp_path) as broker:
        await broker.create_topics([NewTopic("orders", 2)])

        def closed(self: Broker, topic: str, partition: int) -> PartitionInfo:
            raise PartitionClosed(topic=topic, partition=partition, reason="torn in the middle")

        with monkeypatch.context() as patched:
            patched.setattr(Broker, "describe_partition", closed)
            page = health(broker)
        told = json.loads(page.body)
        assert (page.status, told["partitions_closed"]) == (200, 2)
        assert "orders/0 is closed: torn in the middle" in told["closed"][0]

"""Started together, stopped together, and failed together."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import Broker, BrokerSettings, Commit, NewTopic
from onelog.broker.catalog import MIGRATIONS
from onelog.errors import DiskFailed, OnelogError, PartitionClosed
from onelog.metrics import Metrics
from onelog.storage.log import PartitionLog
from onelog.storage.store import Store
from tests.support.brokers import ORDERS, batch, open_desk, values
from tests.support.gates import Gate, GatedCatalog, GatedDisk
from tests.support.virtual_clock import run, turns, virtual_clock

FAILED = DiskFailed(path="orders-0", doing="syncing", found="Input/output error")


def test_a_failed_sync_of_a_segment_stops_the_catalog_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            desk.syncs.fail(FAILED)
            with pytest.raises(DiskFailed):
                await desk.append(batch("b"))
            commit = desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 1)])
            assert commit.error is FAILED
            assert desk.broker.barrier().error is FAILED
            assert desk.failures == [FAILED]
            assert values(desk.read()) == ["a"]

    run(story())


def test_a_failed_transaction_stops_the_committer_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            ticket = desk.append(batch("a"))
            await turns()
            desk.transactions.fail(FAILED)
            with pytest.raises(DiskFailed):
                await desk.broker.create_topics([NewTopic("others")])
            assert ticket.error is FAILED
            assert desk.failures == [FAILED]
            desk.syncs.open()
            await turns(50)
            assert desk.read().batches == []

    run(story())


def test_a_stop_is_clean_unless_something_failed(tmp_path: Path) -> None:
    async def story() -> None:
        mark = tmp_path / ".kafka_cleanshutdown"
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            assert not mark.exists()
        assert mark.exists()
        async with open_desk(tmp_path) as desk:
            desk.syncs.fail(FAILED)
            with pytest.raises(DiskFailed):
                await desk.append(batch("b"))
        assert not mark.exists()

    run(story())


def test_a_stop_answers_what_was_staged(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            ticket = desk.append(batch("a"))
            making = desk.broker.create_topics([NewTopic("others")])
        assert ticket.result().first == 0
        assert making.done
        async with open_desk(tmp_path) as desk:
            assert [t.name for t in desk.broker.topics()] == ["orders", "others"]

    run(story())


def test_what_is_alive_is_told_at_every_export(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=3)
            await desk.topic("others")
            desk.syncs.shut()
            desk.append(batch("a"))
            await turns()
            metrics = desk.broker.metrics
            metrics.text()
            assert metrics.value(m.TOPICS) == 2
            assert metrics.value(m.PARTITIONS) == 4
            assert metrics.value(m.TAIL_BYTES) == batch("a").size

    run(story())


def test_a_directory_of_nobody_is_set_aside_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
        (tmp_path / "orders-0").rename(tmp_path / "strangers-0")
        async with open_desk(tmp_path) as desk:
            with pytest.raises(PartitionClosed, match="not there; expected 69 bytes"):
                desk.read()
        assert "strangers-0" in caplog.text
        assert any(p.name.endswith("-stray") for p in tmp_path.iterdir())

    run(story())


def test_a_start_that_fails_leaves_the_store_to_its_owner(tmp_path: Path) -> None:
    async def story() -> None:
        transactions = Gate()
        store = Store.open(
            GatedDisk(),
            str(tmp_path),
            migrations=MIGRATIONS,
            open_catalog=partial(GatedCatalog.behind, transactions),
        )
        transactions.fail(FAILED)
        failures: list[OnelogError] = []
        with pytest.raises(DiskFailed):
            await Broker.open(
                store=store,
                clock=virtual_clock(),
                metrics=Metrics(),
                settings=BrokerSettings(),
                on_failure=failures.append,
            )
        assert failures == [FAILED]
        store.close()
        async with open_desk(tmp_path) as desk:
            await desk.topic()

    run(story())


def test_a_stop_waits_for_a_start_that_is_being_raised(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"segment.bytes": str(1 << 20), "retention.bytes": "1"})
            for _ in range(3):
                await desk.append(batch(b"x" * 600_000))
            await desk.settle()
            desk.transactions.shut()
            raising = desk.broker._parts.retention.check()
            await turns()
        assert raising.done
        assert raising.error is None
        assert [p.name for p in (tmp_path / "orders-0").glob("*.log")] == [f"{2:020d}.log"]

    run(story())


def test_a_stop_lets_everything_go_when_a_log_cannot_be_closed(tmp_path: Path) -> None:
    closed: list[int] = []

    async def stop() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=3)
            for index in range(3):
                await desk.append(batch("a"), partition=index)
            for index, (_, partition) in enumerate(desk.broker._parts.served.partitions()):
                _close_with(partition.log, partial(_refuse if index == 1 else closed.append, index))

    async def story() -> None:
        with pytest.raises(DiskFailed):
            await stop()
        assert sorted(closed) == [0, 2]
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        async with open_desk(tmp_path) as desk:
            assert values(desk.read(partition=1)) == ["a"]

    run(story())


def _close_with(log: PartitionLog, close: Callable[[], None]) -> None:
    log.close = lambda **_: close()  # type: ignore[method-assign]  # a disk that fails at the last moment


def _refuse(_: int) -> None:
    raise FAILED


def test_whoever_opened_the_broker_may_break_when_it_is_told_of_a_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.broker._parts._failure.on_failure = _breaks
            desk.syncs.fail(FAILED)
            with pytest.raises(DiskFailed):
                await desk.append(batch("a"))
            assert desk.broker.barrier().error is FAILED

    run(story())
    assert "on_failure failed" in caplog.text


def _breaks(_: OnelogError) -> None:
    raise ZeroDivisionError

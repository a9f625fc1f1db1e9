"""A real broker over a real directory inside a test's own loop, without any socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from onelog.broker.broker import Broker
from onelog.broker.catalog import MIGRATIONS
from onelog.broker.settings import BrokerSettings
from onelog.clock import Clock
from onelog.errors import OnelogError
from onelog.metrics import Metrics
from onelog.storage.disk import RealDisk
from onelog.storage.store import Store
from tests.support.hand_clock import HandClock


@asynccontextmanager
async def open_broker(
    path: Path, *, clock: Clock | None = None, settings: BrokerSettings | None = None
) -> AsyncIterator[Broker]:
    """Opened, and cleanly closed at the end. A failure of its disk fails the test.

    Without settings of the test, groups begin at once: nobody moves the clock while they gather.
    """
    failures: list[OnelogError] = []
    broker = await Broker.open(
        store=Store.open(RealDisk(), str(path), migrations=MIGRATIONS),
        clock=clock or HandClock(),
        metrics=Metrics(),
        settings=settings or BrokerSettings(group_initial_rebalance_delay_ms=0),
        on_failure=failures.append,
    )
    try:
        yield broker
    finally:
        await broker.close()
        assert not failures

"""Puts the parts of a broker together: what is loaded from where, started and stopped in which order.

The only module that knows all parts. A failure of any of them is the failure of all: nothing
more is acknowledged by anybody, and whoever opened the broker is told, once.
"""

import base64
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from typing import Self
from uuid import uuid4

from onelog import metrics as m
from onelog.broker.catalog import Catalog
from onelog.broker.committer import Committer
from onelog.broker.fetch import Fetching
from onelog.broker.groups import rows as group_rows
from onelog.broker.groups.expiry import Expiry
from onelog.broker.groups.group import GroupLimits
from onelog.broker.groups.holdings import GroupHoldings
from onelog.broker.groups.service import GroupsService
from onelog.broker.offsets import Offsets
from onelog.broker.positions.service import PositionsService
from onelog.broker.produce import Producing
from onelog.broker.producers import rows as producer_rows
from onelog.broker.producers.service import ProducersService
from onelog.broker.retention import Retention
from onelog.broker.routing import Routing
from onelog.broker.settings import BrokerSettings
from onelog.broker.settler import Settler
from onelog.broker.space import Space
from onelog.broker.start import Started, start
from onelog.broker.subscribers import Subscribers
from onelog.broker.topics.files import TopicFiles
from onelog.broker.topics.served import Served
from onelog.broker.topics.service import TopicsService
from onelog.broker.work import LoopWork
from onelog.clock import Clock
from onelog.errors import OnelogError
from onelog.metrics import Metrics
from onelog.storage.log import PartitionLog
from onelog.storage.store import Store

LOG = logging.getLogger("onelog")


@dataclass
class _Failure:
    """Tells everybody, once."""

    on_failure: Callable[[OnelogError], None]
    failing: list[Callable[[OnelogError], None]] = field(default_factory=list)
    error: OnelogError | None = None

    def __call__(self, error: OnelogError) -> None:
        if self.error is None:
            self.error = error
            try:
                self.on_failure(error)
            finally:
                for fail in self.failing:
                    fail(error)


class Parts:
    """Everything that a broker consists of. Made by Parts.open."""

    def __init__(
        self,
        store: Store,
        started: Started,
        *,
        catalog: Catalog,
        clock: Clock,
        metrics: Metrics,
        settings: BrokerSettings,
        failure: _Failure,
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._failure = failure
        self._is_settled = False
        self.loaded = started.topics
        self.served = Served()
        self.catalog = catalog
        self._work = work = LoopWork(threads=settings.settler_threads)
        self.settler = settler = Settler(
            store,
            work=work,
            transaction=lambda: catalog.transaction,
            metrics=metrics,
            on_failure=failure,
        )
        self.space = Space(store.disk, store.path, work=work, tail_bytes_max=settings.tail_bytes_max)
        self.committer = committer = Committer(
            store.commit_log,
            settler=settler,
            space=self.space,
            work=work,
            metrics=metrics,
            on_failure=failure,
            tail_bytes_max=settings.tail_bytes_max,
        )
        self.groups = GroupsService(
            group_rows.load(catalog.rows),
            catalog=catalog,
            clock=clock,
            metrics=metrics,
            limits=GroupLimits.of(settings),
        )
        failure.failing += [committer.fail, settler.fail, self.groups.fail]
        self.files = TopicFiles(store, committer=committer, metrics=metrics, on_failure=failure)
        self._serve(started, clock, settings)
        self.cluster_id = ""

    def _serve(self, started: Started, clock: Clock, settings: BrokerSettings) -> None:
        """The parts that clients ask, on top of those that keep."""
        served, catalog, metrics = self.served, self.catalog, self._metrics
        self.positions = PositionsService(
            started.positions,
            catalog=catalog,
            served=served,
            is_alive=self.loaded.state.by_id.__contains__,
            clock=clock,
            note_bytes_max=settings.note_bytes_max,
        )
        self.topics = TopicsService(
            self.loaded.state,
            catalog=catalog,
            files=self.files,
            served=served,
            settings=settings,
            forget_positions=self.positions.forget,
        )
        self.producers = ProducersService(producer_rows.load(catalog.rows), catalog=catalog)
        self.producing = Producing(served=served, clock=clock, metrics=metrics)
        self.fetching = Fetching(served=served, settings=settings, metrics=metrics)
        self.offsets = Offsets(served=served)
        self.routing = Routing(served=served)
        self.subscribers = Subscribers(served=served)
        self.holdings = GroupHoldings(groups=self.groups, positions=self.positions, catalog=catalog)
        self.expiry = self._expiry(clock, settings)
        self.retention = Retention(
            served=served,
            catalog=catalog,
            committer=self.committer,
            files=self.files,
            clock=clock,
            interval_ms=settings.retention_check_interval_ms,
        )

    @classmethod
    async def open(
        cls,
        *,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        settings: BrokerSettings,
        on_failure: Callable[[OnelogError], None],
    ) -> Self:
        """Everything loaded and every log open; the store is the parts' to close from then on."""
        failure = _Failure(on_failure)
        catalog = Catalog(store.catalog, metrics=metrics, on_failure=failure)
        failure.failing.append(catalog.fail)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(catalog.close)
            started = start(store, catalog, settings=settings, metrics=metrics)
            parts = cls(
                store,
                started,
                catalog=catalog,
                clock=clock,
                metrics=metrics,
                settings=settings,
                failure=failure,
            )
            undo.push_async_callback(parts._stop)
            await parts._start()
            undo.pop_all()
        return parts

    def _expiry(self, clock: Clock, settings: BrokerSettings) -> Expiry:
        return Expiry(
            groups=self.groups,
            positions=self.positions,
            subscribers=self.subscribers,
            served=self.served,
            catalog=self.catalog,
            clock=clock,
            metrics=self._metrics,
            retention_ms=settings.position_retention_ms,
            interval_ms=settings.position_check_interval_ms,
        )

    async def close(self) -> None:
        """What was staged is written and answered; then all is let go, cleanly if nothing failed."""
        at_rest: list[PartitionLog] | None = None
        try:
            at_rest = await self._stop()
        finally:
            self._store.close(at_rest=at_rest)

    async def _start(self) -> None:
        self.cluster_id = await self._cluster_id()
        self._sort_out()
        self.topics.start(self.loaded.partitions)
        self._metrics.add_collector(self._collect)
        self.retention.start()
        self.space.start()
        self.positions.start()
        self.groups.start()
        self.expiry.start()

    async def _stop(self) -> "list[PartitionLog] | None":
        """All logs, if everything that was begun came to a good end. What fails keeps nothing else open."""
        async with AsyncExitStack() as stops:
            # Begins with the last. Whoever asks somebody for work stops before him: a start that
            # is durable lets files go, so the catalog has its say before the files' thread.
            stops.callback(self._work.close)
            stops.callback(self._shut_logs)
            stops.push_async_callback(self.files.close)
            stops.push_async_callback(self.catalog.close)
            stops.push_async_callback(self._settle_all)
            stops.push_async_callback(self.committer.close)
            stops.push_async_callback(self.topics.close)
            stops.callback(self.groups.close)
            stops.callback(self.expiry.close)
            stops.callback(self.retention.close)
            stops.callback(self.space.close)
        partitions = [partition for _, partition in self.served.partitions()]
        if not self._is_settled or self._failure.error is not None or not all(p.is_open for p in partitions):
            return None
        return [partition.log for partition in partitions]

    async def _settle_all(self) -> None:
        self._is_settled = await self.settler.close()

    def _shut_logs(self) -> None:
        with ExitStack() as shuts:
            for _, partition in self.served.partitions():
                shuts.callback(partition.shut)

    async def _cluster_id(self) -> str:
        found = self.catalog.rows("SELECT value FROM meta WHERE key = 'cluster_id'")
        if found:
            return str(found[0][0])
        # 22 characters, as Kafka's tools print it.
        made = base64.urlsafe_b64encode(uuid4().bytes).rstrip(b"=").decode()
        await self.catalog.write([("INSERT INTO meta VALUES ('cluster_id', ?)", (made,))])
        return made

    def _sort_out(self) -> None:
        state = self.loaded.state
        alive = {str(topic.name): (topic.id, topic.partition_count) for topic in state.by_name.values()}
        for path in self._store.sort_out(alive, list(state.removed)).strays:
            LOG.warning("%s: belongs to no topic; it is left alone and not served", path)
        self.topics.forget_removed()

    def _collect(self) -> None:
        partitions = [partition for _, partition in self.served.partitions()]
        self._metrics.series(m.TOPICS).value = len(self.served.topics())
        self._metrics.series(m.PARTITIONS).value = len(partitions)
        tails = sum(partition.log.tail_bytes for partition in partitions if partition.is_open)
        self._metrics.series(m.TAIL_BYTES).value = tails
        self.groups.count()

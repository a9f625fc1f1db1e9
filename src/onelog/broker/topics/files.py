"""The files of topics: logs opened and taken away, and one thread for what takes long.

Logs are opened in the loop's thread: at the start nobody is served yet, and a new log has no
file before its first record. Unlinking is slow and done in the thread.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from onelog import metrics as m
from onelog.broker.committer import Committer
from onelog.broker.partition import Partition, closed_because
from onelog.broker.topics.rows import PartitionRow
from onelog.broker.topics.settings import Durability, TopicPolicy, policy_of
from onelog.broker.values import DirectoryInfo, Topic
from onelog.errors import DiskFailed, OnelogError
from onelog.metrics import Metrics
from onelog.model import TopicId
from onelog.storage.store import Store
from onelog.ticket import Ticket

LOG = logging.getLogger("onelog")
NEW = PartitionRow(log_start=0, leader_epoch=0)


class TopicFiles:
    """Owns the thread in which directories come and go."""

    def __init__(
        self,
        store: Store,
        *,
        committer: Committer,
        metrics: Metrics,
        on_failure: Callable[[OnelogError], None],
    ) -> None:
        self._store = store
        self._committer = committer
        self._on_failure = on_failure
        self._segments_removed = metrics.series(m.SEGMENTS_REMOVED)
        self._running: set[asyncio.Future[int]] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="onelog-files")

    def load(self, topic: Topic, rows: Mapping[tuple[TopicId, int], PartitionRow]) -> list[Partition]:
        """Every partition of a topic that was there before; one that cannot be opened is closed."""
        policy = policy_of(topic.settings)
        partitions = []
        for index in range(topic.partition_count):
            row = rows.get((topic.id, index), NEW)
            try:
                partition = self._open(topic, index, row, policy)
            except OnelogError as error:
                partition = self._closed(topic, index, row, policy, error)
            partitions.append(partition)
        return partitions

    async def make(self, topic: Topic, *, first: int) -> list[Partition]:
        """New partitions from first on: all of them, or an error and none."""
        policy = policy_of(topic.settings)
        made: list[Partition] = []
        try:
            made.extend(
                self._open(topic, index, NEW, policy) for index in range(first, topic.partition_count)
            )
        except OnelogError as error:
            self._stop_unless_full(error)
            for partition in made:
                await partition.close(error)
            raise
        return made

    def closed(self, topic: Topic, *, first: int, error: OnelogError) -> list[Partition]:
        """Partitions from first on which could not be made, though their topic says that they are there."""
        policy = policy_of(topic.settings)
        return [
            self._closed(topic, index, NEW, policy, error) for index in range(first, topic.partition_count)
        ]

    async def remove(self, topic: Topic) -> None:
        """Every file of a topic whose partitions are closed."""
        try:
            # In the thread, like removals of its segments that are still under way: those go by
            # path, and one that comes late would meet the files of a successor.
            for index in range(topic.partition_count):
                job = self._store.remove_log(topic.name, topic.id, index)
                self._segments_removed.add(await self._run(job.run))
        except OnelogError as error:
            self._stop_unless_full(error)
            raise

    def forgotten(self, topic: Topic) -> Ticket[None]:
        """Done when its id need not be known any more; its files are gone already."""
        self._committer.forget(topic.id)
        return self._committer.behind()

    def remove_segments(self, partition: Partition) -> None:
        """Segments of which nothing is read any more, in the background."""
        try:
            if partition.log.removable():
                self._run(partition.log.remove_segments().run).add_done_callback(self._removed)
        except OnelogError as error:
            self._stop_unless_full(error)

    def _run(self, work: Callable[[], int]) -> "asyncio.Future[int]":
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return running

    def _removed(self, done: "asyncio.Future[int]") -> None:
        error = done.exception()
        if error is None:
            self._segments_removed.add(done.result())
        elif isinstance(error, OnelogError):
            self._stop_unless_full(error)  # what could not be unlinked is ignored at the next start
        else:
            raise error

    def directory(self) -> DirectoryInfo:
        """Where all logs are."""
        store = self._store
        return DirectoryInfo(store.path, store.disk.free_bytes(store.path))

    async def close(self) -> None:
        """Let the thread go when it has done what it was asked for."""
        while self._running:
            await asyncio.wait(self._running)
        self._thread.shutdown(wait=True)

    def _open(self, topic: Topic, index: int, row: PartitionRow, policy: TopicPolicy) -> Partition:
        log = self._store.open_log(
            topic.name, topic.id, index, settings=policy.log, is_os=policy.durability is Durability.OS
        )
        return Partition(
            topic.name,
            index,
            log=log,
            leader_epoch=row.leader_epoch,
            policy=policy,
            committer=self._committer,
        )

    def _closed(
        self, topic: Topic, index: int, row: PartitionRow, policy: TopicPolicy, error: OnelogError
    ) -> Partition:
        closed = closed_because(error, topic=topic.name, partition=index)
        LOG.error("%s", closed)
        return Partition(
            topic.name,
            index,
            log=None,
            leader_epoch=row.leader_epoch,
            policy=policy,
            committer=self._committer,
            closed=closed,
        )

    def _stop_unless_full(self, error: OnelogError) -> None:
        # A failed sync of a directory is like that of a file: nothing after it can be believed.
        if isinstance(error, DiskFailed):
            self._on_failure(error)

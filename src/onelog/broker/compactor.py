"""Compaction in the background: of the logs whose topics ask for it, the dirtiest, one at a time.

What is Python in a pass runs on the loop in slices with pauses between them; what is a system
call runs in the files' thread, in one order with removals, so that nothing is written into a
directory that was moved away. storage/compaction.py says what stays.
"""

import asyncio
import logging
from contextlib import suppress

from onelog import metrics as m
from onelog.broker.committer import Committer
from onelog.broker.partition import Partition
from onelog.broker.topics.files import TopicFiles
from onelog.broker.topics.served import Served
from onelog.broker.trusted_clock import TrustedClock
from onelog.clock import Clock
from onelog.errors import DiskFailed, DiskFull, OnelogError, PartitionClosed
from onelog.metrics import Metrics
from onelog.storage.compaction import Extent, due, should_roll
from onelog.storage.disk import READING
from onelog.storage.log import PartitionLog
from onelog.storage.rewrite import Compaction
from onelog.storage.segment import LogRefused

LOG = logging.getLogger("onelog")
SLICE_S = 0.0002
PAUSE_S = 0.0008


class Compactor:
    """Owns the passes. Lives in the loop's thread."""

    def __init__(
        self,
        *,
        served: Served,
        committer: Committer,
        files: TopicFiles,
        clock: Clock,
        metrics: Metrics,
        interval_ms: int,
    ) -> None:
        self._served = served
        self._committer = committer
        self._files = files
        self._clock = TrustedClock(clock)
        self._passes = metrics.series(m.COMPACTIONS)
        self._bytes_freed = metrics.series(m.BYTES_COMPACTED)
        self._interval_s = interval_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    def start(self) -> None:
        """Look now and then, until closed."""
        self._timer = self._loop.call_later(self._interval_s, self._look)

    async def close(self) -> None:
        """Begin no pass any more; the one under way ends between two of its steps."""
        self._is_closing = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def check(self) -> None:
        """Compact what is due, the dirtiest log first."""
        now_ms = self._clock.now_ms()
        for partition, extent in sorted(self._due(now_ms), key=lambda found: -found[1].ratio):
            if self._is_closing:
                return
            await self._compact(partition, extent, now_ms)

    def _look(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self.check())
        self.start()

    def _due(self, now_ms: int) -> list[tuple[Partition, Extent]]:
        found: list[tuple[Partition, Extent]] = []
        for _, partition in self._served.partitions():
            policy = partition.policy.compaction
            if policy is None or not partition.is_open:
                continue
            with suppress(OnelogError):  # one that turns out to be damaged is closed by this
                log = partition.log
                if should_roll(partition.segments(), policy, now_ms=now_ms):
                    log.ask_to_roll(now_ms)
                    self._committer.write(log)
                extent = due(partition.segments(), policy, log.cleaned, log.marks.stable, now_ms=now_ms)
                if extent is not None:
                    found.append((partition, extent))
        return found

    async def _compact(self, partition: Partition, extent: Extent, now_ms: int) -> None:
        policy = partition.policy.compaction
        if policy is None or not partition.is_open:
            return
        log = partition.log
        compaction: Compaction | None = None
        try:
            compaction = Compaction(log, policy, extent, now_ms=now_ms)
            await self._run(partition, compaction)
        except LogRefused as refusal:
            _close(partition, log, str(refusal))
        except PartitionClosed as closed:
            _close(partition, log, closed.reason)
        except OnelogError as error:
            await self._failed(partition, log, compaction, error)
        else:
            self._passes.add()
            self._bytes_freed.add(max(0, compaction.bytes_before - compaction.bytes_after))

    async def _run(self, partition: Partition, compaction: Compaction) -> None:
        """Step by step, for as long as the log is served and the broker runs."""
        log = partition.log
        steps = compaction.steps()
        ends_s = self._loop.time() + SLICE_S
        try:
            for act in steps:
                # Only before a step, never behind one: what was exchanged on disk is made known at once.
                if self._is_closing or not partition.is_open or partition.log is not log:
                    return
                if act is not None:
                    await self._files.run(act)
                elif self._loop.time() >= ends_s:
                    await asyncio.sleep(PAUSE_S)
                    ends_s = self._loop.time() + SLICE_S
        finally:
            steps.close()

    async def _failed(
        self, partition: Partition, log: PartitionLog, compaction: Compaction | None, error: OnelogError
    ) -> None:
        if isinstance(error, DiskFailed) and error.doing in READING:
            # Its files may be gone because its topic is.
            _close(partition, log, f"{error.path}: {error.found} while {error.doing}")
            return
        swap = None if compaction is None else compaction.swap
        if not isinstance(error, DiskFull) or (swap is not None and swap.has_begun):
            self._files.stop(error)
            return
        LOG.warning("%s Compaction of %s/%d is tried again.", error, partition.topic, partition.index)
        if swap is not None:
            with suppress(OnelogError):
                await self._files.run(swap.undo)


def _close(partition: Partition, log: PartitionLog, reason: str) -> None:
    """What cannot be read is served by nobody, if it still is."""
    if partition.is_open and partition.log is log:
        error = PartitionClosed(topic=partition.topic, partition=partition.index, reason=reason)
        LOG.error("%s", error)
        partition.close(error, keeps_tail=True)

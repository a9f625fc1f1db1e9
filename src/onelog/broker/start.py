"""A start of the broker: what the catalog says is told to storage, and what storage found to the catalog.

Everything is durable when it returns. StoreRefused: nothing was lost or changed, and nothing is served.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from uuid import uuid4

from onelog import metrics as m
from onelog.broker import directory
from onelog.broker.adoption import adopt
from onelog.broker.catalog import Catalog, Statement
from onelog.broker.positions import rows as position_rows
from onelog.broker.positions.state import PositionsState, apply, beyond
from onelog.broker.settings import BrokerSettings
from onelog.broker.topics import rows as topic_rows
from onelog.broker.topics.rows import Loaded, PartitionRow, epoch_raised
from onelog.broker.topics.settings import Durability, policy_of
from onelog.metrics import Metrics
from onelog.storage.commit_log import CommitLogSettings
from onelog.storage.frames import LogKey
from onelog.storage.recovery import Known, LogFacts, Recovered
from onelog.storage.store import Store

LOG = logging.getLogger("onelog")


@dataclass
class Started:
    """What is served from."""

    topics: Loaded
    positions: PositionsState


def start(store: Store, catalog: Catalog, *, settings: BrokerSettings, metrics: Metrics) -> Started:
    """Recover every log, durably, and forget what only an earlier root needed."""
    found = directory.load(catalog.rows)
    directory_id = found.id
    if directory_id is None:
        directory_id = uuid4()
        catalog.write_now([directory.named(directory_id)])
    adopt(store, catalog)
    started = Started(topic_rows.load(catalog.rows), position_rows.load(catalog.rows))
    known = Known(
        directory=directory_id,
        epoch=secrets.randbits(64),
        epochs=found.epochs,
        transaction=catalog.transaction,
        logs=_facts(started.topics),
        removed=frozenset(started.topics.state.removed),
    )

    def note(recovered: Recovered) -> int:
        catalog.write_now([directory.epoch_noted(known.epoch), *_brought_back(started, recovered, metrics)])
        return catalog.transaction

    sizes = CommitLogSettings(settings.commit_log_file_bytes, settings.commit_log_bytes_max)
    with ThreadPoolExecutor(settings.settler_threads, thread_name_prefix="onelog-start") as threads:
        recovered = store.recover(known, note, settings=sizes, run_all=lambda acts: _run_all(threads, acts))
    catalog.write_now([directory.others_forgotten(known.epoch)])
    metrics.series(m.BYTES_CUT).add(recovered.bytes_cut)
    _tell(recovered)
    return started


def _run_all(threads: ThreadPoolExecutor, acts: Sequence[Callable[[], None]]) -> None:
    """All of them, whatever one raises: then that is raised."""
    for ended in [threads.submit(act) for act in acts]:
        ended.result()


def _facts(loaded: Loaded) -> dict[LogKey, LogFacts]:
    facts: dict[LogKey, LogFacts] = {}
    for topic in loaded.state.by_id.values():
        policy = policy_of(topic.settings)
        for partition in range(topic.partition_count):
            row = loaded.partitions.get((topic.id, partition))
            facts[LogKey(topic.id, partition)] = LogFacts(
                topic.name,
                policy.log,
                start=0 if row is None else row.log_start,
                is_os=policy.durability is Durability.OS,
            )
    return facts


def _brought_back(started: Started, recovered: Recovered, metrics: Metrics) -> list[Statement]:
    """Of `os` logs after a stop that was not clean: clients notice, and no position is beyond the end."""
    ends = recovered.unsure_ends()
    statements: list[Statement] = []
    for key in ends:
        row = started.topics.partitions.get(key, PartitionRow(log_start=0, leader_epoch=0))
        row = replace(row, leader_epoch=row.leader_epoch + 1)
        started.topics.partitions[key] = row
        statements.append(epoch_raised(*key, row.leader_epoch))
    for change in beyond(started.positions, ends):
        LOG.warning(
            "group %s: its position in %s/%d was beyond the end of the log; it is %d now",
            change.group,
            change.topic_id,
            change.partition,
            change.kept.position.offset,
        )
        apply(started.positions, change)
        statements += position_rows.statements(change)
        metrics.series(m.POSITIONS_BROUGHT_BACK).add()
    return statements


def _tell(recovered: Recovered) -> None:
    if recovered.is_adopted:
        # A new directory has none, and no stop before.
        if recovered.logs:
            LOG.info("the directory had no commit log: %d logs are adopted as they are", len(recovered.logs))
    elif not recovered.was_clean:
        LOG.info(
            "the stop before was not clean: %d bytes of the commit log are settled", recovered.bytes_settled
        )

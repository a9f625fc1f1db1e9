"""What a log at rest leaves for others."""

from random import Random

import pytest

from onelog.storage import layout, snapshot
from onelog.storage.log import PartitionLog
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import ROOT, aborting, batch_of, in_transaction, open_log, open_store, write

DIRECTORY = f"{ROOT}/orders-0"


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(0))


def _closed(disk: SimulatedDisk, *, rounds: int = 1) -> PartitionLog:
    log = open_log(open_store(disk))
    for batch in (in_transaction("a"), aborting(7), in_transaction("b", sequence=1)):
        log.append([batch], leader_epoch=0, now_ms=0)
    write(log)
    log.close()
    return log


def test_the_producers_and_their_open_transactions_are_left_at_the_end(disk: SimulatedDisk) -> None:
    _closed(disk)
    known = snapshot.load(disk, DIRECTORY, 3)
    assert known is not None
    assert list(known.transactions.open_at(3)) == [(7, 2)]


def test_the_index_of_aborted_transactions_is_left_for_the_active_segment(disk: SimulatedDisk) -> None:
    _closed(disk)
    assert layout.segment_file(0, layout.TRANSACTION_INDEX_SUFFIX) in disk.names(DIRECTORY)


def test_the_snapshot_of_an_earlier_stop_goes(disk: SimulatedDisk) -> None:
    log = _closed(disk)
    log.append([batch_of("c")], leader_epoch=0, now_ms=0)
    write(log)
    log.close()
    snapshots = [name for name in disk.names(DIRECTORY) if name.endswith(layout.SNAPSHOT_SUFFIX)]
    assert snapshots == [layout.segment_file(4, layout.SNAPSHOT_SUFFIX)]


def test_a_log_without_producers_leaves_no_snapshot(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk))
    log.append([batch_of("c")], leader_epoch=0, now_ms=0)
    write(log)
    log.close()
    assert layout.segment_file(1, layout.SNAPSHOT_SUFFIX) not in disk.names(DIRECTORY)


def test_a_full_disk_leaves_none_of_them(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk))
    log.append([in_transaction("a")], leader_epoch=0, now_ms=0)
    write(log)
    disk.room_bytes = 0
    log.close()
    assert [name for name in disk.names(DIRECTORY) if name.endswith((".index", ".snapshot"))] == []

"""What is not in segments yet is known to those who only look."""

from random import Random
from uuid import UUID

import pytest

from onelog.storage.disk import StoreRefused
from onelog.storage.frames import Entry, LogKey
from onelog.storage.kept_tails import keep_tail
from onelog.storage.pending import pending
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import KEY, RING, ROOT, fill, keep, open_log, open_store

OTHER = LogKey(UUID(int=9), 0)


def _entry(key: LogKey, base: int, next: int) -> Entry:
    return Entry(key, base, next, [b"x" * 10], 10)


def test_a_directory_without_a_root_says_nothing() -> None:
    disk = SimulatedDisk(Random(0))
    disk.make_dir(ROOT)
    found = pending(disk, ROOT)
    assert (found.ends, found.tails, found.end_of(KEY)) == (None, {}, 0)


def test_records_of_frames_and_kept_tails_are_pending_once() -> None:
    disk = SimulatedDisk(Random(0))
    store = open_store(disk)
    log = open_log(store)
    fill(log, 3)
    keep(store, log)
    keep_tail(disk, ROOT, OTHER, [_entry(OTHER, 0, 2)], directory=UUID(int=1))
    for entry in (_entry(KEY, 2, 3), _entry(KEY, 3, 5), _entry(OTHER, 0, 2), _entry(OTHER, 2, 3)):
        store.commit_log.write([entry])
    found = pending(disk, ROOT, block_bytes=RING.block_bytes)
    assert found.frames == 4
    assert {k: [(e.base, e.next) for e in v] for k, v in found.tails.items()} == {
        KEY: [(3, 5)],
        OTHER: [(0, 2), (2, 3)],
    }
    assert (found.end_of(KEY), found.end_of(OTHER)) == (5, 3)


def test_where_a_start_would_refuse_so_does_this() -> None:
    disk = SimulatedDisk(Random(0))
    open_log(open_store(disk))
    disk.unlink(f"{ROOT}/onelog.commit.0")
    with pytest.raises(StoreRefused):
        pending(disk, ROOT, block_bytes=RING.block_bytes)

"""A pass over a log: what readers see before, between and afterwards, and what a cut at any call leaves."""

from itertools import count
from random import Random

import pytest

from onelog.binary.compression import Codec
from onelog.errors import DiskFull
from onelog.storage import layout
from onelog.storage.compaction import CompactionPolicy, Extent, due
from onelog.storage.log import LogSettings, PartitionLog
from onelog.storage.rewrite import Compaction
from onelog.storage.segment import LogRefused
from onelog.storage.store import Store
from tests.support.keyed import all_batches, keyed, pairs_of, ran, table_of
from tests.support.simulated_disk import ROOM_BYTES, PowerCutError, SimulatedDisk
from tests.support.small_logs import (
    ROOT,
    aborting,
    committing,
    in_transaction,
    keep,
    open_log,
    open_store,
    write,
)

POLICY = CompactionPolicy(dirty_ratio_min=0.0, tombstone_ms=100)
SETTINGS = LogSettings(segment_bytes=300, index_interval_bytes=100)
DIRECTORY = f"{ROOT}/orders-0"
LAST = {"a": "9", "b": "10", "c": None, "e": "x", "f": "y"}


def _open(disk: SimulatedDisk) -> tuple[Store, PartitionLog]:
    store = open_store(disk)
    return store, open_log(store, settings=SETTINGS)


def _fill(log: PartitionLog) -> None:
    """Twelve batches in several segments; the active one holds the last of them."""
    for number in range(9):
        log.append([keyed(f"a={number}", f"b={number}", codec=Codec(number % 5))], leader_epoch=0, now_ms=0)
    for batch in (keyed("c=1"), keyed("c"), keyed("a=9", "b=10"), keyed("e=x"), keyed("f=y")):
        log.append([batch], leader_epoch=0, now_ms=0)
    write(log)


def _pass(log: PartitionLog, *, now_ms: int = 0) -> Compaction:
    extent = due(log.segments(), POLICY, log.cleaned, log.marks.stable, now_ms=now_ms)
    assert extent is not None
    return Compaction(log, POLICY, extent, now_ms=now_ms)


def _table(log: PartitionLog) -> dict[str, str | None]:
    return table_of(pairs_of(all_batches(log)))


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(0))


def test_a_pass_leaves_of_each_key_the_last_and_offsets_keep(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    before, end = pairs_of(all_batches(log)), log.marks.appended
    compaction = _pass(log)
    ran(compaction)
    after = pairs_of(all_batches(log))
    assert after.items() <= before.items()
    assert table_of(after) == table_of(before)
    assert len(after) < len(before) / 2
    assert compaction.bytes_after < compaction.bytes_before
    assert log.marks.appended == end
    assert [s.offset_end for s in log.segments()][-1] == end
    assert due(log.segments(), POLICY, log.cleaned, log.marks.stable, now_ms=0) is None


def test_readers_see_all_of_the_old_or_all_of_the_new_between_any_two_steps(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    table, seen = _table(log), set()
    for act in _pass(log).steps():
        assert _table(log) == table
        if act is not None:
            act()
        seen.add(len(all_batches(log)))
        assert _table(log) == table
    assert len(seen) > 1


def test_every_offset_can_be_asked_for_and_leads_on(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    ran(_pass(log))
    for offset in range(log.marks.appended):
        found = log.read(offset, bytes_max=1, offset_max=log.visible)
        assert found, offset
        assert found[0].offset_end > offset


def test_what_was_compacted_stands_after_a_start_and_takes_a_further_pass(disk: SimulatedDisk) -> None:
    store, log = _open(disk)
    _fill(log)
    ran(_pass(log))
    table, found = _table(log), pairs_of(all_batches(log))
    keep(store, log)
    store.close()
    disk.kill()
    _, log = _open(disk)
    assert pairs_of(all_batches(log)) == found
    ran(_pass(log, now_ms=100))
    assert _table(log) == table
    assert "c" not in pairs_of(all_batches(log)).values()


def test_the_indexes_of_a_new_segment_are_its_own(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    ran(_pass(log))
    found = log.find_time(0, offset_max=log.visible)
    assert found is not None
    assert found.offset == min(pairs_of(all_batches(log)))


@pytest.mark.parametrize("ordered_names", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_at_any_call_leaves_the_old_or_the_new(seed: int, ordered_names: bool) -> None:
    for call in count(1):
        disk = SimulatedDisk(Random(seed), ordered_names=ordered_names)
        store, log = _open(disk)
        _fill(log)
        keep(store, log)
        before, end = pairs_of(all_batches(log)), log.marks.appended
        disk.cut_at = disk.calls + call
        try:
            ran(_pass(log))
        except PowerCutError:
            disk.power_cut()
        else:
            break
        _recovered(disk, call, before, end)
    assert call > 20


def _recovered(disk: SimulatedDisk, call: int, before: dict[int, str], end: int) -> None:
    """After a start, which is cut off itself the first time."""
    disk.cut_at = disk.calls + 1 + call % 7
    try:
        _open(disk)
    except PowerCutError:
        disk.power_cut()
    else:
        disk.kill()
    _, log = _open(disk)
    after = pairs_of(all_batches(log))
    assert after.items() <= before.items(), call
    assert table_of(after) == table_of(before), call
    assert log.marks.appended == end
    assert not [n for n in disk.names(DIRECTORY) if n.endswith((".cleaned", ".swap", ".deleted"))]
    ran(_pass(log))
    assert table_of(pairs_of(all_batches(log))) == table_of(before), call


def test_a_full_disk_leaves_everything_as_it_was(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    found = pairs_of(all_batches(log))
    disk.full_at = disk.calls + 1
    compaction = _pass(log)
    with pytest.raises(DiskFull):
        ran(compaction)
    assert compaction.swap is not None
    assert not compaction.swap.has_begun
    compaction.swap.undo()
    disk.full_at, disk.room_bytes = None, ROOM_BYTES
    assert pairs_of(all_batches(log)) == found
    assert not [name for name in disk.names(DIRECTORY) if name.endswith(".cleaned")]
    ran(_pass(log))
    assert table_of(pairs_of(all_batches(log))) == table_of(found)


def test_a_damaged_batch_is_never_given_a_checksum_of_its_own(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    disk.open(f"{DIRECTORY}/{layout.segment_file(0)}").write_at(17, [b"\xff"])
    with pytest.raises(LogRefused, match="checksum"):
        ran(_pass(log))


def test_segments_that_are_about_to_be_replaced_are_not_removed_meanwhile(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    steps = _pass(log).steps()
    for act in steps:
        if act is not None:
            act()
        if any(name.endswith(".cleaned") for name in disk.names(DIRECTORY)):
            break
    log.raise_start(log.marks.settled)
    assert log.removable() == []
    steps.close()
    assert log.removable() != []


def test_producers_numbers_and_transactions_outlive_what_is_compacted(disk: SimulatedDisk) -> None:
    store, log = _open(disk)
    batches = [
        keyed("a=1", "b=1", producer_id=5, sequence=0),
        keyed("a=2", producer_id=7, sequence=0, transactional=True),
        aborting(7),
        keyed("a=3", producer_id=8, sequence=0, transactional=True),
        committing(8),
        keyed("a=4", "b=4"),
        *[keyed(f"z={n}") for n in range(12)],
        in_transaction("open", producer_id=9),
    ]
    for batch in batches:
        log.append([batch], leader_epoch=0, now_ms=0)
    write(log)
    for now_ms in (0, 200, 400):
        log.cleaned = 0
        ran(_pass(log, now_ms=now_ms))
    assert "a=2" not in pairs_of(all_batches(log)).values()
    keep(store, log)
    store.close()
    disk.kill()
    _, log = _open(disk)
    for producer_id, sequence in ((5, 2), (7, 1), (8, 1)):
        known = log.producers.get(producer_id)
        assert known is not None
        assert known.seen[-1].last_sequence == sequence - 1
    assert log.marks.stable == log.marks.appended - 1
    assert [log.producers.transactions.is_open(n) for n in (5, 7, 8, 9)] == [False, False, False, True]


def test_keys_that_one_pass_cannot_remember_wait_for_the_next(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    table = _table(log)
    passes = 0
    while (extent := due(log.segments(), POLICY, log.cleaned, log.marks.stable, now_ms=0)) is not None:
        ran(Compaction(log, POLICY, extent, now_ms=0, keys_max=2))
        passes += 1
        assert _table(log) == table
        assert passes < 50
    assert passes > 1


def test_what_is_not_sealed_is_not_touched(disk: SimulatedDisk) -> None:
    _, log = _open(disk)
    _fill(log)
    active = log.segments()[-1]
    ran(Compaction(log, POLICY, Extent(0, log.marks.appended, 1.0), now_ms=0))
    assert log.segments()[-1] == active

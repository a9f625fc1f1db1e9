"""The disk that forgets forgets what a real one may, and nothing else."""

from random import Random

import pytest

from onelog.errors import DiskFailed, DiskFull
from tests.support.simulated_disk import PowerCutError, SimulatedDisk

SEEDS = range(200)


def _disk(seed: int, *, ordered_names: bool = True) -> SimulatedDisk:
    return SimulatedDisk(Random(seed), page_bytes=8, sector_bytes=4, ordered_names=ordered_names)


def _known_file(disk: SimulatedDisk) -> None:
    """A file whose name is durable, with synced bytes."""
    file = disk.open("a", create=True)
    file.write_at(0, [b"old " * 4])
    file.sync()
    disk.sync_dir(".")


def test_what_was_synced_under_a_synced_name_survives() -> None:
    for seed in SEEDS:
        disk = _disk(seed)
        _known_file(disk)
        disk.power_cut()
        assert disk.open("a").pread(0, 100) == b"old " * 4


def test_of_what_was_not_synced_any_page_may_be_old_new_or_torn() -> None:
    seen = set()
    for seed in SEEDS:
        disk = _disk(seed)
        _known_file(disk)
        disk.open("a").write_at(0, [b"new " * 4])
        disk.power_cut()
        seen.add(disk.open("a").pread(0, 100))
    assert seen > {b"old " * 4, b"new " * 4, b"new new old old ", b"old old new new "}
    assert all(data[n : n + 4] in (b"old ", b"new ") for data in seen for n in range(0, 16, 4))


def test_the_size_may_be_any_between_and_holes_are_zeroes() -> None:
    seen = set()
    for seed in SEEDS:
        disk = _disk(seed)
        _known_file(disk)
        disk.open("a").write_at(16, [b"more" * 4])
        disk.power_cut()
        data = disk.open("a").pread(0, 100)
        assert data[:16] == b"old " * 4
        seen.add(len(data))
        assert set(data[16:]) <= set(b"more\0")
    assert {16, 32} < seen


def test_a_file_whose_name_was_not_synced_may_vanish() -> None:
    found = set()
    for seed in SEEDS:
        disk = _disk(seed)
        file = disk.open("a", create=True)
        file.write_at(0, [b"x"])
        file.sync()
        disk.power_cut()
        found.add(disk.exists("a"))
    assert found == {True, False}


@pytest.mark.parametrize("ordered", [True, False])
def test_names_are_lost_from_the_end_or_one_by_one(ordered: bool) -> None:
    found = set()
    for seed in SEEDS:
        disk = _disk(seed, ordered_names=ordered)
        for name in "abc":
            disk.open(name, create=True)
        disk.power_cut()
        found.add("".join(disk.names(".")))
    prefixes = {"", "a", "ab", "abc"}
    assert found == prefixes if ordered else found > prefixes


def test_a_rename_is_there_or_not_and_never_half() -> None:
    found = set()
    for seed in SEEDS:
        disk = _disk(seed)
        _known_file(disk)
        disk.rename("a", "b")
        disk.power_cut()
        found.add("".join(disk.names(".")))
    assert found == {"a", "b"}


def test_a_directory_that_vanishes_takes_what_is_in_it_along() -> None:
    found = set()
    for seed in SEEDS:
        disk = _disk(seed)
        disk.make_dir("d")
        disk.open("d/a", create=True)
        disk.sync_dir("d")
        disk.power_cut()
        found.add(disk.exists("d/a"))
    assert found == {True, False}


def test_after_a_kill_the_cache_is_still_there() -> None:
    disk = _disk(0)
    _known_file(disk)
    file = disk.open("a")
    file.write_at(0, [b"new"])
    disk.kill()
    assert disk.open("a").pread(0, 4) == b"new "
    with pytest.raises(AssertionError, match="a process that is gone"):
        file.sync()


def test_a_failed_sync_leaves_the_cache_too_good_and_the_next_one_writes_nothing() -> None:
    lost = 0
    for seed in SEEDS:
        disk = _disk(seed)
        _known_file(disk)
        disk.open("a").write_at(0, [b"new " * 4])
        disk.fail_sync_at = disk.calls
        with pytest.raises(DiskFailed):
            disk.open("a").sync()
        disk.kill()
        file = disk.open("a")
        assert file.pread(0, 100) == b"new " * 4
        file.sync()
        file.drop_cache()
        on_disk = file.pread(0, 100)
        lost += on_disk != b"new " * 4
        disk.power_cut()
        assert disk.open("a").pread(0, 100) == on_disk
    assert lost > len(SEEDS) / 2


def test_the_power_goes_in_the_call_that_was_chosen() -> None:
    done = set()
    for seed in SEEDS:
        disk = _disk(seed)
        _known_file(disk)
        disk.cut_at = disk.calls + 1
        with pytest.raises(PowerCutError):
            disk.open("a").write_at(0, [b"new " * 4])
        done.add(disk.open("a").pread(0, 100).count(b"new "))
    assert done == {0, 1, 2, 3, 4}


def test_a_full_disk_takes_a_part_of_the_write_at_most() -> None:
    disk = _disk(1)
    _known_file(disk)
    disk.full_at = disk.calls
    with pytest.raises(DiskFull):
        disk.open("a").write_at(16, [b"more" * 4])
    disk.kill()
    disk.open("a").write_at(16, [b"more" * 4])

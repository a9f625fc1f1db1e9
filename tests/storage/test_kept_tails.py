"""The records of a refused log wait in a file of their own."""

from random import Random
from uuid import UUID

import pytest

from onelog.storage.disk import StoreRefused
from onelog.storage.frames import Entry, LogKey
from onelog.storage.kept_tails import keep_tail, kept_keys, kept_tail, path_of
from tests.support.simulated_disk import SimulatedDisk

KEY = LogKey(UUID(int=0xABC), 3)


def _entries(count: int) -> list[Entry]:
    return [Entry(KEY, n, n + 1, [b"x" * (1000 * n)], 1000 * n) for n in range(count)]


def _kept(disk: SimulatedDisk) -> list[tuple[int, int, int]]:
    return [(e.base, e.next, len(b"".join(e.buffers))) for e in kept_tail(disk, "data", KEY)]


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    disk.make_dir("data")
    disk.sync_dir(".")
    return disk


def test_what_is_kept_is_found_again_after_a_power_cut(disk: SimulatedDisk) -> None:
    assert _kept(disk) == []
    keep_tail(disk, "data", KEY, _entries(8), directory=UUID(int=1))
    disk.power_cut()
    assert _kept(disk) == [(n, n + 1, 1000 * n) for n in range(8)]
    assert kept_keys(disk, "data") == [KEY]


def test_keeping_more_takes_the_place_of_what_was_kept(disk: SimulatedDisk) -> None:
    keep_tail(disk, "data", KEY, _entries(8), directory=UUID(int=1))
    keep_tail(disk, "data", KEY, _entries(2), directory=UUID(int=1))
    assert len(_kept(disk)) == 2


@pytest.mark.parametrize("position", [3, 4100, 9000])
def test_a_damaged_file_is_refused_with_its_place(disk: SimulatedDisk, position: int) -> None:
    keep_tail(disk, "data", KEY, _entries(5), directory=UUID(int=1))
    file = disk.open(path_of("data", KEY))
    file.write_at(position, [b"\xff" * 60])
    with pytest.raises(StoreRefused, match=r"onelog\.tail\..*at byte \d+: no whole frame"):
        kept_tail(disk, "data", KEY)

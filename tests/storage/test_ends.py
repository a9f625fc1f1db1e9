"""The root: replaced whole, never believed when damaged."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.errors import DiskFull
from onelog.storage import ends as roots
from onelog.storage.disk import StoreRefused
from onelog.storage.ends import Ends, Said
from onelog.storage.frames import LogKey
from tests.support.simulated_disk import PowerCutError, SimulatedDisk

ENDS = Ends(
    directory=UUID(int=3),
    epoch=(1 << 64) - 1,
    first=4096,
    before=77,
    transaction=12,
    logs={LogKey(UUID(int=1), 0): Said(0, 100, 5), LogKey(UUID(int=2), 7): roots.UNSAID},
    is_clean=True,
)
OTHER = Ends(directory=UUID(int=3), epoch=2, first=8192, before=1, transaction=13)


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    disk.make_dir("data")
    return disk


def test_what_is_written_is_read_again(disk: SimulatedDisk) -> None:
    assert roots.load(disk, "data") is None
    roots.write(disk, "data", roots.encoded(ENDS))
    assert roots.load(disk, "data") == ENDS


@given(st.integers(0, len(roots.encoded(ENDS)) - 1), st.integers(1, 255))
def test_a_damaged_root_is_refused(position: int, change: int) -> None:
    data = bytearray(roots.encoded(ENDS))
    data[position] ^= change
    with pytest.raises(StoreRefused, match=r"onelog\.ends: \d+ bytes whose checksum is not right"):
        roots.decoded(bytes(data), path="onelog.ends")


@pytest.mark.parametrize("size", [0, 3, 40])
def test_a_root_cut_short_is_refused(size: int) -> None:
    with pytest.raises(StoreRefused):
        roots.decoded(roots.encoded(ENDS)[:size], path="onelog.ends")


def test_a_newer_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(roots, "FORMAT", 2)
        data = roots.encoded(ENDS)
    with pytest.raises(StoreRefused, match="format 2; expected 1"):
        roots.decoded(data, path="onelog.ends")


def test_cut_anywhere_one_of_the_two_stands() -> None:
    found = set()
    for seed in range(60):
        disk = SimulatedDisk(Random(seed), page_bytes=64, sector_bytes=16, ordered_names=seed % 2 == 0)
        disk.make_dir("data")
        disk.sync_dir(".")
        roots.write(disk, "data", roots.encoded(ENDS))
        disk.cut_at = disk.calls + 1 + seed % 6
        try:
            roots.write(disk, "data", roots.encoded(OTHER))
        except PowerCutError:
            disk.power_cut()
        ends = roots.load(disk, "data")
        assert ends in (ENDS, OTHER)
        found.add(ends is not None and ends.epoch)
    assert len(found) == 2


def test_without_room_the_old_one_stands(disk: SimulatedDisk) -> None:
    roots.write(disk, "data", roots.encoded(ENDS))
    disk.full_at = disk.calls
    with pytest.raises(DiskFull):
        roots.write(disk, "data", roots.encoded(OTHER))
    assert roots.load(disk, "data") == ENDS

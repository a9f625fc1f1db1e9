"""Small files are whole, or as they were."""

from random import Random

from onelog.storage.whole import read_whole, replace_whole, write_files
from tests.support.simulated_disk import PowerCutError, SimulatedDisk


def test_files_are_written_whole_over_longer_ones() -> None:
    disk = SimulatedDisk(Random(0))
    write_files(disk, {"a": b"a longer content", "b": b""})
    write_files(disk, {"a": b"short"})
    assert (read_whole(disk, "a"), read_whole(disk, "b")) == (b"short", b"")


def test_a_replaced_file_is_never_torn() -> None:
    for seed in range(100):
        disk = SimulatedDisk(Random(seed), page_bytes=8, sector_bytes=4, ordered_names=seed % 2 == 0)
        replace_whole(disk, "./a", b"old " * 8)
        disk.cut_at = disk.calls + 1 + seed % 5
        try:
            replace_whole(disk, "./a", b"new " * 9)
        except PowerCutError:
            disk.power_cut()
        assert read_whole(disk, "a") in (b"old " * 8, b"new " * 9)


def test_a_replaced_file_survives() -> None:
    for seed in range(20):
        disk = SimulatedDisk(Random(seed), page_bytes=8, sector_bytes=4, ordered_names=False)
        replace_whole(disk, "./a", b"new")
        disk.power_cut()
        assert read_whole(disk, "a") == b"new"

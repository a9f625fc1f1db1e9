"""What lies behind the said end of a log goes, and stays gone."""

from random import Random
from uuid import UUID

import pytest

from onelog.storage.ends import Said
from onelog.storage.home import Home
from onelog.storage.leftovers import remove_leftovers, remove_newer
from tests.support.simulated_disk import SimulatedDisk


@pytest.fixture
def home() -> Home:
    """A log with an active segment of 20 bytes, and a newer one."""
    disk = SimulatedDisk(Random(0), page_bytes=8, sector_bytes=4, ordered_names=False)
    home = Home(disk, "data", topic="orders", partition=0, topic_id=UUID(int=1))
    home.make()
    for name in (f"{0:020d}.log", f"{5:020d}.log", f"{5:020d}.index", f"{9:020d}.log", f"{9:020d}.snapshot"):
        file = disk.open(f"{home.path}/{name}", create=True)
        file.write_at(0, [b"x" * 20])
        file.sync()
    disk.sync_dir(home.path)
    disk.sync_dir("data")
    disk.sync_dir(".")
    return home


def _names(home: Home) -> list[str]:
    return [name.lstrip("0") for name in home.disk.names(home.path) if name != "partition.metadata"]


def test_newer_segments_go_with_all_their_files(home: Home) -> None:
    remove_newer(home, than=5)
    assert _names(home) == [".log", "5.index", "5.log"]


def test_the_active_segment_is_cut_and_its_index_goes(home: Home) -> None:
    remove_leftovers(home, Said(base=5, length=12, next=7))
    assert _names(home) == [".log", "5.log"]
    assert home.disk.open(f"{home.path}/{5:020d}.log").size() == 12


def test_a_cut_survives_a_power_cut_also_when_the_start_before_did_not_live_to_sync_it(home: Home) -> None:
    disk = home.disk
    assert isinstance(disk, SimulatedDisk)
    path = f"{home.path}/{5:020d}.log"
    disk.open(path).truncate(12)
    disk.unlink(f"{home.path}/{9:020d}.log")
    disk.kill()
    remove_leftovers(home, Said(base=5, length=12, next=7))
    disk.power_cut()
    assert disk.open(path).size() == 12
    assert _names(home) == [".log", "5.log"]


def test_a_log_of_which_no_root_speaks_has_no_segment(home: Home) -> None:
    remove_leftovers(home, None)
    assert _names(home) == []


def test_a_directory_that_is_not_there_has_nothing_to_remove() -> None:
    disk = SimulatedDisk(Random(0))
    disk.make_dir("data")
    home = Home(disk, "data", topic="orders", partition=0, topic_id=UUID(int=1))
    remove_newer(home, than=0)
    remove_leftovers(home, None)
    assert disk.names("data") == []

"""The directory of one log: whose it is."""

from random import Random
from uuid import UUID

from onelog.storage.home import Home, topic_id_of
from tests.support.simulated_disk import SimulatedDisk

TOPIC_ID = UUID(int=77)


def _home(disk: SimulatedDisk) -> Home:
    disk.make_dir("data")
    disk.sync_dir(".")
    return Home(disk, "data", topic="orders", partition=3, topic_id=TOPIC_ID)


def test_a_home_says_whose_it_is_and_survives_a_power_cut() -> None:
    disk = SimulatedDisk(Random(0))
    home = _home(disk)
    home.make()
    disk.power_cut()
    assert (home.path, home.name) == ("data/orders-3", "orders/3")
    assert topic_id_of(disk, home.path) == TOPIC_ID


def test_a_half_made_one_is_made_whole() -> None:
    disk = SimulatedDisk(Random(0))
    home = _home(disk)
    disk.make_dir(home.path)
    disk.open(f"{home.path}/partition.metadata", create=True).write_at(0, [b"\0" * 100])
    assert topic_id_of(disk, home.path) is None
    home.make()
    assert topic_id_of(disk, home.path) == TOPIC_ID


def test_a_directory_without_metadata_is_nobodys() -> None:
    disk = SimulatedDisk(Random(0))
    disk.make_dir("data/orders-3")
    assert topic_id_of(disk, "data/orders-3") is None

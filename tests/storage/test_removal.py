"""Taking files away."""

from random import Random
from uuid import UUID

from onelog.storage.home import Home
from onelog.storage.layout import LogDir, Role
from onelog.storage.removal import LogRemoval, SegmentRemoval, move_away, remove_tree
from tests.support.simulated_disk import SimulatedDisk

TOPIC_ID = UUID(int=77)


def _disk() -> tuple[SimulatedDisk, Home]:
    disk = SimulatedDisk(Random(0))
    disk.make_dir("data")
    home = Home(disk, "data", topic="orders", partition=3, topic_id=TOPIC_ID)
    home.make()
    for name in (f"{0:020d}.log", f"{0:020d}.index", f"{5:020d}.log", f"{5:020d}.snapshot", "strange"):
        disk.open(f"{home.path}/{name}", create=True)
    return disk, home


def test_a_segment_goes_with_all_its_files() -> None:
    disk, home = _disk()
    assert SegmentRemoval(disk, home.path, [0, 9]).run() == 2
    assert disk.names(home.path) == [f"{5:020d}.log", f"{5:020d}.snapshot", "partition.metadata", "strange"]


def test_a_log_goes_with_everything_in_its_directory() -> None:
    disk, home = _disk()
    assert LogRemoval(home).run() == 2
    assert disk.names("data") == []
    assert LogRemoval(home).run() == 0


def test_a_directory_that_belongs_to_another_topic_by_now_stays() -> None:
    disk, home = _disk()
    other = Home(disk, "data", topic="orders", partition=3, topic_id=UUID(int=78))
    assert LogRemoval(other).run() == 0
    assert disk.exists(home.path)


def test_a_name_that_is_taken_is_not_given_twice() -> None:
    disk, home = _disk()
    meaning = LogDir("orders", 3, Role.STRAY)
    first = move_away(disk, "data", home.path, meaning, TOPIC_ID)
    home.make()
    second = move_away(disk, "data", home.path, meaning, TOPIC_ID)
    assert first != second
    assert disk.names("data") == sorted(p.removeprefix("data/") for p in (first, second))


def test_a_tree_goes_as_a_whole() -> None:
    disk, home = _disk()
    disk.make_dir(f"{home.path}/inner")
    disk.open(f"{home.path}/inner/x.log", create=True)
    assert remove_tree(disk, home.path) == 3
    assert not disk.exists(home.path)

"""New segments in place of old ones: what a start makes of every state by the names alone."""

from random import Random
from uuid import UUID

import pytest

from onelog.storage.disk import Disk
from onelog.storage.home import Home
from onelog.storage.layout import segment_file
from onelog.storage.swap import Swap, complete
from onelog.storage.whole import read_whole, write_files
from tests.support.keyed import keyed
from tests.support.simulated_disk import SimulatedDisk

DIRECTORY = "data/orders-0"


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(0))


@pytest.fixture
def home(disk: SimulatedDisk) -> Home:
    disk.make_dir(DIRECTORY)
    return Home(disk, "data", topic="orders", partition=0, topic_id=UUID(int=1))


def _segment(first: int, *, records: int) -> bytes:
    """One batch from an offset on."""
    batch = keyed(*(f"k{n}=v" for n in range(records)))
    return bytes(batch.renumbered(base_offset=first, leader_epoch=0).data)


def _put(disk: Disk, **files: bytes) -> None:
    write_files(disk, {f"{DIRECTORY}/{name}": data for name, data in files.items()})


def _names(disk: Disk) -> list[str]:
    return [name for name in disk.names(DIRECTORY) if name != "onelog.compacted"]


def test_what_is_only_written_is_thrown_away(disk: SimulatedDisk, home: Home) -> None:
    old = segment_file(0)
    _put(disk, **{old: b"old", f"{old}.cleaned": b"new", f"{segment_file(0, '.index')}.cleaned": b""})
    complete(home)
    assert (_names(disk), read_whole(disk, f"{DIRECTORY}/{old}")) == ([old], b"old")


def test_what_has_swaps_name_takes_the_place_of_all_that_it_covers(disk: SimulatedDisk, home: Home) -> None:
    new = _segment(0, records=20)
    _put(
        disk,
        **{
            segment_file(0): b"old",
            segment_file(10): b"old",
            segment_file(10, ".index"): b"old",
            segment_file(20): b"next",
            segment_file(20, ".snapshot"): b"next",
            f"{segment_file(0)}.swap": new,
            f"{segment_file(0, '.index')}.swap": b"index",
        },
    )
    complete(home)
    assert _names(disk) == [segment_file(0, ".index"), segment_file(0), *_names(disk)[2:]]
    assert sorted(_names(disk)) == sorted(
        [segment_file(0), segment_file(0, ".index"), segment_file(20), segment_file(20, ".snapshot")]
    )
    assert read_whole(disk, f"{DIRECTORY}/{segment_file(0)}") == new


def test_old_ones_that_are_out_already_go(disk: SimulatedDisk, home: Home) -> None:
    new = _segment(0, records=20)
    _put(disk, **{f"{segment_file(0)}.swap": new, f"{segment_file(0)}.deleted": b"old"})
    complete(home)
    assert _names(disk) == [segment_file(0)]
    assert read_whole(disk, f"{DIRECTORY}/{segment_file(0)}") == new


def test_an_index_whose_segment_has_its_name_already_goes(disk: SimulatedDisk, home: Home) -> None:
    _put(disk, **{segment_file(0): b"new", f"{segment_file(0, '.index')}.swap": b"index"})
    complete(home)
    assert _names(disk) == [segment_file(0)]


def test_the_snapshot_of_the_first_old_one_stays(disk: SimulatedDisk, home: Home) -> None:
    _put(
        disk,
        **{
            segment_file(0): b"old",
            segment_file(0, ".snapshot"): b"before",
            segment_file(10): b"old",
            segment_file(10, ".snapshot"): b"between",
        },
    )
    swap = Swap(home, 0, [0, 10])
    swap.make()
    write_files(disk, {swap.path: _segment(0, records=20)})
    swap.prepare({})
    begun = [swap.has_begun]
    swap.run()
    begun.append(swap.has_begun)
    assert begun == [False, True]
    swap.clear()
    assert sorted(_names(disk)) == sorted([segment_file(0), segment_file(0, ".snapshot")])
    assert home.was_compacted


def test_what_was_written_and_given_up_goes(disk: SimulatedDisk, home: Home) -> None:
    _put(disk, **{segment_file(0): b"old"})
    swap = Swap(home, 0, [0])
    swap.make()
    swap.prepare({".index": b""})
    swap.undo()
    assert _names(disk) == [segment_file(0)]


def test_a_directory_where_nothing_was_cut_off_is_left_alone(disk: SimulatedDisk, home: Home) -> None:
    _put(disk, **{segment_file(0): b"old", "notes.txt": b"mine"})
    before = disk.calls
    complete(home)
    assert disk.calls == before

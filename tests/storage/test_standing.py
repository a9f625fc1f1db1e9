"""What stands in a log's segments is walked once, and damage in it is said."""

from random import Random
from uuid import UUID

import pytest

from onelog.storage.handles import Handles
from onelog.storage.home import Home
from onelog.storage.segment import LogRefused
from onelog.storage.standing import Walker, bases_of, check_identity
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import ROOT, SMALL, TOPIC, TOPIC_ID, fill, open_log, open_store


@pytest.fixture
def home() -> Home:
    disk = SimulatedDisk(Random(0))
    fill(open_log(open_store(disk)), 12)
    return Home(disk, ROOT, topic=TOPIC, partition=0, topic_id=TOPIC_ID)


def test_sealed_segments_end_where_the_next_one_begins(home: Home) -> None:
    own = Handles(home.disk)
    bases = bases_of(home, 0)
    walker = Walker(home, own, SMALL)
    walker.sealed(bases)
    with own.use(f"{home.path}/{bases[-1]:020d}.log") as file:
        walker.active(file, bases[-1], said=file.size(), is_checked=True)
    handles = Handles(home.disk)
    segments = walker.handed_over(handles).segments
    assert [(s.base_offset, s.offset_end) for s in segments] == [(0, 5), (5, 10), (10, 12)]
    assert [s.sealed for s in segments] == [True, True, False]
    assert all(s.handles is handles for s in segments)


def test_the_active_segment_is_walked_up_to_what_is_said_of_it(home: Home) -> None:
    own = Handles(home.disk)
    walker = Walker(home, own, SMALL)
    with own.use(f"{home.path}/{0:020d}.log") as file:
        segment = walker.active(file, 0, said=2 * file.size() // 5, is_checked=False)
    assert segment.offset_end == 2


def test_damage_in_a_sealed_segment_is_refused_when_it_is_walked(home: Home) -> None:
    home.disk.open(f"{home.path}/{5:020d}.log").write_at(8, [b"\xff"])
    with pytest.raises(LogRefused, match="no whole batch"):
        Walker(home, Handles(home.disk), SMALL).sealed(bases_of(home, 0))


def test_segments_below_the_start_are_no_part_of_it(home: Home) -> None:
    assert bases_of(home, 10) == [10]
    assert not home.disk.exists(f"{home.path}/{0:020d}.log")


def test_a_directory_that_does_not_say_whose_it_is_is_refused(home: Home) -> None:
    check_identity(home)
    home.disk.unlink(f"{home.path}/partition.metadata")
    with pytest.raises(LogRefused, match="expected the id of"):
        check_identity(home)
    empty = Home(home.disk, ROOT, topic="other", partition=0, topic_id=UUID(int=1))
    home.disk.make_dir(empty.path)
    check_identity(empty)

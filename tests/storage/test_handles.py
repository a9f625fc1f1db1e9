"""Open files, a bounded number of them."""

from random import Random

import pytest

from onelog.storage.handles import Handles
from tests.support.simulated_disk import SimulatedDisk


class CountingDisk(SimulatedDisk):
    """Knows which of its files are open."""

    def __init__(self) -> None:
        super().__init__(Random(0))
        self.closed: list[str] = []
        for name in "abcd":
            self.open(name, create=True).write_at(0, [name.encode()])

    def note_closed(self, path: str) -> None:
        self.closed.append(path)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> CountingDisk:
    disk = CountingDisk()
    monkeypatch.setattr(
        "tests.support.simulated_disk.SimulatedFile.close", lambda self: disk.note_closed(self.path)
    )
    return disk


def test_the_one_used_longest_ago_is_closed_first(disk: CountingDisk) -> None:
    handles = Handles(disk, open_max=2)
    for name in ("a", "b", "a", "c"):
        with handles.use(name) as file:
            assert file.pread(0, 1) == name.encode()
    assert disk.closed == ["b"]
    assert len(handles) == 2


def test_a_pinned_one_is_not_closed(disk: CountingDisk) -> None:
    handles = Handles(disk, open_max=1)
    pinned = handles.pin("a")
    with handles.use("b"):
        pass
    assert disk.closed == []
    handles.unpin(pinned)
    with handles.use("c"):
        pass
    assert disk.closed == ["a"]


def test_a_forgotten_one_serves_its_user_to_the_end(disk: CountingDisk) -> None:
    handles = Handles(disk)
    pinned = handles.pin("a")
    handles.forget("a")
    disk.unlink("a")
    assert pinned.file.pread(0, 1) == b"a"
    assert disk.closed == []
    handles.unpin(pinned)
    assert disk.closed == ["a"]


def test_all_of_a_directory_are_forgotten_at_once(disk: CountingDisk) -> None:
    disk.make_dir("t-1")
    disk.make_dir("t-11")
    handles = Handles(disk)
    for path in ("t-1/x", "t-1/y", "t-11/x"):
        disk.open(path, create=True)
        with handles.use(path):
            pass
    handles.forget("t-1")
    assert disk.closed == ["t-1/x", "t-1/y"]
    handles.close()
    assert disk.closed == ["t-1/x", "t-1/y", "t-11/x"]

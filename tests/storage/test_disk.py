"""The real file system, in storage's words."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from onelog.errors import DiskFailed, DiskFull
from onelog.storage.disk import RealDisk, StoreRefused

DISK = RealDisk()


def test_what_is_written_at_a_position_is_read_there(tmp_path: Path) -> None:
    file = DISK.open(f"{tmp_path}/a", create=True)
    file.write_at(5, [b"one", bytearray(b"two"), memoryview(b"three")])
    file.sync()
    assert file.size() == 16
    assert file.pread(0, 100) == b"\0\0\0\0\0onetwothree"
    file.truncate(8)
    file.drop_cache()
    assert file.pread(5, 100) == b"one"
    file.close()


def test_more_buffers_than_one_call_takes_are_all_written(tmp_path: Path) -> None:
    file = DISK.open(f"{tmp_path}/a", create=True)
    file.write_at(0, [bytes([n % 251]) * 3 for n in range(3000)])
    assert file.pread(0, 10_000) == b"".join(bytes([n % 251]) * 3 for n in range(3000))
    file.close()


def test_a_short_write_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwritev

    def short(fd: int, buffers: list[memoryview], position: int) -> int:
        return real(fd, [buffers[0][:2]], position)

    monkeypatch.setattr(os, "pwritev", short)
    file = DISK.open(f"{tmp_path}/a", create=True)
    file.write_at(0, [b"abc", b"defgh"])
    assert file.pread(0, 100) == b"abcdefgh"
    file.close()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def full(fd: int, buffers: list[memoryview], position: int) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "pwritev", full)
    file = DISK.open(f"{tmp_path}/a", create=True)
    with pytest.raises(DiskFull, match="no space left while writing"):
        file.write_at(0, [b"x"])
    file.close()


def test_a_write_that_takes_nothing_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, position: 0)
    file = DISK.open(f"{tmp_path}/a", create=True)
    with pytest.raises(DiskFull):
        file.write_at(0, [b"x"])
    file.close()


def test_any_other_failure_names_the_path_and_what_was_being_done(tmp_path: Path) -> None:
    with pytest.raises(DiskFailed, match="No such file or directory while opening") as caught:
        DISK.open(f"{tmp_path}/missing")
    assert caught.value.path == f"{tmp_path}/missing"


def test_directories_are_made_listed_renamed_and_removed(tmp_path: Path) -> None:
    path = f"{tmp_path}/a/b"
    DISK.make_dir(path)
    DISK.make_dir(path)
    DISK.open(f"{path}/z", create=True).close()
    DISK.open(f"{path}/y", create=True).close()
    DISK.sync_dir(path)
    assert DISK.names(path) == ["y", "z"]
    DISK.rename(f"{path}/y", f"{path}/x")
    DISK.unlink(f"{path}/x")
    DISK.unlink(f"{path}/x")
    DISK.unlink(f"{path}/z")
    DISK.remove_dir(path)
    assert not DISK.exists(path)
    assert DISK.is_dir(f"{tmp_path}/a")
    assert DISK.free_bytes(f"{tmp_path}") > 0


def test_a_lock_is_not_given_twice_in_one_process(tmp_path: Path) -> None:
    lock = DISK.lock(f"{tmp_path}/.lock")
    with pytest.raises(StoreRefused, match="this process has the directory open"):
        DISK.lock(f"{tmp_path}/.lock")
    lock.release()
    DISK.lock(f"{tmp_path}/.lock").release()


def test_a_lock_is_not_given_to_two_processes(tmp_path: Path) -> None:
    lock = DISK.lock(f"{tmp_path}/.lock")
    asks = (
        "import sys\n"
        "from onelog.storage.disk import RealDisk, StoreRefused\n"
        "try:\n    RealDisk().lock(sys.argv[1])\n"
        "except StoreRefused as refusal:\n    sys.exit(str(refusal))\n"
    )
    asked = subprocess.run(
        [sys.executable, "-c", asks, f"{tmp_path}/.lock"], capture_output=True, text=True, check=False
    )
    assert "another process has the directory open" in asked.stderr
    lock.release()

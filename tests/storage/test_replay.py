"""Which frames a start follows, where it says that the log ended, and when it refuses."""

from dataclasses import replace
from random import Random
from uuid import UUID

import pytest

from onelog.storage.commit_log import CommitLog, CommitLogSettings, Written
from onelog.storage.disk import StoreRefused
from onelog.storage.ends import Ends
from onelog.storage.frames import Entry, LogKey, encoded_frame
from onelog.storage.replay import Replay, commit_files, has_frames, seen_end
from tests.support.simulated_disk import SimulatedDisk

BLOCK = 256
SETTINGS = CommitLogSettings(file_bytes=8 * BLOCK, bytes_max=24 * BLOCK, block_bytes=BLOCK)
KEY = LogKey(UUID(int=5), 0)
DIRECTORY = UUID(int=1)


class Bench:
    """A commit log that is written to, and looked at as a start would."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk(Random(0))
        self.disk.make_dir("data")
        making = CommitLog.first_file(
            self.disk, "data", directory=DIRECTORY, epoch=3, start=0, slot=0, settings=SETTINGS
        )
        making.run()
        assert making.made is not None
        self.log = CommitLog(
            self.disk, "data", directory=DIRECTORY, epoch=3, settings=SETTINGS, first=making.made
        )
        self.ends = Ends(directory=DIRECTORY, epoch=3, first=self.log.end, before=0, transaction=0)
        self.written: list[Written] = []

    def write(self, blocks: int = 1, *, synced: bool = True, data: bytes | None = None) -> Written:
        data = b"x" * (blocks * BLOCK - 100) if data is None else data
        if not self.log.has_room([_entry(0, data)]):
            self.prepare()
        self.written.append(self.log.write([_entry(len(self.written), data)]))
        if synced:
            self.sync()
        return self.written[-1]

    def sync(self) -> None:
        job = self.log.begin_sync()
        assert job is not None
        job.run()
        self.log.end_sync(job)

    def prepare(self) -> None:
        job = self.log.begin_prepare()
        assert job is not None
        job.run()
        self.log.end_prepare(job)

    def settle_up_to(self, written: Written) -> None:
        """A root says that this frame and those before it do not matter any more."""
        self.ends = replace(self.ends, first=written.end, before=written.crc)
        self.log.recycle(written.end)

    def found(self) -> list[int]:
        frames = Replay(self.disk, "data", self.ends, block_bytes=BLOCK).frames()
        return [entry.base for frame in frames for entry in frame.entries]

    def damage(self, written: Written, position: int = 10) -> None:
        slot, at = divmod(written.lsn, SETTINGS.file_bytes)
        file = self.disk.open(f"data/onelog.commit.{slot}")
        byte = file.pread(at + position, 1)[0]
        file.write_at(at + position, [bytes([byte ^ 1])])


def _entry(number: int, data: bytes) -> Entry:
    return Entry(KEY, number, number + 1, [data], len(data))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_frames_are_followed_from_the_first_that_matters_across_files(bench: Bench) -> None:
    for _ in range(5):
        bench.write(3)
    assert bench.found() == [0, 1, 2, 3, 4]
    bench.settle_up_to(bench.written[1])
    assert bench.found() == [2, 3, 4]
    bench.settle_up_to(bench.written[4])
    assert bench.found() == []


def test_the_first_frame_may_be_in_a_later_file_than_the_place_that_the_root_says(bench: Bench) -> None:
    bench.write(5)
    bench.settle_up_to(bench.written[0])
    bench.write(5)
    assert bench.written[1].lsn > bench.written[0].end
    assert bench.found() == [1]


def test_the_end_of_the_newest_file_is_a_place_too(bench: Bench) -> None:
    bench.write(7)
    bench.settle_up_to(bench.written[0])
    assert bench.ends.first == SETTINGS.file_bytes
    assert bench.found() == []
    bench.write(1)
    assert bench.found() == [1]


def test_a_frame_that_fills_its_file_is_the_last_where_the_next_file_was_not_made(bench: Bench) -> None:
    bench.write(7)
    assert bench.found() == [0]


@pytest.mark.parametrize("position", [10, 200])
def test_a_torn_frame_at_the_end_ends_the_log_quietly(bench: Bench, position: int) -> None:
    bench.write()
    torn = bench.write(2, synced=False)
    bench.damage(torn, position)
    assert bench.found() == [0]


def test_an_earlier_frame_that_was_not_durable_and_is_missing_ends_the_log_quietly(bench: Bench) -> None:
    bench.write()
    missing = bench.write(synced=False)
    bench.write(synced=False)
    bench.write(synced=False)
    bench.damage(missing)
    assert bench.found() == [0]


def test_a_damaged_frame_before_one_that_knows_it_to_be_durable_is_refused(bench: Bench) -> None:
    bench.write()
    damaged = bench.write()
    bench.write(synced=False)
    bench.damage(damaged)
    with pytest.raises(StoreRefused, match=f"durable up to {damaged.end}; .* end at {damaged.lsn}"):
        bench.found()


def test_the_frame_that_knows_may_be_in_another_file_whose_header_is_damaged_too(bench: Bench) -> None:
    first = bench.write(6)
    second = bench.write(6)
    assert second.lsn > SETTINGS.file_bytes
    bench.damage(first)
    bench.disk.open("data/onelog.commit.1").write_at(20, [b"\xff"])
    with pytest.raises(StoreRefused, match=r"onelog\.commit\.1 at byte"):
        bench.found()


def test_a_first_frame_that_is_damaged_is_refused_when_later_ones_know_it(bench: Bench) -> None:
    damaged = bench.write()
    bench.write()
    bench.damage(damaged)
    with pytest.raises(StoreRefused):
        bench.found()


def test_a_commit_log_file_that_somebody_removed_is_missed(bench: Bench) -> None:
    bench.write()
    bench.disk.unlink("data/onelog.commit.0")
    with pytest.raises(StoreRefused, match="no commit log file of epoch 0000000000000003 holds position 256"):
        bench.found()
    bench.ends = replace(bench.ends, is_clean=True)
    assert bench.found() == []


def test_a_torn_file_header_makes_no_file(bench: Bench) -> None:
    bench.disk.open("data/onelog.commit.0").write_at(20, [b"\xff"])
    assert commit_files(bench.disk, "data", block_bytes=BLOCK) == []
    with pytest.raises(StoreRefused):
        bench.found()


def test_a_stale_frame_of_a_file_that_is_used_again_is_none(bench: Bench) -> None:
    for _ in range(3):
        bench.write(7)
    bench.settle_up_to(bench.written[2])
    bench.prepare()
    assert bench.log.has_next
    assert bench.found() == [], "the same length, at the same place of its file"
    bench.write(1)
    assert bench.found() == [3], "what follows it is left over"


def test_a_stale_frame_with_matching_length_and_place_does_not_name_the_one_before(bench: Bench) -> None:
    first = bench.write()
    file = bench.disk.open("data/onelog.commit.0")
    buffers, _ = encoded_frame(
        [_entry(9, b"old")], epoch=3, lsn=first.end, durable=0, before=first.crc ^ 1, block_bytes=BLOCK
    )
    file.write_at(first.end, buffers)
    assert bench.found() == [0]


def test_a_fake_frame_inside_a_record_is_not_followed(bench: Bench) -> None:
    first = bench.log.end
    buffers, _ = encoded_frame(
        [_entry(66, b"fake")], epoch=4, lsn=first + BLOCK, durable=1 << 40, before=0, block_bytes=BLOCK
    )
    # It stands exactly at a block's border inside a frame that is torn.
    fake = b"".join(bytes(b) for b in buffers)
    torn = bench.write(data=b"x" * (BLOCK - 90) + fake + b"y" * 300, synced=False)
    bench.damage(torn)
    assert bench.found() == []


def test_any_frame_of_any_epoch_is_noticed_and_everything_that_was_seen_lies_below(bench: Bench) -> None:
    assert not has_frames(bench.disk, "data", block_bytes=BLOCK)
    bench.write(5)
    bench.write(5)
    assert has_frames(bench.disk, "data", block_bytes=BLOCK)
    files = commit_files(bench.disk, "data", block_bytes=BLOCK)
    assert [found.header.start for found in files] == [0, SETTINGS.file_bytes]
    assert seen_end(files, None) == 2 * SETTINGS.file_bytes
    assert seen_end(files, replace(bench.ends, first=1 << 30)) == 1 << 30
    assert seen_end([], None) == 0

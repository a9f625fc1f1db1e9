"""One segment file: read from an offset or a time, and never believe an index."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.storage import layout
from onelog.storage.handles import Handles
from onelog.storage.log import LogSettings
from onelog.storage.segment import LogRefused, Segment
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import (
    ROOT,
    SMALL,
    batch_of,
    fill,
    job_of,
    open_log,
    open_store,
    values_of,
    write,
)

COUNT = 60


@pytest.fixture
def disk() -> SimulatedDisk:
    """A log of one sealed segment, 60 batches of one record, 0 to 59, and an active one."""
    disk = SimulatedDisk(Random(0))
    store = open_store(disk)
    log = open_log(store, settings=SMALL.__class__(segment_bytes=1 << 20, index_interval_bytes=200))
    fill(log, COUNT)
    log.ask_to_roll(0)
    job = job_of(log)
    assert job is not None
    job.run()
    log.end_settle(job)
    log.close()
    return disk


def _sealed(disk: SimulatedDisk) -> Segment:
    directory = f"{ROOT}/orders-0"
    size = disk.open(f"{directory}/{layout.segment_file(0)}").size()
    return Segment.standing(Handles(disk), directory, 0, offset_end=COUNT, size=size, index=None)


def _damage(disk: SimulatedDisk, suffix: str, position: int, data: bytes) -> None:
    disk.open(f"{ROOT}/orders-0/{layout.segment_file(0, suffix)}").write_at(position, [data])


def _read(segment: Segment, offset: int, *, bytes_max: int = 1 << 20, offset_max: int = COUNT) -> list[str]:
    return values_of(segment.read(offset, bytes_max=bytes_max, offset_max=offset_max, at_least_one=True))


@pytest.mark.parametrize("offset", [0, 1, 17, COUNT - 1])
def test_reading_begins_at_the_batch_that_holds_the_offset(disk: SimulatedDisk, offset: int) -> None:
    assert _read(_sealed(disk), offset) == [str(n) for n in range(offset, COUNT)]


def test_the_first_batch_comes_whole_even_when_it_is_larger_than_asked(disk: SimulatedDisk) -> None:
    segment = _sealed(disk)
    assert _read(segment, 5, bytes_max=1) == ["5"]
    # From where a reader stopped, the way is remembered; a look of one byte has to grow.
    assert _read(segment, 6, bytes_max=1) == ["6"]
    assert segment.read(5, bytes_max=1, offset_max=COUNT, at_least_one=False) == []


@pytest.mark.parametrize("bytes_max", [0, -1, -10_000])
def test_no_room_is_room_for_the_first_batch_or_for_none(disk: SimulatedDisk, bytes_max: int) -> None:
    segment = _sealed(disk)
    for offset in (5, 6):
        assert _read(segment, offset, bytes_max=bytes_max) == [str(offset)]
        assert segment.read(offset, bytes_max=bytes_max, offset_max=COUNT, at_least_one=False) == []


def test_no_batch_reaches_beyond_the_offset_asked_for(disk: SimulatedDisk) -> None:
    assert _read(_sealed(disk), 3, offset_max=5) == ["3", "4"]
    assert _read(_sealed(disk), 5, offset_max=5) == []


def test_looking_for_a_time_begins_no_later_than_its_batch(disk: SimulatedDisk) -> None:
    found = values_of(list(_sealed(disk).from_time(1040)))
    assert found[-20:] == [str(n) for n in range(40, COUNT)]
    assert len(found) < 30


def test_the_newest_time_is_known_without_keeping_the_index(disk: SimulatedDisk) -> None:
    segment = _sealed(disk)
    assert segment.max_timestamp_ms == 1000 + COUNT - 1
    assert segment._index is None


@pytest.mark.parametrize("suffix", [layout.INDEX_SUFFIX, layout.TIME_INDEX_SUFFIX])
def test_without_an_index_file_the_index_is_made_again(disk: SimulatedDisk, suffix: str) -> None:
    disk.unlink(f"{ROOT}/orders-0/{layout.segment_file(0, suffix)}")
    segment = _sealed(disk)
    assert _read(segment, 33, bytes_max=1) == ["33"]
    assert segment.max_timestamp_ms == 1000 + COUNT - 1


def test_an_index_whose_positions_lead_nowhere_is_made_again(disk: SimulatedDisk) -> None:
    # The fifth entry points into the middle of a batch.
    entry = disk.open(f"{ROOT}/orders-0/{layout.segment_file(0, '.index')}").pread(32, 8)
    _damage(disk, ".index", 32, entry[:7] + bytes([entry[7] + 3]))
    segment = _sealed(disk)
    for offset in range(COUNT):
        assert _read(segment, offset, bytes_max=1) == [str(offset)]


# Times that stand still, fall and rise again, so that there are several entries of each kind.
UNEVEN = [1000 + number // 7 * 5 - (3 if number % 5 == 2 else 0) for number in range(COUNT)]


def _uneven_disk() -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk), settings=LogSettings(segment_bytes=1 << 20, index_interval_bytes=200))
    for number, timestamp_ms in enumerate(UNEVEN):
        log.append([batch_of(str(number), timestamp_ms=timestamp_ms)], leader_epoch=0, now_ms=0)
    write(log)
    log.ask_to_roll(0)
    write(log)
    return disk


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_flipped_bit_in_an_index_changes_no_answer(data: st.DataObject) -> None:
    disk = _uneven_disk()
    suffix = data.draw(st.sampled_from([layout.INDEX_SUFFIX, layout.TIME_INDEX_SUFFIX]))
    file = disk.open(f"{ROOT}/orders-0/{layout.segment_file(0, suffix)}")
    at = data.draw(st.integers(0, file.size() - 1))
    flipped = file.pread(at, 1)[0] ^ 1 << data.draw(st.integers(0, 7))
    file.write_at(at, [bytes([flipped])])
    segment = _sealed(disk)
    assert segment.max_timestamp_ms == max(UNEVEN)
    for offset in range(COUNT):
        assert _read(segment, offset, bytes_max=1) == [str(offset)]
    for timestamp_ms in range(min(UNEVEN) - 1, max(UNEVEN) + 2):
        segment = _sealed(disk)
        first = next((o for o, ms in enumerate(UNEVEN) if ms >= timestamp_ms), None)
        found = [b for b in segment.from_time(timestamp_ms) if b.max_timestamp_ms >= timestamp_ms]
        assert (found[0].base_offset if found else None) == first


def test_a_time_entry_that_leads_to_another_batch_of_its_time_hides_nothing() -> None:
    # Times 5, 6, 5, then 9: the entry of 5 says "first at 0"; at 2 it would hide the 6.
    disk = SimulatedDisk(Random(0))
    log = open_log(open_store(disk), settings=LogSettings(segment_bytes=1 << 20, index_interval_bytes=200))
    for timestamp_ms in (5, 5, 5, 5, 6, 5, 9, 9):
        log.append([batch_of("x", timestamp_ms=timestamp_ms)], leader_epoch=0, now_ms=0)
    write(log)
    log.ask_to_roll(0)
    write(log)
    file = disk.open(f"{ROOT}/orders-0/{layout.segment_file(0, '.timeindex')}")
    assert file.pread(0, 100) == bytes.fromhex("0000000000000005 00000000 0000000000000009 00000006")
    file.write_at(8, [bytes.fromhex("00000005")])
    size = disk.open(f"{ROOT}/orders-0/{layout.segment_file(0)}").size()
    segment = Segment.standing(Handles(disk), f"{ROOT}/orders-0", 0, offset_end=8, size=size, index=None)
    assert 4 in [batch.base_offset for batch in segment.from_time(6)]


def test_an_index_of_an_earlier_day_is_made_again(disk: SimulatedDisk) -> None:
    index = disk.open(f"{ROOT}/orders-0/{layout.segment_file(0, '.timeindex')}")
    index.truncate(24)
    segment = _sealed(disk)
    assert segment.max_timestamp_ms == 1000 + COUNT - 1


def test_damage_names_the_file_and_the_byte(disk: SimulatedDisk) -> None:
    size = batch_of("0").size
    _damage(disk, ".log", 3 * size + 16, b"\x07")
    with pytest.raises(LogRefused, match=rf"0\.log at byte {3 * size}: no whole batch"):
        _read(_sealed(disk), 2)


def test_a_file_shorter_than_said_is_damage(disk: SimulatedDisk) -> None:
    segment = _sealed(disk)
    disk.open(segment.path).truncate(segment.size - 10)
    with pytest.raises(LogRefused):
        _read(segment, COUNT - 1)
    with pytest.raises(LogRefused):
        list(segment.batches())

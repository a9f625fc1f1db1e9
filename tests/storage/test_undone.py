"""Aborted transactions of a range: from memory, from files, and from the batches where those are wrong."""

from random import Random

import pytest

from onelog.storage import layout
from onelog.storage.log import LogSettings, PartitionLog
from tests.support.simulated_disk import SimulatedDisk
from tests.support.small_logs import (
    ROOT,
    aborting,
    adopted,
    batch_of,
    committing,
    in_transaction,
    open_log,
    open_store,
    write,
)

ONE_EACH = LogSettings(segment_bytes=1)
INDEX = f"{ROOT}/orders-0/{layout.segment_file(3, layout.TRANSACTION_INDEX_SUFFIX)}"


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(0))


def _ranges(log: PartitionLog) -> list[list[tuple[int, int]]]:
    end = log.marks.appended
    return [[(e.producer_id, e.first) for e in log.aborted(at, at + 1)] for at in range(end)]


EXPECTED = [[], [(7, 1)], [(7, 1)], [(7, 1)], [], [(8, 5)], [(8, 5)]]


def _filled(log: PartitionLog) -> None:
    batches = [
        batch_of("0"),
        in_transaction("1"),
        in_transaction("2", sequence=1),
        aborting(7),
        in_transaction("4", sequence=2),
        in_transaction("5", producer_id=8),
        aborting(8),
        committing(7),
    ]
    for batch in batches:
        log.append([batch], leader_epoch=0, now_ms=0)


def test_the_tails_own_come_from_memory(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk))
    _filled(log)
    assert _ranges(log)[:7] == EXPECTED
    assert _ranges(log)[7] == []


def test_those_of_sealed_segments_come_from_their_files(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk), settings=ONE_EACH)
    _filled(log)
    write(log)
    assert log.producers.transactions.undone == []
    assert _ranges(log)[:7] == EXPECTED
    again, _ = adopted(disk, settings=ONE_EACH)
    assert _ranges(again)[:7] == EXPECTED


@pytest.mark.parametrize("content", [b"", b"\x00" * 34, b"x" * 35, None])
def test_a_file_that_is_not_right_is_made_again_from_the_batches(
    disk: SimulatedDisk, content: bytes | None
) -> None:
    log = open_log(open_store(disk), settings=ONE_EACH)
    _filled(log)
    write(log)
    file = disk.open(INDEX)
    file.truncate(0)
    if content is None:
        disk.unlink(INDEX)
    else:
        file.write_at(0, [content])
    assert _ranges(log)[:7] == EXPECTED


def test_a_transaction_over_many_segments_is_found_from_each_of_them(disk: SimulatedDisk) -> None:
    log = open_log(open_store(disk), settings=ONE_EACH)
    for batch in [in_transaction("0"), batch_of("1"), batch_of("2"), aborting(7), batch_of("4")]:
        log.append([batch], leader_epoch=0, now_ms=0)
    write(log)
    assert _ranges(log) == [[(7, 0)]] * 4 + [[]]

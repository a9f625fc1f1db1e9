"""What Kafka's own files say, from bytes built here by their forms; a real directory: tests/interop/kafka."""

import struct
from collections.abc import Iterable
from random import Random
from uuid import UUID

import pytest

from onelog.records.batch import Batch
from onelog.records.control import Marker, Verdict, build_marker
from onelog.records.record import Record
from onelog.storage import foreign, layout
from onelog.storage.foreign import ForeignLog, ForeignPosition, ForeignSetting
from onelog.storage.whole import write_files
from tests.support.simulated_disk import SimulatedDisk

ROOT = "data"
ID = UUID(int=5)


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    disk.make_dir(ROOT)
    return disk


def _log(disk: SimulatedDisk, name: str, *batches: Batch, topic_id: UUID | None = ID, base: int = 0) -> None:
    directory = f"{ROOT}/{name}"
    disk.make_dir(directory)
    offset, data = base, b""
    for batch in batches:
        placed = batch.renumbered(base_offset=offset, leader_epoch=0)
        data += bytes(placed.data)
        offset = placed.offset_end
    files = {f"{directory}/{layout.segment_file(base)}": data}
    if topic_id is not None:
        files[f"{directory}/{layout.METADATA}"] = layout.metadata_text(topic_id)
    write_files(disk, files)


def _of(values: Iterable[bytes]) -> Batch:
    return Batch.build([Record(None, value, 1000) for value in values])


def _compact(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def _config(topic: str, name: str, value: str | None, *, kind: int = 2) -> bytes:
    return (
        bytes([1, 4, 0])
        + struct.pack(">b", kind)
        + _compact(topic)
        + _compact(name)
        + (b"\0" if value is None else _compact(value))
        + b"\0"
    )


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _commit(group: str, topic: str, partition: int, offset: int | None, *, version: int = 3) -> Record:
    key = struct.pack(">h", 1) + _text(group) + _text(topic) + struct.pack(">i", partition)
    if offset is None:
        return Record(key, None, 1000)
    epoch = struct.pack(">i", 4) if version >= 3 else b""
    value = struct.pack(">hq", version, offset) + epoch + _text("a note") + struct.pack(">q", 1000)
    return Record(key, value, 1000)


def test_logs_are_those_that_say_whose_they_are_and_are_not_kafkas_own(disk: SimulatedDisk) -> None:
    _log(disk, "orders-1", base=40)
    _log(disk, "orders-0")
    _log(disk, "photos-2024", topic_id=None)
    _log(disk, "__transaction_state-3")
    text = b"0\n2\norders 0 7\norders 1 3\n"
    epochs = b"0\n2\n0 0\n4 12\n"
    write_files(disk, {f"{ROOT}/{layout.LOG_STARTS}": text, f"{ROOT}/orders-0/{foreign.EPOCHS}": epochs})
    assert foreign.logs(disk, ROOT) == [
        ForeignLog("orders", 0, ID, start=7, leader_epoch=4),
        ForeignLog("orders", 1, ID, start=40, leader_epoch=0),
    ]


def test_settings_are_told_in_their_order_and_other_records_are_passed_over(disk: SimulatedDisk) -> None:
    records = [
        _config("orders", "retention.ms", "5"),
        _config("1", "log.retention.ms", "7", kind=4),
        bytes([1, 2, 0, 0]),
        b"",
        _config("orders", "retention.ms", None),
    ]
    _log(disk, "__cluster_metadata-0", _of(records))
    assert foreign.settings(disk, ROOT) == [
        ForeignSetting("orders", "retention.ms", "5"),
        ForeignSetting("orders", "retention.ms", None),
    ]


def test_producer_ids_end_where_the_last_block_does(disk: SimulatedDisk) -> None:
    blocks = [bytes([1, 15, 0]) + struct.pack(">iqq", 1, 9, end) + b"\0" for end in (1000, 2000)]
    _log(disk, "__cluster_metadata-0", _of(blocks))
    assert foreign.producer_ids_end(disk, ROOT) == 2000


def test_positions_are_told_with_epoch_and_note_and_forgotten_ones_too(disk: SimulatedDisk) -> None:
    commits = [
        _commit("g", "orders", 0, 5),
        _commit("g", "orders", 1, 6, version=1),
        _commit("g", "orders", 0, None),
    ]
    group = Record(struct.pack(">h", 2) + _text("g"), b"\0\3", 1000)
    _log(disk, "__consumer_offsets-4", Batch.build([*commits, group, Record(b"\0", b"", 1000)]))
    assert foreign.positions(disk, ROOT) == [
        ForeignPosition("g", "orders", 0, 5, 4, "a note"),
        ForeignPosition("g", "orders", 1, 6, -1, "a note"),
        ForeignPosition("g", "orders", 0, None),
    ]


def test_positions_of_transactions_that_did_not_come_to_be_are_none(disk: SimulatedDisk) -> None:
    def committed(offset: int, producer_id: int) -> Batch:
        return Batch.build(
            [_commit("g", "orders", 0, offset)],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )

    def ended(verdict: Verdict, producer_id: int) -> Batch:
        return build_marker(Marker(verdict, 0), producer_id=producer_id, producer_epoch=0, timestamp_ms=1000)

    _log(
        disk,
        "__consumer_offsets-4",
        committed(1, 7),
        ended(Verdict.ABORTED, 7),
        committed(2, 8),
        ended(Verdict.COMMITTED, 8),
        committed(3, 9),
    )
    assert [position.offset for position in foreign.positions(disk, ROOT)] == [2]

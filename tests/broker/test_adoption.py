"""What becomes of Kafka's words. A real directory: tests/interop/kafka/test_adopted_directory.py."""

import logging
from pathlib import Path
from uuid import UUID

import pytest

from onelog.broker.adoption import decided
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage import layout
from onelog.storage.foreign import ForeignLog, ForeignPosition, ForeignSetting
from tests.support.brokers import batch, numbered, open_desk, values
from tests.support.virtual_clock import run

ID = UUID(int=5)


def _log(partition: int, *, topic: str = "orders", topic_id: UUID = ID) -> ForeignLog:
    return ForeignLog(topic, partition, topic_id, start=3, leader_epoch=4)


def test_a_topic_has_the_partitions_up_to_the_last_that_is_there() -> None:
    found = decided([_log(0), _log(2), _log(0, topic="clicks", topic_id=UUID(int=6))], [], [])
    assert [(t.name, t.id, t.partition_count) for t in found.topics] == [
        ("clicks", UUID(int=6), 1),
        ("orders", ID, 3),
    ]


def test_a_log_of_another_topic_of_that_name_is_left_out() -> None:
    found = decided([_log(0), _log(1, topic_id=UUID(int=6))], [], [])
    assert [topic.partition_count for topic in found.topics] == [1]
    assert ["orders-1: of topic" in line for line in found.left] == [True]


def test_the_last_word_on_a_setting_holds_and_what_has_no_effect_here_is_told() -> None:
    settings = [
        ForeignSetting("orders", "retention.ms", "5"),
        ForeignSetting("orders", "retention.ms", "6"),
        ForeignSetting("orders", "segment.ms", "7"),
        ForeignSetting("orders", "segment.ms", None),
        ForeignSetting("orders", "preallocate", "true"),
        ForeignSetting("orders", "no.such", "1"),
        ForeignSetting("clicks", "retention.ms", "9"),
    ]
    found = decided([_log(0)], settings, [])
    assert dict(found.topics[0].settings) == {"retention.ms": "6"}
    assert [("preallocate" in line, "no.such" in line) for line in found.left] == [
        (True, False),
        (False, True),
    ]


def test_the_last_position_of_each_group_holds_unless_it_was_forgotten() -> None:
    positions = [
        ForeignPosition("g", "orders", 0, 5),
        ForeignPosition("g", "orders", 0, 6, 4, "a note"),
        ForeignPosition("h", "orders", 0, 7),
        ForeignPosition("h", "orders", 0, None),
        ForeignPosition("g", "gone", 0, 8),
    ]
    found = decided([_log(0)], [], positions)
    rows = [values for text, values in found.statements if "INTO positions" in text]
    assert rows == [("g", str(ID), 0, "6", 4, "a note", 0, None)]


def _kafkas(path: Path, *batches: Batch) -> None:
    """A directory as Kafka closes it, with one log."""
    directory = path / "orders-0"
    directory.mkdir(parents=True)
    data, offset = b"", 0
    for each in batches:
        placed = each.renumbered(base_offset=offset, leader_epoch=2)
        data += bytes(placed.data)
        offset = placed.offset_end
    (directory / layout.segment_file(0)).write_bytes(data)
    (directory / layout.METADATA).write_bytes(layout.metadata_text(ID))
    (directory / "leader-epoch-checkpoint").write_bytes(b"0\n1\n2 0\n")
    (path / layout.LOG_STARTS).write_bytes(b"0\n1\norders 0 1\n")
    (path / layout.CLEAN_STOP).write_bytes(layout.CLEAN_STOP_TEXT)
    (path / "__transaction_state-0").mkdir()


def test_a_directory_of_kafkas_is_served_from_its_start_and_written_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        with caplog.at_level(logging.INFO):
            async with open_desk(tmp_path) as desk:
                assert values(desk.read(1)) == ["b", "c"]
                assert desk.broker.describe_partition("orders", 0).leader_epoch == 2
                assert (await desk.append(numbered(1, "c"))).first == 2
                assert (await desk.append(batch("d"))).first == 3
        assert "taken over" in caplog.text
        assert "__transaction_state: Kafka's own; left alone" in caplog.text
        async with open_desk(tmp_path) as desk:
            assert values(desk.read(1)) == ["b", "c", "d"]

    _kafkas(tmp_path, batch("a"), numbered(0, "b"), numbered(1, "c"))
    run(story())


def test_a_hole_in_a_log_that_was_not_compacted_keeps_it_closed(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            assert not desk.broker._parts.served.partition("orders", 0).is_open

    holed = Batch.build([Record(b"k", b"v", 1000)], offset_deltas=[0])
    _kafkas(tmp_path, batch("a"))
    log = tmp_path / "orders-0" / layout.segment_file(0)
    log.write_bytes(log.read_bytes() + bytes(holed.renumbered(base_offset=9, leader_epoch=2).data))
    run(story())

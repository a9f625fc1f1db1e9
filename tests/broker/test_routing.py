"""Where a record goes whose dialect leaves that to the broker."""

from pathlib import Path

import pytest

from onelog.errors import UnknownTopic
from tests.support.brokers import open_desk
from tests.support.virtual_clock import run


def test_equal_keys_go_to_one_partition(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic("three", 3)
            await desk.topic("six", 6)
            for key, partition in ((b"user-123", 2), (b"user-456", 2), (b"order-1", 1)):
                assert desk.broker.place("three", key) == partition
            assert desk.broker.place("six", b"user-123") == 5

    run(story())


def test_without_a_key_each_partition_has_its_turn_in_every_topic(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic("a", 3)
            await desk.topic("b", 2)
            assert [desk.broker.place("a", None) for _ in range(4)] == [0, 1, 2, 0]
            assert [desk.broker.place("b", None) for _ in range(3)] == [0, 1, 0]
            assert desk.broker.place("a", b"user-123") == 2
            assert desk.broker.place("a", None) == 1

    run(story())


def test_more_partitions_take_their_turns_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic("a", 1)
            assert [desk.broker.place("a", key) for key in (None, b"k", None)] == [0, 0, 0]
            await desk.broker.grow_partitions("a", 3)
            assert [desk.broker.place("a", None) for _ in range(3)] == [0, 1, 2]

    run(story())


def test_an_unknown_topic_has_no_place(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            with pytest.raises(UnknownTopic):
                desk.broker.place("nothing", b"k")

    run(story())

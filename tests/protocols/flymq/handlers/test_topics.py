"""Topics over a real broker, without a socket."""

from pathlib import Path

import pytest

from onelog.broker.broker import BrokerSettings, NewTopic
from onelog.protocols.contract import Later
from tests.support.flymq_peer import Peer, peer_of_a_broker
from tests.support.flymq_wire import create, frame, i32, produce, text, u64
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker

DONE = b"\1\0\0"


async def listed(peer: Peer) -> bytes:
    return await peer.ask(0x08)


def names(*names: str) -> bytes:
    return i32(len(names)) + b"".join(text(name) for name in names)


async def test_a_topic_is_made_and_made_again_as_it_is(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.granted(create("made", 3)) == DONE
        assert await peer.granted(create("made", 5)) == DONE
        assert peer.broker.topic("made").partition_count == 3


async def test_no_partitions_means_the_brokers_default(tmp_path: Path) -> None:
    async with open_broker(tmp_path, settings=BrokerSettings(partition_count_default=4)) as broker:
        peer = Peer(broker, HandClock())
        assert await peer.granted(create("made", 0)) == DONE
        assert broker.topic("made").partition_count == 4


@pytest.mark.parametrize("count", [-1, -(1 << 31), 10_001, (1 << 31) - 1])
async def test_a_number_of_partitions_that_cannot_be_is_refused(tmp_path: Path, count: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert (await peer.refused(create("made", count))).startswith("invalid partition count")
        assert await listed(peer) == names("logs")


@pytest.mark.parametrize("name", ["", "/" * 63, "__consumer_offsets"])
async def test_a_name_that_the_product_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert (await peer.refused(create(name, 1))).startswith("invalid topic name")


async def test_what_comes_behind_a_creation_finds_the_topic(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [(tag, outcome)] = peer.outcomes(create("made", 1))
        assert isinstance(outcome, Later)
        assert outcome.hold
        await peer.said(tag, outcome)


async def test_topics_are_listed_in_order_and_hidden_ones_are_not(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for name in ("zoo", "__hidden", "a/b", "_shown"):
            await peer.granted(create(name, 1))
        assert await listed(peer) == names("_shown", "a/b", "logs", "zoo")


async def test_topics_survive_a_restart(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(create("eu/\u00e9", 2))
    async with peer_of_a_broker(tmp_path, topics=0) as peer:
        assert await listed(peer) == names("eu/\u00e9", "logs")


async def test_a_deleted_topic_is_gone_and_one_that_is_not_there_counts_as_deleted(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(produce("eu/1", b"v"))
        for _ in range(2):
            assert await peer.granted(frame(0x09, text("eu/1"))) == DONE
        assert await listed(peer) == names("logs")
        await peer.granted(produce("eu/1", b"again"))
        assert (await peer.fetch("eu/1")).records == [(0, b"", b"again")]


async def test_a_deletion_waits_for_the_appends_before_it(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        pipelined = list(peer.outcomes(produce("logs", b"v"), frame(0x09, text("logs"))))
        deleting = pipelined[1][1]
        assert isinstance(deleting, Later)
        assert deleting.hold
        first, second = [await peer.said(tag, outcome) for tag, outcome in pipelined]
        assert (first.opcode, second.payload) == (0x01, DONE)
        assert await listed(peer) == names()


async def test_a_name_of_another_dialect_that_looks_like_a_spelling_is_found(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.create_topics([NewTopic("odd.-zz", 1)])
        assert await listed(peer) == names("logs", "odd.-zz")
        await peer.granted(produce("odd.-zz", b"v"))
        assert (await peer.fetch("odd.-zz")).records == [(0, b"", b"v")]
        assert await peer.granted(frame(0x09, text("odd.-zz"))) == DONE
        assert await listed(peer) == names("logs")
        assert await peer.refused(frame(0x04, text("odd.-zz"))) == "topic not found: odd.-zz"


async def test_metadata_tells_where_every_partition_begins_and_ends(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for _ in range(3):
            await peer.granted(produce("logs", b"v", partition=1))
        await peer.broker.delete_records("logs", 1, 2)
        expected = (
            text("logs") + i32(2) + i32(0) + i32(1) + u64(0) + u64(0) + i32(1) + i32(1) + u64(2) + u64(3)
        )
        assert await peer.ask(0x04, text("logs")) == expected
        assert await peer.refused(frame(0x04, text("none"))) == "topic not found: none"

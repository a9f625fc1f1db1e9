"""PRODUCE over a real broker, without a socket."""

import gzip
import struct
from pathlib import Path

import pytest

from onelog.broker.broker import AlterTopic, BrokerSettings, NewTopic
from onelog.metrics import REFUSALS
from onelog.model import TopicName
from onelog.protocols.contract import Later
from onelog.protocols.flymq.recordset import RECORD_BYTES_MAX
from tests.support.flymq_peer import Peer, peer_of_a_broker
from tests.support.flymq_wire import Fetched, data, frame, i32, produce, text
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker


async def put(peer: Peer, request: bytes) -> tuple[int, int, int, int, int]:
    """partition, offset, timestamp, key size and value size of an answer."""
    answer = await peer.granted(request)
    (size,) = struct.unpack_from(">H", answer)
    assert len(answer) == 30 + size
    found: tuple[int, int, int, int, int] = struct.unpack_from(">iQqii", answer, 2 + size)
    return found


async def test_the_answer_tells_where_the_record_is_and_what_of_it_arrived(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        now_ms = peer.clock.wall_ms()
        request = produce("logs", b"hello", key=b"key", partition=1)
        assert await put(peer, request) == (1, 0, now_ms, 3, 5)
        assert await put(peer, produce("logs", b"", partition=1)) == (1, 1, now_ms, -1, 0)
        answer = await peer.granted(request)
        assert answer.startswith(text("logs"))


async def test_the_topics_own_clock_is_the_one_that_is_told(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.alter_topics([AlterTopic("logs", {"message.timestamp.type": "LogAppendTime"})])
        assert (await put(peer, produce("logs", b"v")))[2] == peer.clock.wall_ms()


async def test_an_acknowledged_record_is_durable(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [(tag, outcome)] = peer.outcomes(produce("logs", b"v", partition=0))
        assert isinstance(outcome, Later)
        assert peer.broker.describe_partition("logs", 0).high_watermark == 0
        await peer.said(tag, outcome)
        assert peer.broker.describe_partition("logs", 0).high_watermark == 1


async def test_records_survive_a_restart(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(produce("caf\u00e9/eu", b"v", key=b"k"))
    async with peer_of_a_broker(tmp_path, topics=0) as peer:
        assert await peer.fetch("caf\u00e9/eu") == Fetched([(0, b"k", b"v")], 1)


async def test_a_new_topic_is_made_with_the_brokers_number_of_partitions(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert (await put(peer, produce("new", b"v")))[:2] == (0, 0)
        assert peer.broker.topic("new").partition_count == 1


async def test_what_is_sent_behind_the_first_record_of_a_new_topic_waits_for_it(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [(tag, outcome)] = peer.outcomes(produce("new", b"v"))
        assert isinstance(outcome, Later)
        assert outcome.hold
        await peer.said(tag, outcome)


async def test_a_new_topic_is_not_made_where_that_is_not_allowed(tmp_path: Path) -> None:
    settings = BrokerSettings(auto_create_topics=False)
    async with open_broker(tmp_path, settings=settings) as broker:
        peer = Peer(broker, HandClock())
        assert await peer.refused(produce("new", b"v")) == "topic not found: new"


@pytest.mark.parametrize("name", ["", "/" * 63, "__consumer_offsets"])
async def test_a_name_that_the_product_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert (await peer.refused(produce(name, b"v"))).startswith("invalid topic name")


@pytest.mark.parametrize("name", ["caf\u00e9", "a/b/c", "..", "\U0001f41d bees", "-", "a.-2Fb"])
async def test_any_other_text_is_a_topics_name(tmp_path: Path, name: str) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(produce(name, b"\xff\0"))
        assert (await peer.fetch(name)).records == [(0, b"", b"\xff\0")]


async def test_equal_keys_go_to_one_partition_by_fnv_1a(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.create_topics([NewTopic("three", 3), NewTopic("six", 6)])
        assert (await put(peer, produce("three", b"v", key=b"user-123")))[0] == 2
        assert (await put(peer, produce("three", b"v", key=b"user-123")))[:2] == (2, 1)
        assert (await put(peer, produce("three", b"v", key=b"order-1")))[0] == 1
        assert (await put(peer, produce("six", b"v", key=b"user-123")))[0] == 5


async def test_records_without_keys_take_turns_over_all_connections(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        other = peer.beside()
        turns = [(await put(by, produce("logs", b"v")))[0] for by in (peer, other, peer, other)]
        assert turns == [0, 1, 0, 1]


async def test_a_given_partition_is_honoured_key_or_not(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for partition in (1, 0, 1):
            request = produce("logs", b"v", key=b"same", partition=partition)
            assert (await put(peer, request))[0] == partition


@pytest.mark.parametrize("partition", [2, 99, -2, -(1 << 31)])
async def test_a_partition_that_is_not_there_is_refused(tmp_path: Path, partition: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        text = await peer.refused(produce("logs", b"v", partition=partition))
        assert text == f"partition {partition} not found"
        assert peer.broker.metrics.value(REFUSALS, "flymq", "unknown_partition") == 1


async def test_the_largest_record_is_stored_and_given_back(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        value = bytes(RECORD_BYTES_MAX - 1)
        await peer.granted(produce("logs", value, key=b"k", partition=0))
        assert (await peer.fetch("logs")).records == [(0, b"k", value)]


async def test_a_record_that_no_fetch_could_give_back_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        request = frame(0x01, text("x") + data(b"") + data(bytes(RECORD_BYTES_MAX + 1)) + i32(0))
        assert (await peer.refused(request)).startswith("message too large")


async def test_a_topics_own_bound_holds(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.alter_topics([AlterTopic("logs", {"max.message.bytes": "1000"})])
        assert (await peer.refused(produce("logs", bytes(1000)))).startswith("message too large")


async def test_gzipped_requests_are_stored_inflated_one_after_the_other(tmp_path: Path) -> None:
    plain = text("logs") + data(b"") + data(b"zipped") + i32(0)
    async with peer_of_a_broker(tmp_path) as peer:
        request = frame(0x01, gzip.compress(plain), flags=3)
        [(tag, outcome)] = peer.outcomes(request)
        assert isinstance(outcome, Later)
        assert outcome.hold
        await peer.said(tag, outcome)
        assert (await peer.fetch("logs")).records == [(0, b"", b"zipped")]


async def test_a_gzip_bomb_is_refused_and_the_connection_goes_on(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        bomb = frame(0x01, gzip.compress(bytes(64 << 20)), flags=3)
        assert (await peer.refused(bomb)).startswith("invalid compressed payload")
        await peer.granted(produce("logs", b"v"))


async def test_kafka_sees_the_topic_under_its_spelling(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(produce("orders/eu", b"v"))
        assert TopicName("orders.-2Feu") in [topic.name for topic in peer.broker.topics()]

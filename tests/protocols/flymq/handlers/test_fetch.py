"""FETCH and CONSUME over a real broker, without a socket."""

from pathlib import Path

import pytest

from onelog.metrics import LOSSES, RECORDS_FETCHED, REFUSALS
from onelog.protocols.contract import Later, Reply
from onelog.protocols.flymq.handlers.fetch import ANSWER_BYTES_MAX, IDLE_PAUSE_MS, LOOKS_MAX
from onelog.protocols.flymq.recordset import RECORD_BYTES_MAX
from onelog.records.control import Marker, Verdict, build_marker
from onelog.records.record import Header, Record
from tests.support.brokers import batch, open_desk
from tests.support.flymq_peer import Peer, peer_of_a_broker
from tests.support.flymq_wire import Fetched, consume, data, fetch, fetched, frame, produce, text, u64
from tests.support.virtual_clock import run

MARKER = build_marker(Marker(Verdict.COMMITTED, 0), producer_id=7, producer_epoch=0, timestamp_ms=1)


async def fill(peer: Peer, *values: bytes) -> None:
    await peer.append(*[Record(None, value, 1) for value in values])


async def test_a_fetch_gives_offset_key_and_value_from_the_offset_on(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(b"k", b"a", 1), Record(None, b"b", 1), Record(None, b"c", 1))
        assert await peer.fetch("logs", 0) == Fetched([(0, b"k", b"a"), (1, b"", b"b"), (2, b"", b"c")], 3)
        assert await peer.fetch("logs", 1, count=1) == Fetched([(1, b"", b"b")], 2)


async def test_both_layouts_tell_the_same(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"a", b"b")
        payload = await peer.beside().granted(fetch("logs", 0, filter=None))
        assert fetched(payload, by_document=True) == await peer.fetch("logs", 0)


@pytest.mark.parametrize("offset", [3, 50, 2**63, 2**64 - 1])
async def test_an_offset_at_or_past_the_end_is_an_empty_answer_with_that_offset(
    tmp_path: Path, offset: int
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"a", b"b", b"c")
        assert await peer.fetch("logs", offset) == Fetched([], offset)


@pytest.mark.parametrize("count", [0, -1, -(1 << 31)])
async def test_no_count_means_ten(tmp_path: Path, count: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, *[b"v"] * 15)
        assert len((await peer.fetch("logs", 0, count=count)).records) == 10


async def test_one_fetch_looks_at_a_thousand_records(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, *[b"v"] * (LOOKS_MAX + 5))
        first = await peer.fetch("logs", 0, count=1 << 30)
        assert (len(first.records), first.next_offset) == (1000, 1000)
        assert len((await peer.fetch("logs", 1000, count=1 << 30)).records) == 5


async def test_a_filter_keeps_what_it_wants_and_next_is_behind_all_that_was_looked_at(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"one ZIP", b"two", b"three zip", b"four")
        assert await peer.fetch("logs", 0, filter="zip") == Fetched(
            [(0, b"", b"one ZIP"), (2, b"", b"three zip")], 4
        )
        assert await peer.fetch("logs", 0, filter="zip", count=1) == Fetched([(0, b"", b"one ZIP")], 1)
        assert await peer.fetch("logs", 0, filter="nowhere") == Fetched([], 4)
        assert await peer.fetch("logs", 0, filter="^two$") == Fetched([(1, b"", b"two")], 4)


async def test_an_answer_is_bounded_in_bytes_and_the_next_one_goes_on(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        value = bytes(ANSWER_BYTES_MAX // 3)
        for _ in range(5):
            await peer.granted(produce("logs", value, partition=0))
        offset, counts = 0, []
        while offset < 5:
            answer = await peer.fetch("logs", offset)
            counts.append(len(answer.records))
            offset = answer.next_offset
        assert counts == [2, 2, 1]


async def test_an_unknown_topic_or_partition_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.refused(fetch("no/ne", 0)) == "topic not found: no/ne"
        for partition in (2, -1, -(1 << 31)):
            assert (
                await peer.refused(fetch("logs", 0, partition=partition))
                == f"partition {partition} not found"
            )


async def test_an_offset_below_the_log_is_out_of_range(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"a", b"b")
        await peer.broker.delete_records("logs", 0, 1)
        assert (await peer.refused(fetch("logs", 0))).startswith("offset out of range: logs/0")
        assert (await peer.refused(consume("logs", 0))).startswith("offset out of range")


async def test_a_request_sees_what_the_one_before_it_on_its_connection_did(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        pipelined = list(peer.outcomes(produce("logs", b"v", partition=0), fetch("logs", 0)))
        assert isinstance(pipelined[1][1], Later)
        _, answer = [await peer.said(tag, outcome) for tag, outcome in pipelined]
        assert fetched(answer.payload).records == [(0, b"", b"v")]


async def test_a_pipelined_fetch_of_nothing_is_refused_in_its_turn(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        pipelined = list(peer.outcomes(produce("logs", b"v"), fetch("none", 0)))
        _, answer = [await peer.said(tag, outcome) for tag, outcome in pipelined]
        assert answer.opcode == 0xFF


def test_a_fetch_at_the_end_takes_a_moment_and_holds_what_follows(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic("logs")
            peer = Peer(desk.broker, desk.clock)
            for request in (fetch("logs", 0), fetch("logs", 0, filter="a")):
                [(tag, outcome)] = peer.outcomes(request)
                assert isinstance(outcome, Later)
                assert outcome.hold
                await desk.clock.advance(IDLE_PAUSE_MS)
                assert fetched((await peer.said(tag, outcome)).payload) == ([], 0)

    run(story())


def test_a_record_that_comes_in_that_moment_is_in_the_answer(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic("logs")
            peer = Peer(desk.broker, desk.clock)
            [(tag, outcome)] = peer.outcomes(fetch("logs", 0))
            assert isinstance(outcome, Later)
            await desk.append(batch("a"), topic="logs")
            assert fetched((await peer.said(tag, outcome)).payload) == ([(0, b"", b"a")], 1)
            assert desk.broker.metrics.value(RECORDS_FETCHED, "flymq") == 1

    run(story())


async def test_a_fetch_beyond_the_end_is_answered_at_once(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [(_, outcome)] = peer.outcomes(fetch("logs", 5))
        assert isinstance(outcome, Reply)


async def test_what_only_transactions_know_is_passed_over(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"a")
        await peer.append_batch(MARKER)
        await fill(peer, b"b")
        assert await peer.fetch("logs", 0) == Fetched([(0, b"", b"a"), (2, b"", b"b")], 3)
        assert await peer.fetch("logs", 1, count=1) == Fetched([(2, b"", b"b")], 3)


async def test_what_flymq_cannot_say_is_counted_as_a_loss(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(b"", None, 1, (Header("h", None),)))
        assert (await peer.fetch("logs", 0)).records == [(0, b"", b"")]
        for reason in ("empty_key", "null_value", "headers"):
            assert peer.broker.metrics.value(LOSSES, "flymq", reason) == 1


async def test_a_record_that_no_frame_holds_is_an_error_that_names_the_next_offset(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(None, bytes(RECORD_BYTES_MAX + 1), 1))
        await fill(peer, b"b")
        for request in (fetch("logs", 0), consume("logs", 0)):
            refusal = await peer.refused(request)
            assert refusal.startswith("message too large")
            assert "go on at 1" in refusal
        assert peer.broker.metrics.value(REFUSALS, "flymq", "record_too_large") == 2
        assert (await peer.fetch("logs", 1)).records == [(1, b"", b"b")]


async def test_fetch_binary_answers_in_the_programs_layout(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"a")
        answer = await peer.exchange(frame(0x0B, fetch("logs", 0, filter=None)[8:]))
        assert answer.opcode == 0x0B
        assert fetched(answer.payload) == Fetched([(0, b"", b"a")], 1)


# ---- CONSUME


@pytest.mark.parametrize("opcode", [0x02, 0x0A])
async def test_consume_gives_the_record_at_the_offset(tmp_path: Path, opcode: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(b"k", b"a", 1), Record(None, bytes(100_000), 1))
        for offset, key, value in ((0, b"k", b"a"), (1, b"", bytes(100_000))):
            answer = await peer.exchange(frame(opcode, text("logs") + bytes(4) + u64(offset)))
            assert (answer.opcode, answer.payload) == (opcode, data(key) + data(value))


@pytest.mark.parametrize("offset", [1, 99, 2**64 - 1])
async def test_past_the_end_there_is_eof(tmp_path: Path, offset: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"a")
        assert await peer.refused(consume("logs", offset)) == "EOF"


async def test_consuming_the_unknown_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.refused(consume("none", 0)) == "topic not found: none"
        assert await peer.refused(consume("logs", 0, partition=-1)) == "partition -1 out of range"


async def test_an_offset_that_has_no_record_names_the_next_one_that_has(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, b"a")
        await peer.append_batch(MARKER)
        assert await peer.refused(consume("logs", 1)) == "EOF"
        await fill(peer, b"b")
        assert await peer.refused(consume("logs", 1)) == "no message at offset 1; go on at 2"
        await peer.append_batch(MARKER)
        await peer.append(Record(None, bytes(RECORD_BYTES_MAX + 1), 1))
        assert await peer.refused(consume("logs", 3)) == "no message at offset 3; go on at 4"

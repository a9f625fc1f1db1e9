"""RustLog's requests in the binary form over a real broker: what the published programs expect."""

import struct
from pathlib import Path

import pytest

from onelog.broker.broker import AlterTopic, Append, Commit, NewTopic, ProduceRules, Read, ReadResult
from onelog.errors import DiskFailed, DiskFull, GroupNotEmpty, OnelogError
from onelog.metrics import LOSSES, REFUSALS
from onelog.protocols.contract import Later
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.handlers import binary_form
from onelog.records.batch import Batch
from onelog.records.record import Header, Record
from onelog.ticket import Ticket
from tests.support import rustlog_wire as wire
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker
from tests.support.rustlog_peer import LOGS, Peer, peer_of_a_broker

YES = {"commit": b"\x00\x00\x00\x02\x03\x01", "create": b"\x00\x00\x00\x02\x05\x01"}


async def produced(peer: Peer, *records: bytes, topic: str = "logs", partition: int = 0) -> tuple[int, int]:
    """Base offset and count."""
    answer = await peer.exchange_bytes(wire.binary_produce(topic, partition, *records))
    size, kind, base, count = struct.unpack(">IBQI", answer)
    assert (kind, size) == (0x01, 13)
    return base, count


async def fetched(
    peer: Peer, offset: int, max_bytes: int = 1 << 20, *, group: str = "", topic: str = "logs"
) -> tuple[list[bytes], int]:
    """Records and next offset."""
    frame = wire.binary_fetch(topic, 0, offset, max_bytes, group=group)
    return wire.binary_fetched(await peer.exchange_bytes(frame))


async def refused(peer: Peer, frame: bytes) -> tuple[int, str]:
    """Code and text."""
    return wire.binary_error(await peer.exchange_bytes(frame))


# ---- produce


async def test_records_get_consecutive_offsets_from_the_base_on(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await produced(peer, b"a", b"b") == (0, 2)
        assert await produced(peer, b"") == (2, 1)
        assert await fetched(peer, 0) == ([b"a", b"b", b""], 3)


async def test_a_produce_is_one_batch_and_durable_before_its_answer(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [outcome] = peer.outcomes(wire.binary_produce("logs", 0, b"a", b"b"))
        assert isinstance(outcome, Later)
        assert peer.broker.describe_partition(LOGS, 0).high_watermark == 0
        await peer.heard(outcome)
        [result] = peer.broker.fetch([Read(LOGS, 0, 0, 1000)], bytes_max=1000, dialect="test")
        assert isinstance(result, ReadResult)
        assert [batch.record_count for batch in result.batches] == [2]


async def test_a_produce_of_nothing_tells_0_as_the_published_broker_does(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, b"a")
        assert await produced(peer) == (0, 0)
        assert (await refused(peer, wire.binary_produce("nope", 0)))[0] == 10


async def test_topics_are_not_made_by_writing_or_reading(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        text = "Topic or partition does not exist: topic={}, partition={}"
        for topic, partition in [("nope", 0), ("logs", 2)]:
            expected = (10, text.format(topic, partition))
            assert await refused(peer, wire.binary_produce(topic, partition, b"x")) == expected
            assert await refused(peer, wire.binary_fetch(topic, partition, 0)) == expected
        assert [topic.name for topic in peer.broker.topics()] == ["logs"]


async def test_a_produce_has_a_bound_on_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_form, "BINARY_RECORDS_MAX", 1001)
    async with peer_of_a_broker(tmp_path) as peer:
        assert await produced(peer, *[b"x"] * 1001) == (0, 1001)
        code, text = await refused(peer, wire.binary_produce("logs", 0, *[b"x"] * 1002))
        assert (code, "at most 1001" in text) == (2, True)


async def test_the_count_that_aborts_the_published_broker_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        frame = wire.encode_frame(b"\x01" + wire.text("logs") + bytes(4) + b"\xff\xff\xff\xff")
        code, text = await refused(peer, frame)
        assert (code, text.startswith("Decode error: ")) == (2, True)
        assert await produced(peer, b"a") == (0, 1)


async def test_a_batch_over_the_topics_own_bound_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.alter_topics([AlterTopic("logs", {"max.message.bytes": "200"})])
        assert (await refused(peer, wire.binary_produce("logs", 0, b"x" * 300)))[0] == 2


async def test_a_record_as_large_as_a_frame_can_carry_is_taken_and_given_back(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        record = b"x" * (FRAME_BYTES_MAX - 100)
        assert await produced(peer, record) == (0, 1)
        assert await fetched(peer, 0, 1) == ([record], 1)


# ---- fetch


@pytest.mark.parametrize("offset", [4, 5, 1000, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
async def test_at_or_beyond_the_end_there_is_nothing_and_the_offset_comes_back(
    tmp_path: Path, offset: int
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, *[b"x"] * 4)
        assert await fetched(peer, offset) == ([], offset)


@pytest.mark.parametrize(
    ("max_bytes", "count"), [(0, 0), (1, 1), (12, 1), (28, 1), (40, 2), (1 << 20, 4), ((1 << 32) - 1, 4)]
)
async def test_max_bytes_counts_overhead_and_gives_at_least_one_but_for_0(
    tmp_path: Path, max_bytes: int, count: int
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, b"one", b"two", b"three", b"")
        assert await fetched(peer, 0, max_bytes) == ([b"one", b"two", b"three", b""][:count], count)


async def test_a_group_reads_from_its_position_whatever_the_offset_says(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, b"a", b"b", b"c")
        assert await fetched(peer, 1, group="g") == ([], 0)
        await peer.broker.commit_positions("g", [Commit(LOGS, 0, 2)])
        assert await fetched(peer, 0, group="g") == ([b"c"], 3)
        assert await fetched(peer, 0, group="other") == ([], 0)
        await peer.broker.commit_positions("g", [Commit(LOGS, 0, (1 << 64) - 1)])
        assert await fetched(peer, 0, group="g") == ([], (1 << 64) - 1)


async def test_a_group_without_a_position_finds_nothing_even_in_an_unknown_topic(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await fetched(peer, 0, group="g", topic="nope") == ([], 0)


async def test_the_published_consumer_begins_at_its_second_visit(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, b"a", b"b")
        assert await peer.exchange_bytes(wire.binary_position("g", "logs", 0)) == b"\x00\x00\x00\x02\x04\x00"
        assert await fetched(peer, 0, group="g") == ([], 0)
        assert await peer.exchange_bytes(wire.binary_commit("g", "logs", 0, 0)) == YES["commit"]
        assert await fetched(peer, 0, group="g") == ([b"a", b"b"], 2)


async def test_0_is_where_the_log_begins_and_other_offsets_below_it_are_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, *[b"%d" % n for n in range(6)])
        await peer.broker.delete_records(LOGS, 0, 4)
        assert await fetched(peer, 0) == ([b"4", b"5"], 6)
        code, text = await refused(peer, wire.binary_fetch("logs", 0, 3))
        assert (code, "the log holds 4 to 6" in text) == (4, True)
        await peer.broker.delete_records(LOGS, 0, 6)
        assert await fetched(peer, 0) == ([], 0)


async def test_an_answer_ends_at_a_gap_so_that_offsets_can_be_counted_back(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        records = [Record(None, b"%d" % n, 1) for n in range(4)]
        gappy = Batch.build(records, offset_deltas=[0, 1, 4, 5])
        rules = ProduceRules(dialect="tank", batch_bytes_max=1 << 20)
        [ticket] = peer.broker.produce([Append(LOGS, 0, [gappy])], rules=rules)
        await ticket
        assert await fetched(peer, 0) == ([b"0", b"1"], 2)
        assert await fetched(peer, 2) == ([b"2", b"3"], 6)


async def test_answers_are_cut_to_fit_a_frame(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for _ in range(3):
            await produced(peer, b"x" * 5_000_000)
        records, next_offset = await fetched(peer, 0, (1 << 32) - 1)
        assert (len(records), next_offset) == (2, 2)


async def test_a_record_that_no_frame_holds_is_told_with_the_next_offset(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(None, b"x" * FRAME_BYTES_MAX, 1), Record(None, b"after", 1))
        code, text = await refused(peer, wire.binary_fetch("logs", 0, 0))
        assert (code, "go on at 1" in text) == (4, True)
        assert await fetched(peer, 1) == ([b"after"], 2)


async def test_what_rustlog_cannot_say_is_counted_as_a_loss(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(b"key", None, 5, (Header("h", b"x"),)))
        assert await fetched(peer, 0) == ([b""], 1)
        for reason in ("key", "headers", "null_value"):
            assert peer.broker.metrics.value(LOSSES, "rustlog", reason) == 1


# ---- positions


@pytest.mark.parametrize("offset", [0, 7, (1 << 63) - 1, (1 << 64) - 1])
async def test_a_position_is_kept_as_given_and_may_go_back(tmp_path: Path, offset: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for each in (offset, 3, offset):
            assert await peer.exchange_bytes(wire.binary_commit("g", "logs", 0, each)) == YES["commit"]
        answer = await peer.exchange_bytes(wire.binary_position("g", "logs", 0))
        assert answer == wire.encode_frame(b"\x04\x01" + offset.to_bytes(8, "big"))
    async with open_broker(tmp_path) as broker:
        assert await Peer(broker, HandClock()).exchange_bytes(wire.binary_position("g", "logs", 0)) == answer


async def test_a_commit_that_is_not_taken_is_error_5(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for topic, partition in [("nope", 0), ("logs", 2)]:
            code, text = await refused(peer, wire.binary_commit("g", topic, partition, 1))
            assert (code, text.startswith("Offset commit failed: ")) == (5, True)
        error = GroupNotEmpty(group="g")
        monkeypatch.setattr(peer.broker, "commit_positions", lambda group, commits: Ticket.resolved([error]))
        assert (await refused(peer, wire.binary_commit("g", "logs", 0, 1)))[0] == 5


# ---- topics


async def test_a_topic_is_made_once(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [outcome] = peer.outcomes(wire.binary_create("new", 3))
        assert isinstance(outcome, Later)
        assert outcome.hold
        assert await peer.heard(outcome) == YES["create"]
        assert peer.broker.topic("new").partition_count == 3
        assert await refused(peer, wire.binary_create("new", 3)) == (11, "Topic 'new' already exists")


@pytest.mark.parametrize("count", [0, 1001, (1 << 32) - 1])
async def test_a_topic_has_1_to_1000_partitions(tmp_path: Path, count: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        expected = (12, f"Invalid partition count: {count}")
        assert await refused(peer, wire.binary_create("t", count)) == expected


@pytest.mark.parametrize("name", ["", "a.b", "a b", "x" * 250])
async def test_a_name_that_cannot_be_is_not_created(tmp_path: Path, name: str) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert (await refused(peer, wire.binary_create(name, 1)))[0] == 2


async def test_all_topics_are_listed(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.create_topics([NewTopic("a.b", 1)])
        body = wire.text("a.b") + struct.pack(">I", 1) + wire.text("logs") + struct.pack(">I", 2)
        expected = wire.encode_frame(b"\x06\x00\x00\x00\x02" + body)
        assert await peer.exchange_bytes(wire.BINARY_LIST) == expected


async def test_partitions_are_described_with_true_high_watermarks(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, b"x", b"y", partition=1)
        answer = await peer.exchange_bytes(wire.binary_describe_topic("logs"))
        body = struct.pack(">IIIQIQ", 2, 2, 0, 0, 1, 2)
        assert answer == wire.encode_frame(b"\x07" + wire.text("logs") + body)
        answer = await peer.exchange_bytes(wire.binary_describe_partition("logs", 1))
        assert answer == wire.encode_frame(b"\x08" + wire.text("logs") + struct.pack(">IQ", 1, 2))


async def test_describing_the_unknown_is_13_or_14(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await refused(peer, wire.binary_describe_topic("x")) == (
            13,
            "DescribeTopic failed: Topic 'x' not found",
        )
        for topic, partition in [("x", 0), ("logs", 7)]:
            expected = f"DescribePartition failed: Partition {partition} not found in topic '{topic}'"
            assert await refused(peer, wire.binary_describe_partition(topic, partition)) == (14, expected)


# ---- the rest


async def test_ping_is_answered_with_pong(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.exchange_bytes(wire.BINARY_PING) == wire.BINARY_PING


async def test_metrics_name_what_the_published_program_looks_for(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await produced(peer, b"a", b"b")
        await peer.broker.commit_positions("g", [Commit(LOGS, 0, 1)])
        answer = await peer.exchange_bytes(wire.BINARY_METRICS)
        (length,) = struct.unpack_from(">I", answer, 5)
        text = answer[9:].decode()
        assert (answer[4], len(answer)) == (0x09, 9 + length)
        looked_for = [
            "# TYPE messages_produced_total counter\nmessages_produced_total 2\n",
            "messages_fetched_total",
            "bytes_in_total",
            "bytes_out_total",
            "active_connections",
            'consumer_lag{group="g",topic="logs",partition="0"} 1\n',
            "\nonelog_topics 1\n",
        ]
        places = [text.find(each) for each in looked_for]
        assert places == sorted(places)
        assert places[0] == 0


async def test_what_is_no_request_is_2_and_counted_and_keeps_the_connection(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        expected = (2, "Decode error: unknown request type: 99")
        assert await refused(peer, wire.encode_frame(b"cabc")) == expected
        assert peer.broker.metrics.value(REFUSALS, "rustlog", "invalid_request") == 1
        assert await peer.exchange_bytes(wire.BINARY_PING) == wire.BINARY_PING


async def test_a_name_as_long_as_a_text_can_be_is_refused_in_words_that_fit(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        code, text = await refused(peer, wire.binary_fetch("x" * 65_535, 0, 0))
        assert (code, len(text)) == (10, 65_535)


async def test_a_request_sees_what_the_one_before_it_on_its_connection_did(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        outcomes = list(
            peer.outcomes(
                wire.binary_produce("logs", 0, b"a"),
                wire.binary_fetch("logs", 0, 0),
                wire.binary_commit("g", "logs", 0, 0),
                wire.binary_fetch("logs", 0, 9, group="g"),
                wire.binary_describe_partition("logs", 0),
                {"type": "DescribePartition", "topic": "logs", "partition": 0},
            )
        )
        answers = [await peer.heard(outcome) for outcome in outcomes[:5]]
        assert wire.binary_fetched(answers[1]) == wire.binary_fetched(answers[3]) == ([b"a"], 1)
        assert answers[4].endswith(struct.pack(">Q", 1))
        assert (await peer.said(outcomes[5]))["high_watermark"] == 1


@pytest.mark.parametrize(
    "error", [DiskFailed(path="d", doing="syncing", found="EIO"), DiskFull(path="d", doing="writing")]
)
async def test_a_disk_that_refuses_is_500(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OnelogError
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        with monkeypatch.context() as patched:
            patched.setattr(peer.broker, "produce", lambda appends, rules: [Ticket.refused(error)])
            assert (await refused(peer, wire.binary_produce("logs", 0, b"x")))[0] == 500

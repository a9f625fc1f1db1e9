"""RustLog's requests in JSON over a real broker, without a socket: one connection's bytes in, its answers out."""

import base64
from pathlib import Path
from typing import Any

import pytest

from onelog.broker.broker import AlterTopic, Commit, Leaving, NewTopic, Read, ReadResult
from onelog.errors import DiskFailed, DiskFull, GroupNotEmpty, OnelogError, UnknownMember
from onelog.metrics import LOSSES, REFUSALS
from onelog.protocols.contract import Later
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.records.record import Header, Record
from onelog.ticket import Ticket
from tests.support.group_desk import joining
from tests.support.hand_clock import HandClock
from tests.support.open_broker import open_broker
from tests.support.rustlog_peer import LOGS, Message, Peer, peer_of_a_broker, produce


def refused(answer: Message, code: int) -> Any:
    """The details of an Error with this code."""
    assert answer["type"] == "Error"
    assert (answer["code"], isinstance(answer["message"], str)) == (code, True)
    return answer["details"]


# ---- produce


async def test_records_get_consecutive_offsets_from_the_base_on(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        first = await peer.produce(b"a", b"b")
        assert first == {"type": "ProduceResponse", "base_offset": 0, "record_count": 2}
        assert (await peer.produce(b"c"))["base_offset"] == 2
        fetched = await peer.fetch(0)
        assert [r["offset"] for r in fetched["records"]] == [0, 1, 2]


async def test_a_produce_is_one_batch(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"a", b"b", b"c")
        [result] = peer.broker.fetch([Read(LOGS, 0, 0, 1000)], bytes_max=1000, dialect="test")
        assert isinstance(result, ReadResult)
        assert [batch.record_count for batch in result.batches] == [3]


async def test_an_acknowledged_produce_is_durable(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [outcome] = peer.outcomes(produce(b"a"))
        assert isinstance(outcome, Later)
        before = peer.broker.describe_partition(LOGS, 0).high_watermark
        await peer.said(outcome)
        assert (before, peer.broker.describe_partition(LOGS, 0).high_watermark) == (0, 1)


async def test_records_survive_a_restart(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"kept")
    async with open_broker(tmp_path) as broker:
        answer = await Peer(broker, HandClock()).fetch(0)
        assert base64.b64decode(answer["records"][0]["payload"]) == b"kept"


@pytest.mark.parametrize(("count", "code"), [(1000, None), (1001, 400)])
async def test_a_produce_has_at_most_1000_records(tmp_path: Path, count: int, code: int | None) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        answer = await peer.produce(*[b"x"] * count)
        assert answer.get("code") == code


async def test_a_produce_of_nothing_appends_nothing(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"a")
        assert await peer.produce() == {"type": "ProduceResponse", "base_offset": 1, "record_count": 0}
        refused(await peer.produce(topic="nope"), 404)


async def test_an_empty_record_is_a_record(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"")
        assert [r["payload"] for r in (await peer.fetch(0))["records"]] == [""]


async def test_producing_to_an_unknown_topic_names_those_that_there_are(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert refused(await peer.produce(b"a", topic="nope"), 404) == {"available_topics": ["logs"]}
        assert [t.name for t in peer.broker.topics()] == ["logs"]


async def test_producing_to_an_unknown_partition_tells_how_many_there_are(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert refused(await peer.produce(b"a", partition=2), 405) == {"partition_count": 2}


async def test_a_record_as_large_as_a_frame_can_carry_is_taken_and_given_back(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        record = b"x" * ((FRAME_BYTES_MAX - 200) * 3 // 4)
        assert (await peer.produce(record))["record_count"] == 1
        answer = await peer.fetch(0, max_bytes=1)
        assert base64.b64decode(answer["records"][0]["payload"]) == record


async def test_a_batch_over_the_topics_own_bound_is_413(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.alter_topics([AlterTopic("logs", {"max.message.bytes": "200"})])
        details = refused(await peer.produce(b"x" * 300), 413)
        assert details["size_max"] == 200


# ---- fetch


async def test_a_fetch_gives_offset_timestamp_and_payload_from_the_offset_on(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"a", b"b")
        assert await peer.fetch(1) == {
            "type": "FetchResponse",
            "records": [{"offset": 1, "timestamp": 1_700_000_000_000_000, "payload": "Yg=="}],
            "next_offset": 2,
        }


@pytest.mark.parametrize("offset", [2, 3, 5000, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
async def test_an_offset_beyond_the_high_watermark_is_an_empty_answer(tmp_path: Path, offset: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"a", b"b")
        empty = {"type": "FetchResponse", "records": [], "next_offset": offset}
        assert await peer.fetch(offset) == empty


async def test_an_offset_below_the_log_start_is_416_with_the_valid_range(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(*[b"x"] * 10)
        await peer.broker.delete_records(LOGS, 0, 4)
        details = {"valid_range": {"start": 4, "end": 10}, "high_watermark": 10}
        assert refused(await peer.fetch(3), 416) == details
        assert refused(await peer.fetch(3, max_bytes=0), 416) == details
        assert (await peer.fetch(4))["next_offset"] == 10
        await peer.broker.delete_records(LOGS, 0, 10)
        assert refused(await peer.fetch(9), 416)["valid_range"] == {"start": 10, "end": 10}


async def test_max_bytes_is_a_soft_bound(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(*[b"x" * 100] * 10)
        assert len((await peer.fetch(0, max_bytes=1))["records"]) == 1
        assert len((await peer.fetch(0, max_bytes=500))["records"]) == 4
        assert len((await peer.fetch(0, max_bytes=1 << 62))["records"]) == 10
        assert (await peer.fetch(0, max_bytes=0))["records"] == []


async def test_following_next_offset_reads_every_record_once(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for n in range(7):
            await peer.produce(*[b"%d" % n] * (n + 1))
        seen, offset = [], 0
        while records := (answer := await peer.fetch(offset, max_bytes=50))["records"]:
            seen += [r["offset"] for r in records]
            assert answer["next_offset"] == records[-1]["offset"] + 1
            offset = answer["next_offset"]
        assert seen == list(range(28))


async def test_the_group_of_a_fetch_changes_nothing(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"a", b"b")
        await peer.ask("OffsetCommit", group="g", topic="logs", partition=0, offset=1)
        assert len((await peer.fetch(0, group_id="g"))["records"]) == 2


async def test_a_fetch_of_the_unknown_is_404_or_405(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        refused(await peer.fetch(0, topic="nope"), 404)
        refused(await peer.fetch(0, partition=7), 405)
        refused(await peer.fetch(1 << 63, topic="nope"), 404)


async def test_answers_are_cut_to_fit_a_frame(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for _ in range(3):
            await peer.produce(b"x" * 4_000_000)
        answer = await peer.fetch(0, max_bytes=1 << 40)
        assert ([r["offset"] for r in answer["records"]], answer["next_offset"]) == ([0], 1)


async def test_a_record_that_no_frame_holds_is_413_and_names_the_next_offset(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(None, b"x" * 9_000_000, 1), Record(None, b"after", 1))
        details = refused(await peer.fetch(0, max_bytes=1 << 40), 413)
        assert (details["offset"], details["next_offset"]) == (0, 1)
        assert (await peer.fetch(1))["next_offset"] == 2


async def test_what_rustlog_cannot_say_is_counted_as_a_loss(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.append(Record(b"key", None, 5, (Header("h", b"x"),)))
        assert (await peer.fetch(0))["records"] == [{"offset": 0, "timestamp": 5000, "payload": ""}]
        for reason in ("key", "headers", "null_value"):
            assert peer.broker.metrics.value(LOSSES, "rustlog", reason) == 1


# ---- positions


async def test_a_position_is_kept_for_each_group_topic_and_partition(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        commit = {"topic": "logs", "partition": 0}
        assert await peer.ask("OffsetCommit", group="a", offset=150, **commit) == {
            "type": "OffsetCommitResponse",
            "success": True,
        }
        await peer.ask("OffsetCommit", group="b", offset=7, **commit)
        answers = [
            (await peer.ask("OffsetFetch", group=group, topic="logs", partition=partition))["offset"]
            for group, partition in [("a", 0), ("b", 0), ("a", 1), ("c", 0)]
        ]
        assert answers == [150, 7, None, None]


async def test_positions_are_durable_and_the_same_for_every_dialect(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.ask("OffsetCommit", group="a", topic="logs", partition=0, offset=3)
        assert (await peer.broker.positions("a"))[LOGS, 0].offset == 3
        await peer.broker.commit_positions("a", [Commit(LOGS, 1, 4)])
    async with open_broker(tmp_path) as broker:
        peer = Peer(broker, HandClock())
        for partition, offset in [(0, 3), (1, 4)]:
            answer = await peer.ask("OffsetFetch", group="a", topic="logs", partition=partition)
            assert answer["offset"] == offset


@pytest.mark.parametrize("offset", [0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
async def test_a_position_is_kept_as_given(tmp_path: Path, offset: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.ask("OffsetCommit", group="a", topic="logs", partition=0, offset=offset)
        answer = await peer.ask("OffsetFetch", group="a", topic="logs", partition=0)
        assert answer == {"type": "OffsetFetchResponse", "offset": offset}


async def test_a_commit_to_the_unknown_has_no_success(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for topic, partition in [("nope", 0), ("logs", 2)]:
            answer = await peer.ask("OffsetCommit", group="a", topic=topic, partition=partition, offset=1)
            assert answer == {"type": "OffsetCommitResponse", "success": False}
            answer = await peer.ask("OffsetFetch", group="a", topic=topic, partition=partition)
            assert answer == {"type": "OffsetFetchResponse", "offset": None}


async def test_only_its_members_commit_for_a_group_that_has_some(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        request = {"group": "a", "topic": "logs", "partition": 0, "offset": 1}
        assert (await peer.ask("OffsetCommit", **request))["success"]
        joined = await peer.broker.join_group(joining(group="a"))
        for offset in (1, 2):
            answer = await peer.ask("OffsetCommit", **{**request, "offset": offset})
            assert answer == {"type": "OffsetCommitResponse", "success": False}
        await peer.broker.leave_group("a", [Leaving(joined.member)])
        assert (await peer.ask("OffsetCommit", **{**request, "offset": 2}))["success"]


@pytest.mark.parametrize("error", [GroupNotEmpty(group="a"), UnknownMember(group="a", member="")])
async def test_a_commit_to_a_group_with_members_has_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OnelogError
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        monkeypatch.setattr(peer.broker, "commit_positions", lambda group, commits: Ticket.resolved([error]))
        answer = await peer.ask("OffsetCommit", group="a", topic="logs", partition=0, offset=1)
        assert answer == {"type": "OffsetCommitResponse", "success": False}


# ---- topics


async def test_a_created_topic_tells_its_partitions(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.ask("CreateTopic", topic="Events_1-a", partition_count=3) == {
            "type": "CreateTopicResponse",
            "success": True,
            "partitions_created": 3,
        }
        assert peer.broker.topic("Events_1-a").partition_count == 3


async def test_creating_what_exists_is_400_with_its_partition_count(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        answer = await peer.ask("CreateTopic", topic="logs", partition_count=5)
        assert refused(answer, 400) == {"partition_count": 2}


@pytest.mark.parametrize(("count", "code"), [(0, 400), (1, None), (1000, None), (1001, 400)])
async def test_a_topic_has_1_to_1000_partitions(tmp_path: Path, count: int, code: int | None) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert (await peer.ask("CreateTopic", topic="t", partition_count=count)).get("code") == code


@pytest.mark.parametrize(
    "name", ["", "a.b", "a b", "ä", "a/b", ".", "..", "a\x00", "x" * 250, "x" * 255, "x" * 256]
)
async def test_a_name_that_rustlog_or_the_product_cannot_say_is_not_created(
    tmp_path: Path, name: str
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        refused(await peer.ask("CreateTopic", topic=name, partition_count=1), 400)


async def test_the_longest_name_is_created(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert (await peer.ask("CreateTopic", topic="x" * 249, partition_count=1))["success"] is True


async def test_what_others_created_with_dots_is_listed_read_and_written(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.create_topics([NewTopic("a.b", 1)])
        assert await peer.ask("ListTopics") == {
            "type": "ListTopicsResponse",
            "topics": [{"name": "a.b", "partition_count": 1}, {"name": "logs", "partition_count": 2}],
        }
        assert (await peer.produce(b"x", topic="a.b"))["base_offset"] == 0
        assert len((await peer.fetch(0, topic="a.b"))["records"]) == 1


async def test_describing_a_topic_tells_of_every_partition(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(*[b"x"] * 5, partition=1)
        await peer.broker.delete_records(LOGS, 1, 2)
        assert await peer.ask("DescribeTopic", topic="logs") == {
            "type": "DescribeTopicResponse",
            "topic": "logs",
            "partitions": [
                {"partition": 0, "high_watermark": 0, "log_start_offset": 0, "segment_count": 1},
                {"partition": 1, "high_watermark": 5, "log_start_offset": 2, "segment_count": 1},
            ],
        }
        refused(await peer.ask("DescribeTopic", topic="nope"), 404)


async def test_describing_a_partition_tells_of_it_alone(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.produce(b"x", partition=1)
        assert await peer.ask("DescribePartition", topic="logs", partition=1) == {
            "type": "DescribePartitionResponse",
            "topic": "logs",
            "partition": 1,
            "high_watermark": 1,
            "log_start_offset": 0,
            "segment_count": 1,
        }
        refused(await peer.ask("DescribePartition", topic="nope", partition=0), 404)
        assert refused(await peer.ask("DescribePartition", topic="logs", partition=2), 405)


async def test_a_deleted_topic_is_unknown(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.delete_topics(["logs"])
        for answer in (
            await peer.produce(b"x"),
            await peer.fetch(0),
            await peer.ask("DescribeTopic", topic="logs"),
        ):
            assert refused(answer, 404) == {"available_topics": []}


# ---- the rest


async def test_ping_is_answered_with_pong(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.ask("Ping") == {"type": "Pong"}


async def test_what_is_no_request_is_400_and_counted(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert refused(await peer.ask("Nope"), 400) is None
        refused(await peer.ask("Produce", topic="logs"), 400)
        assert peer.broker.metrics.value(REFUSALS, "rustlog", "invalid_request") == 2


async def test_a_request_sees_what_the_one_before_it_on_its_connection_did(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        fetch = {
            "type": "Fetch",
            "group_id": "",
            "topic": "logs",
            "partition": 0,
            "offset": 0,
            "max_bytes": 99,
        }
        outcomes = list(
            peer.outcomes(
                produce(b"a"),
                fetch,
                {"type": "DescribePartition", "topic": "logs", "partition": 0},
                {"type": "OffsetCommit", "group": "g", "topic": "logs", "partition": 0, "offset": 9},
                {"type": "OffsetFetch", "group": "g", "topic": "logs", "partition": 0},
                produce(b"b"),
                produce(),
            )
        )
        answers = [await peer.said(outcome) for outcome in outcomes]
        assert len(answers[1]["records"]) == 1
        assert answers[2]["high_watermark"] >= 1
        assert answers[4]["offset"] == 9
        assert (answers[5]["base_offset"], answers[6]["base_offset"]) == (1, 2)


async def test_creating_a_topic_holds_what_comes_behind_it(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [outcome] = peer.outcomes({"type": "CreateTopic", "topic": "t", "partition_count": 1})
        assert isinstance(outcome, Later)
        assert outcome.hold
        await peer.said(outcome)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DiskFailed(path="d", doing="syncing", found="EIO"), 503),
        (DiskFull(path="d", doing="writing"), 507),
    ],
)
async def test_a_disk_that_refuses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: DiskFailed | DiskFull, code: int
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        with monkeypatch.context() as patched:
            patched.setattr(peer.broker, "produce", lambda appends, rules: [Ticket.refused(error)])
            refused(await peer.produce(b"x"), code)

"""Groups over a real broker, without a socket."""

from pathlib import Path

import pytest

from onelog.broker.broker import Commit, Leaving
from onelog.broker.subscribers import SUBSCRIPTIONS_MAX
from onelog.errors import GroupNotEmpty, OnelogError, UnknownMember
from onelog.model import TopicName
from onelog.protocols.contract import Later
from onelog.records.record import Record
from onelog.ticket import Ticket
from tests.support.flymq_peer import ADDRESS, Peer, peer_of_a_broker
from tests.support.flymq_wire import commit, frame, i32, produce, subscribe, text, text8, u64
from tests.support.group_desk import joining

LOGS = TopicName("logs")
DONE = b"\1\0\0"
UNKNOWN = "consumer group not found: logs:g"


def of_group(opcode: int, *, topic: str = "logs", group: str = "g", partition: int = 0) -> bytes:
    return frame(opcode, text(topic) + text(group) + i32(partition))


def reset(mode: str, offset: int | None = None, *, topic: str = "logs", partition: int = 0) -> bytes:
    tail = b"" if offset is None else u64(offset)
    return frame(0x61, text(topic) + text("g") + i32(partition) + text8(mode) + tail)


def seek(time_ms: int, *, group: str | None = None, partition: int = 0) -> bytes:
    named = b"" if group is None else text(group)
    return frame(0x66, text("logs") + named + i32(partition) + time_ms.to_bytes(8, "big", signed=True))


async def position(peer: Peer, *, partition: int = 0) -> int:
    return int.from_bytes(await peer.granted(of_group(0x60, partition=partition)), "big")


async def begun(peer: Peer, mode: str, *, group: str = "g", by_document: bool = False) -> int:
    """Where a subscription begins."""
    answer = await peer.granted(subscribe("logs", group, mode, by_document=by_document))
    assert len(answer) == 8
    return int.from_bytes(answer, "big")


async def fill(peer: Peer, count: int) -> None:
    await peer.append(*[Record(None, b"v", 1000 + at) for at in range(count)])


def summary(group: str, members: int, *positions: tuple[int, int], topic: str = "logs") -> bytes:
    listed = b"".join(i32(partition) + u64(offset) for partition, offset in positions)
    return text(topic) + text(group) + i32(members) + i32(len(positions)) + listed


# ---- SUBSCRIBE


@pytest.mark.parametrize("by_document", [False, True])
async def test_a_subscription_begins_where_its_mode_says(tmp_path: Path, by_document: bool) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, 5)
        await peer.broker.delete_records("logs", 0, 2)
        for mode, offset in (("earliest", 2), ("latest", 5), ("", 5), ("commit", 2), ("committed", 2)):
            assert await begun(peer, mode, by_document=by_document) == offset
        await peer.granted(commit("logs", "g", 4))
        for mode in ("commit", "committed"):
            assert await begun(peer, mode, by_document=by_document) == 4


async def test_the_end_of_an_empty_partition_is_0_and_the_first_record_behind_it_is_read(
    tmp_path: Path,
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        offset = await begun(peer, "latest")
        assert offset == 0
        await peer.granted(produce("logs", b"first", partition=0))
        assert (await peer.fetch("logs", offset)).records == [(0, b"", b"first")]


async def test_a_subscription_behind_a_produce_begins_behind_its_record(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        requests = produce("logs", b"v", partition=0), subscribe("logs", "g", "latest")
        pipelined = list(peer.outcomes(*requests))
        _, answer = [await peer.said(tag, outcome) for tag, outcome in pipelined]
        assert answer.payload == u64(1)


async def test_a_subscription_to_the_unknown_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.refused(subscribe("none", "g", "latest")) == "topic not found: none"
        for partition in (2, -1):
            request = subscribe("logs", "g", "earliest", partition=partition)
            assert await peer.refused(request) == f"partition {partition} not found"
        assert await peer.refused(subscribe("logs", "g", "middle")) == "unknown subscribe mode: middle"
        assert await peer.ask(0x62) == i32(0)


async def test_one_connection_subscribes_to_so_many_groups_and_no_more(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for number in range(SUBSCRIPTIONS_MAX):
            await begun(peer, "latest", group=f"g{number}")
        assert "subscriptions" in await peer.refused(subscribe("logs", "one more", "latest"))
        await begun(peer, "latest", group="g0")


# ---- COMMIT, GET_OFFSET, GET_LAG


async def test_a_commit_is_kept_as_given_and_may_go_back(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        for offset in (7, 2**64 - 1, 3):
            assert await peer.granted(commit("logs", "g", offset)) == DONE
            assert await position(peer) == offset
        assert await position(peer, partition=1) == 0


async def test_positions_are_durable_and_the_same_for_every_dialect(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        [(tag, outcome)] = peer.outcomes(commit("logs", "g", 9))
        assert isinstance(outcome, Later)
        await peer.said(tag, outcome)
        await peer.broker.commit_positions("kafka group", [Commit(LOGS, 1, 4)])
    async with peer_of_a_broker(tmp_path, topics=0) as peer:
        assert await position(peer) == 9
        assert (await peer.broker.positions("g"))[LOGS, 0].offset == 9
        assert await peer.granted(of_group(0x60, group="kafka group", partition=1)) == u64(4)


async def test_a_commit_to_the_unknown_is_an_error_since_nobody_looks_at_an_answer(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.refused(commit("none", "g", 1)) == "topic not found: none"
        assert await peer.refused(commit("logs", "g", 1, partition=-1)) == "partition -1 not found"


async def test_a_commit_to_a_group_with_members_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        outcomes: list[OnelogError | None] = [UnknownMember("g", "")]
        monkeypatch.setattr(peer.broker, "commit_positions", lambda *_: Ticket.resolved(outcomes))
        assert (await peer.refused(commit("logs", "g", 1))).startswith("group has members")
        assert (await peer.refused(reset("earliest"))).startswith("group has members")


@pytest.mark.parametrize("opcode", [0x60, 0x64])
async def test_an_unknown_group_is_said_to_be_so(tmp_path: Path, opcode: int) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.refused(of_group(opcode)) == UNKNOWN
        assert await peer.refused(of_group(opcode, topic="none")) == "consumer group not found: none:g"
        await peer.granted(produce("other", b"v"))
        await peer.granted(commit("other", "g", 1))
        assert await peer.refused(of_group(opcode)) == UNKNOWN


async def test_a_group_that_only_subscribed_is_at_0(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await begun(peer, "latest")
        assert await position(peer) == 0


async def test_lag_is_what_is_behind_the_position(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(commit("logs", "g", 1))
        assert await peer.granted(of_group(0x64)) == u64(1) + u64(1) + u64(0) + u64(0)
        await fill(peer, 5)
        assert await peer.granted(of_group(0x64)) == u64(1) + u64(1) + u64(5) + u64(4)
        assert await peer.granted(of_group(0x64, partition=1)) == bytes(32)
        assert await peer.refused(of_group(0x64, partition=-1)) == "partition -1 not found"


# ---- RESET_OFFSET, SEEK_TO_TIMESTAMP


@pytest.mark.parametrize("trailing", [None, 77])
async def test_a_reset_moves_to_an_end_whatever_stands_behind_the_mode(
    tmp_path: Path, trailing: int | None
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, 3)
        assert await peer.granted(reset("latest", trailing)) == b"\1"
        assert await position(peer) == 3
        assert await peer.granted(reset("earliest", trailing)) == b"\1"
        assert await position(peer) == 0


async def test_a_reset_moves_to_an_offset_and_makes_the_group(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.granted(reset("offset", 12)) == b"\1"
        assert await position(peer) == 12


async def test_a_reset_that_cannot_be_is_refused(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.refused(reset("middle")) == "unknown reset mode: middle"
        assert (await peer.refused(reset("offset"))).startswith("buffer too small")
        assert await peer.refused(reset("earliest", partition=-1)) == "partition -1 not found"
        assert await peer.refused(reset("offset", 1, partition=9)) == "partition 9 not found"
        assert await peer.refused(reset("latest", topic="none")) == "topic not found: none"


async def test_requests_of_a_connection_act_one_after_the_other(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        requests = produce("logs", b"v", partition=0), reset("latest")
        pipelined = list(peer.outcomes(*requests))
        resetting = pipelined[1][1]
        assert isinstance(resetting, Later)
        assert resetting.hold
        for tag, outcome in pipelined:
            await peer.said(tag, outcome)
        assert await position(peer) == 1


async def test_a_time_is_the_first_offset_at_or_after_it_or_the_end(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, 3)
        for time_ms, offset in ((-5, 0), (0, 0), (1001, 1), (1002, 2), (1003, 3), (1 << 62, 3)):
            assert await peer.granted(seek(time_ms)) == u64(offset)
        assert await peer.granted(seek(5, partition=1)) == u64(0)
        assert await peer.refused(seek(5, partition=-1)) == "partition -1 not found"
        assert await peer.ask(0x62) == i32(0)


async def test_a_time_sought_for_a_group_becomes_its_position(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await fill(peer, 3)
        assert await peer.granted(seek(1002, group="g")) == u64(2)
        assert await position(peer) == 2
        assert await peer.refused(seek(1002, group="g", partition=7)) == "partition 7 not found"


# ---- LIST_GROUPS, DESCRIBE_GROUP, DELETE_GROUP


async def test_groups_are_listed_by_topic_with_readers_and_positions(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        other = peer.beside()
        await peer.granted(produce("a/b", b"v"))
        await peer.granted(commit("a/b", "g", 1))
        await peer.granted(commit("logs", "g", 5, partition=1))
        for each in (peer, peer, other):
            await begun(each, "latest", group="readers")
        assert await peer.ask(0x62) == (
            i32(3) + summary("g", 0, (0, 1), topic="a/b") + summary("g", 0, (1, 5)) + summary("readers", 2)
        )


async def test_a_reader_counts_until_its_connection_ends(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        other = peer.beside()
        await peer.granted(commit("logs", "g", 5))
        await begun(other, "commit")
        await begun(other, "commit", group="no position")
        assert await peer.ask(0x62) == i32(2) + summary("g", 1, (0, 5)) + summary("no position", 1)
        other.handler.closed()
        assert await peer.ask(0x62) == i32(1) + summary("g", 0, (0, 5))


async def test_a_group_whose_name_flymq_cannot_say_is_left_out(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.broker.commit_positions("g" * 70_000, [Commit(LOGS, 0, 1)])
        assert await peer.ask(0x62) == i32(0)


@pytest.mark.parametrize("topic", ["logs", ""])
async def test_a_group_is_described_with_its_topic_or_with_an_empty_one(tmp_path: Path, topic: str) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(commit("logs", "g", 5))
        assert await peer.ask(0x63, text(topic) + text("g")) == summary("g", 0, (0, 5))
        assert (
            await peer.refused(frame(0x63, text(topic) + text("h"))) == f"consumer group not found: {topic}:h"
        )


async def test_a_group_of_several_topics_is_described_as_one(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(produce("also", b"v"))
        await peer.granted(commit("also", "g", 1))
        await peer.granted(commit("logs", "g", 5))
        assert await peer.ask(0x63, text("") + text("g")) == summary("g", 0, (0, 1), (0, 5), topic="")


async def test_java_is_told_state_readers_topics_and_coordinator(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(commit("logs", "g", 5))
        empty = text("g") + text("Empty") + i32(0) + i32(1) + text("logs") + text(str(ADDRESS))
        assert await peer.ask(0x63, text("g")) == empty
        await begun(peer, "commit")
        stable = text("g") + text("Stable") + i32(1) + text(peer.name) + i32(1) + text("logs")
        assert await peer.ask(0x63, text("g")) == stable + text(str(ADDRESS))


@pytest.mark.parametrize("named", [text("logs") + text("g"), text("") + text("g"), text("g")])
async def test_a_deleted_group_has_no_position_and_no_reader(tmp_path: Path, named: bytes) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(commit("logs", "g", 5))
        await begun(peer, "commit")
        assert await peer.ask(0x65, named) == b"\1"
        assert await peer.refused(of_group(0x60)) == UNKNOWN
        assert (await peer.refused(frame(0x65, named))).startswith("consumer group not found")
        assert await begun(peer, "commit") == 0
        assert await position(peer) == 0
    async with peer_of_a_broker(tmp_path, topics=0) as peer:
        assert await peer.refused(of_group(0x60)) == UNKNOWN


async def test_a_group_deleted_in_one_topic_stays_in_the_others(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(produce("also", b"v"))
        await peer.granted(commit("also", "g", 1))
        await peer.granted(commit("logs", "g", 5))
        assert await peer.ask(0x65, text("also") + text("g")) == b"\1"
        assert await peer.ask(0x62) == i32(1) + summary("g", 0, (0, 5))


async def test_a_group_that_may_not_be_deleted_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(commit("logs", "g", 5))
        await begun(peer, "commit")
        refusal: Ticket[None] = Ticket.refused(GroupNotEmpty("g"))
        monkeypatch.setattr(peer.broker, "delete_positions", lambda *_: refusal)
        assert (await peer.refused(frame(0x65, text("g")))).startswith("group has members")
        assert await peer.ask(0x62) == i32(1) + summary("g", 1, (0, 5))


async def test_a_group_with_members_is_moved_and_deleted_by_nobody_else(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(commit("logs", "g", 5))
        await begun(peer, "commit")
        joined = await peer.broker.join_group(joining(group="g", topics=["logs"]))
        for refused in (
            commit("logs", "g", 6),
            reset("earliest"),
            seek(0, group="g"),
            frame(0x65, text("g")),
        ):
            assert (await peer.refused(refused)).startswith("group has members that commit for it")
        assert await peer.ask(0x62) == i32(1) + summary("g", 1, (0, 5))
        await peer.broker.leave_group("g", [Leaving(joined.member)])
        assert await peer.granted(commit("logs", "g", 6)) == DONE


async def test_a_group_that_only_reads_is_deleted_too(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await begun(peer, "latest")
        assert await peer.ask(0x65, text("logs") + text("g")) == b"\1"
        assert await peer.ask(0x62) == i32(0)


async def test_positions_of_a_deleted_topic_are_gone_with_it(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(commit("logs", "g", 5))
        await begun(peer, "commit")
        await peer.granted(frame(0x09, text("logs")))
        assert await peer.ask(0x62) == i32(0)
        peer.handler.closed()

"""Positions go a while after nobody wants them any more, and not before."""

from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import BrokerSettings, Commit, Leaving, Membership, Subscriber
from onelog.broker.groups.expiry import is_expired
from onelog.broker.groups.group import Group
from onelog.broker.groups.words import Phase
from onelog.broker.positions.state import Kept
from onelog.broker.values import Position
from onelog.model import TopicName
from tests.support.brokers import ORDERS, Desk, open_desk
from tests.support.group_desk import joining, member_of
from tests.support.virtual_clock import run

OTHERS = TopicName("others")
KEEP_MS, CHECK_MS = 1_000_000, 10_000
SETTINGS = BrokerSettings(position_retention_ms=KEEP_MS, position_check_interval_ms=CHECK_MS)


def expired(
    group: Group | None, *, is_read: bool = False, keeps: int | None = None, now_ms: int = 150
) -> bool:
    kept = Kept(Position(1), committed_ms=100, expires_ms=keeps)
    return is_expired(kept, group, is_read=is_read, now_ms=now_ms, retention_ms=50)


def group(phase: Phase, *, kind: str | None = "consumer", since_ms: int = 0) -> Group:
    return Group("g", phase=phase, protocol_type=kind, since_ms=since_ms)


@pytest.mark.parametrize(("now_ms", "is_gone"), [(149, False), (150, True)])
def test_without_members_ever_the_commit_counts(now_ms: int, is_gone: bool) -> None:
    assert expired(None, now_ms=now_ms) is is_gone
    assert expired(group(Phase.EMPTY, kind=None, since_ms=140), now_ms=now_ms) is is_gone


@pytest.mark.parametrize(("now_ms", "is_gone"), [(150, False), (169, False), (170, True)])
def test_without_members_any_more_the_last_of_them_counts(now_ms: int, is_gone: bool) -> None:
    assert expired(group(Phase.EMPTY, since_ms=120), now_ms=now_ms) is is_gone


def test_a_commit_after_the_last_member_counts_from_itself() -> None:
    assert not expired(group(Phase.EMPTY, since_ms=10), now_ms=149)
    assert expired(group(Phase.EMPTY, since_ms=10), now_ms=150)


def test_a_generation_that_stands_loses_what_no_member_reads() -> None:
    assert expired(group(Phase.STABLE))
    assert not expired(group(Phase.STABLE), now_ms=149)
    assert not expired(group(Phase.STABLE), is_read=True)
    assert not expired(group(Phase.STABLE, kind="connect"))


def test_a_generation_on_its_way_loses_nothing() -> None:
    for phase in (Phase.PREPARING, Phase.COMPLETING):
        assert not expired(group(phase), now_ms=10_000)
        assert not expired(group(phase), now_ms=10_000, keeps=110)


def test_a_commit_may_say_when_it_goes() -> None:
    assert expired(None, keeps=110, now_ms=110)
    assert not expired(None, keeps=110, now_ms=109)
    assert not expired(None, keeps=1000, now_ms=900)


async def positions(desk: Desk, group: str = "billing") -> set[tuple[TopicName, int]]:
    return set(await desk.broker.positions(group))


async def passed(desk: Desk, ms: int) -> None:
    """Time passes, check by check."""
    for _ in range(ms // CHECK_MS):
        await desk.clock.advance(CHECK_MS)


def test_a_position_that_nobody_commits_any_more_goes_for_good(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            await desk.topic()
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)])
            await passed(desk, KEEP_MS - CHECK_MS)
            assert await positions(desk) == {(ORDERS, 0)}
            await passed(desk, CHECK_MS)
            assert await positions(desk) == set()
            assert desk.broker.list_groups() == []
            assert desk.broker.metrics.value(m.POSITIONS_EXPIRED) == 1
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            assert await positions(desk) == set()

    run(story())


def test_the_time_of_a_commit_is_kept_over_a_stop(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            await desk.topic()
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)])
            await passed(desk, KEEP_MS - CHECK_MS)
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            assert await positions(desk) == {(ORDERS, 0)}
            await passed(desk, CHECK_MS)
            assert await positions(desk) == set()

    run(story())


def test_what_was_committed_before_times_were_kept_counts_from_the_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            await desk.topic()
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)])
            await desk.broker._parts.catalog.write([("UPDATE positions SET committed_ms = 0", ())])
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            await passed(desk, KEEP_MS - CHECK_MS)
            assert await positions(desk) == {(ORDERS, 0)}
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            await passed(desk, CHECK_MS)
            assert await positions(desk) == set()

    run(story())


def test_a_group_whose_members_are_there_keeps_what_they_read(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            for name in ("orders", "others"):
                await desk.topic(name)
            by = await member_of(desk.broker, session_timeout_ms=1_800_000)
            commits = [Commit(ORDERS, 0, 5), Commit(OTHERS, 0, 5)]
            await desk.broker.commit_positions("billing", commits, by=by)
            await passed(desk, KEEP_MS)
            assert await positions(desk) == {(ORDERS, 0)}
            await desk.broker.leave_group("billing", [Leaving(by.member)])
            await passed(desk, KEEP_MS - CHECK_MS)
            assert await positions(desk) == {(ORDERS, 0)}
            await passed(desk, CHECK_MS)
            assert await positions(desk) == set()
            assert desk.broker.list_groups() == []

    run(story())


def test_a_topic_that_somebody_reads_without_membership_is_kept(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            await desk.topic()
            reader = Subscriber("peer")
            desk.broker.subscribe(reader, "billing", "orders")
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)])
            await passed(desk, KEEP_MS)
            assert await positions(desk) == {(ORDERS, 0)}
            desk.broker.unsubscribe(reader)
            await passed(desk, CHECK_MS)
            assert await positions(desk) == set()

    run(story())


def test_an_empty_group_without_positions_goes_with_the_next_check(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            by = await member_of(desk.broker)
            await desk.broker.leave_group("billing", [Leaving(by.member)])
            assert desk.broker.list_groups() == ["billing"]
            waiting = desk.broker.join_group(joining(needs_known_id=True, session_timeout_ms=30_000))
            assert waiting.done
            await passed(desk, CHECK_MS)
            assert desk.broker.list_groups() == ["billing"]
            await passed(desk, 30_000)
            assert desk.broker.list_groups() == []

    run(story())


def test_a_commit_that_says_how_long_goes_then(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=SETTINGS) as desk:
            await desk.topic()
            await desk.broker.commit_positions(
                "billing", [Commit(ORDERS, 0, 5, keep_ms=2 * CHECK_MS)], by=Membership()
            )
            await passed(desk, CHECK_MS)
            assert await positions(desk) == {(ORDERS, 0)}
            await passed(desk, CHECK_MS)
            assert await positions(desk) == set()

    run(story())

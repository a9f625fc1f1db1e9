"""Groups over a catalog: answers wait for the disk, and time for nobody."""

from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import BrokerSettings, Leaving, Membership, Phase, SyncGroup
from onelog.errors import DiskFailed, InvalidSessionTimeout, RebalanceInProgress, UnknownMember
from tests.support.brokers import Desk, open_desk
from tests.support.group_desk import DELAY_MS, answered, joining, member_of
from tests.support.virtual_clock import run, turns

FAILED = DiskFailed(path="onelog.db", doing="syncing", found="Input/output error")


def phase(desk: Desk) -> Phase:
    return desk.broker.describe_group("billing").phase


def test_a_generation_is_told_when_it_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            joined = desk.broker.join_group(joining())
            desk.transactions.shut()
            await desk.clock.advance(DELAY_MS)
            await turns(50)
            assert phase(desk) is Phase.COMPLETING
            assert not joined.done
            desk.transactions.open()
            assert (await joined).generation == 1

    run(story())


def test_an_assignment_is_told_when_it_is_durable_and_so_is_what_others_see_of_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            joined = await answered(desk.broker, desk.broker.join_group(joining()))
            by = Membership(joined.member, joined.generation)
            desk.transactions.shut()
            synced = desk.broker.sync_group(SyncGroup("billing", by, {joined.member: b"all"}))
            alive = desk.broker.heartbeat("billing", by)
            refused = desk.broker.heartbeat("billing", Membership(joined.member, 9))
            await turns(50)
            assert phase(desk) is Phase.STABLE
            assert not any(ticket.done for ticket in (synced, alive, refused))
            desk.transactions.open()
            assert (await synced).assignment == b"all"
            await alive
            with pytest.raises(Exception, match="generation 9"):
                await refused

    run(story())


def test_a_leave_is_answered_when_it_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            by = await member_of(desk.broker)
            desk.transactions.shut()
            left = desk.broker.leave_group("billing", [Leaving(by.member)])
            await turns(50)
            assert not left.done
            desk.transactions.open()
            assert await left == [None]

    run(story())


def test_a_heartbeat_of_a_group_at_rest_costs_no_transaction(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            by = await member_of(desk.broker)
            before = desk.broker.metrics.value(m.CATALOG_TRANSACTIONS)
            for _ in range(10):
                assert desk.broker.heartbeat("billing", by).done
            assert desk.broker.metrics.value(m.CATALOG_TRANSACTIONS) == before

    run(story())


def test_new_members_get_names_of_their_own_that_begin_with_who_they_are(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            tickets = [
                desk.broker.join_group(joining(client_id="app")),
                desk.broker.join_group(joining(client_id="app")),
                desk.broker.join_group(joining(client_id="app", instance="static")),
            ]
            names = [(await answered(desk.broker, ticket)).member for ticket in tickets]
            assert len(set(names)) == 3
            assert [name.startswith("app-") for name in names] == [True, True, False]
            assert names[2].startswith("static-")

    run(story())


def test_a_session_ends_though_nobody_asks(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            by = await member_of(desk.broker)
            for _ in range(3):
                await desk.clock.advance(9_000)
                await desk.broker.heartbeat("billing", by)
            await desk.clock.advance(9_999)
            assert phase(desk) is Phase.STABLE
            await desk.clock.advance(1)
            assert phase(desk) is Phase.EMPTY
            with pytest.raises(UnknownMember):
                await desk.broker.heartbeat("billing", by)

    run(story())


def test_a_clock_on_the_wall_that_jumps_ends_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            by = await member_of(desk.broker)
            jumped_ms = desk.clock.now_ms + 86_400_000
            monkeypatch.setattr(type(desk.clock), "wall_ms", lambda _: jumped_ms)
            await desk.clock.advance(5_000)
            await desk.broker.heartbeat("billing", by)

    run(story())


def test_a_stop_forgets_no_group_and_its_members_go_on_without_a_rebalance(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            by = await member_of(desk.broker, instance="static")
        async with open_desk(tmp_path) as desk:
            await desk.broker.heartbeat("billing", by._replace(instance="static"))
            synced = await desk.broker.sync_group(SyncGroup("billing", by))
            assert (synced.assignment, phase(desk)) == (b"all", Phase.STABLE)
            await desk.clock.advance(10_000)
            assert phase(desk) is Phase.EMPTY

    run(story())


def test_a_generation_that_was_told_is_not_told_again_after_a_stop(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            joined = await answered(desk.broker, desk.broker.join_group(joining()))
        async with open_desk(tmp_path) as desk:
            by = Membership(joined.member, joined.generation)
            with pytest.raises(RebalanceInProgress):
                await desk.broker.heartbeat("billing", by)
            again = await answered(desk.broker, desk.broker.join_group(joining(joined.member)))
            assert again.generation == joined.generation + 1

    run(story())


def test_who_waits_hears_that_the_disk_has_failed(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            waiting = desk.broker.join_group(joining())
            desk.transactions.fail(FAILED)
            desk.broker.delete_topics(["orders"])
            with pytest.raises(DiskFailed):
                await waiting
            assert desk.failures == [FAILED]
            with pytest.raises(DiskFailed):
                await desk.broker.heartbeat("billing", Membership("m", 1))

    run(story())


def test_who_waits_when_the_broker_is_about_to_stop_is_sent_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            waiting = desk.broker.join_group(joining())
            desk.broker.end_waits()
            late = desk.broker.join_group(joining())
            for ticket in (waiting, late):
                with pytest.raises(RebalanceInProgress, match="billing"):
                    await ticket
            for _ in range(2):
                await desk.clock.advance(DELAY_MS)
            assert phase(desk) is Phase.COMPLETING

    run(story())


def test_an_answer_that_nobody_waits_for_any_more_disturbs_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            gone = desk.broker.join_group(joining())
            there = desk.broker.join_group(joining())
            gone.cancel()
            joined = await answered(desk.broker, there)
            assert len(desk.broker.describe_group("billing").members) == 2
            assert joined.generation == 1

    run(story())


def test_what_is_refused_at_once_leaves_nothing_behind(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            ticket = desk.broker.join_group(joining(session_timeout_ms=1))
            with pytest.raises(InvalidSessionTimeout):
                await ticket
            assert desk.broker._parts.groups._asked == {}
            assert desk.broker.list_groups() == []

    run(story())


def test_groups_members_and_generations_are_counted(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=BrokerSettings(group_initial_rebalance_delay_ms=0)) as desk:
            by = await member_of(desk.broker)
            await member_of(desk.broker, "audit")
            desk.broker.metrics.text()
            assert desk.broker.metrics.value(m.GROUPS, "stable") == 2
            assert desk.broker.metrics.value(m.GROUP_MEMBERS) == 2
            assert desk.broker.metrics.value(m.GENERATIONS) == 2
            await desk.broker.leave_group("billing", [Leaving(by.member)])
            desk.broker.metrics.text()
            assert desk.broker.metrics.value(m.GROUPS, "empty") == 1
            assert desk.broker.metrics.value(m.GENERATIONS) == 2

    run(story())

"""A group and its positions: who may commit, what may be deleted, what there is."""

from pathlib import Path

import pytest

from onelog.broker.broker import Commit, Leaving, Membership, Phase, Position
from onelog.errors import (
    GroupNotEmpty,
    GroupSubscribed,
    OnelogError,
    StaleGeneration,
    UnknownGroup,
    UnknownTopic,
)
from onelog.model import TopicName
from tests.support.brokers import ORDERS, open_desk
from tests.support.group_desk import answered, joining, member_of
from tests.support.virtual_clock import run, turns

OTHERS = TopicName("others")


def kinds(outcomes: list[OnelogError | None]) -> list[type[OnelogError | None]]:
    return [type(outcome) for outcome in outcomes]


def test_a_members_commit_is_kept_and_a_strangers_is_refused_as_a_whole(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            by = await member_of(desk.broker)
            commits = [Commit(ORDERS, 0, 5), Commit(ORDERS, 1, 6)]
            assert await desk.broker.commit_positions("billing", commits, by=by) == [None, None]
            later = [Commit(ORDERS, 0, 9), Commit(TopicName("nothing"), 0, 9)]
            assert kinds(await desk.broker.commit_positions("billing", later)) == [GroupNotEmpty] * 2
            stale = await desk.broker.commit_positions("billing", later, by=by._replace(generation=0))
            assert kinds(stale) == [StaleGeneration] * 2
            assert await desk.broker.positions("billing", [(ORDERS, 0)]) == {(ORDERS, 0): Position(5)}

    run(story())


def test_a_refusal_is_told_when_what_it_saw_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            by = await member_of(desk.broker)
            desk.transactions.shut()
            desk.broker.leave_group("billing", [Leaving(by.member)])
            refused = desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)], by=by)
            await turns(50)
            assert not refused.done
            desk.transactions.open()
            assert await refused != [None]

    run(story())


def test_a_commit_is_a_sign_of_life(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            by = await member_of(desk.broker)
            for _ in range(3):
                await desk.clock.advance(9_000)
                assert await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)], by=by) == [None]

    run(story())


def test_positions_of_a_topic_that_is_read_are_not_deleted(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic("orders")
            await desk.topic("others")
            commits = [Commit(ORDERS, 0, 5), Commit(OTHERS, 0, 6)]
            await desk.broker.commit_positions("billing", commits)
            by = await member_of(desk.broker)
            places = [(ORDERS, 0), (OTHERS, 0), (TopicName("nothing"), 0)]
            outcomes = await desk.broker.delete_positions("billing", places)
            assert kinds(outcomes) == [GroupSubscribed, type(None), UnknownTopic]
            assert set(await desk.broker.positions("billing")) == {(ORDERS, 0)}
            await desk.broker.leave_group("billing", [Leaving(by.member)])
            assert await desk.broker.delete_positions("billing", [(ORDERS, 0)]) == [None]

    run(story())


def test_of_members_that_are_no_consumers_nobody_knows_what_they_read(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await member_of(desk.broker, protocol_type="connect")
            outcomes = await desk.broker.delete_positions("billing", [(ORDERS, 0)])
            assert kinds(outcomes) == [GroupNotEmpty]

    run(story())


def test_a_group_is_deleted_with_its_positions_when_it_has_no_members(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            by = await member_of(desk.broker)
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)], by=by)
            await desk.broker.commit_positions("simple", [Commit(ORDERS, 0, 5)])
            names = ["billing", "nobody", "simple"]
            outcomes = await desk.broker.delete_groups(names)
            assert kinds(outcomes) == [GroupNotEmpty, UnknownGroup, type(None)]
            await desk.broker.leave_group("billing", [Leaving(by.member)])
            desk.transactions.shut()
            deleting = desk.broker.delete_groups(["billing"])
            await turns(50)
            assert not deleting.done
            desk.transactions.open()
            assert await deleting == [None]
            assert await desk.broker.positions("billing") == {}
        async with open_desk(tmp_path) as desk:
            assert desk.broker.list_groups() == []
            for table in ("groups", "group_members", "positions"):
                assert desk.broker._parts.catalog.rows(f"SELECT * FROM {table}") == []

    run(story())


def test_groups_with_members_and_groups_with_positions_are_listed_together(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.broker.commit_positions("simple", [Commit(ORDERS, 0, 5)])
            by = await member_of(desk.broker)
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)], by=by)
            assert desk.broker.list_groups() == ["billing", "simple"]
            simple = desk.broker.describe_group("simple")
            assert (simple.phase, simple.protocol_type, simple.members) == (Phase.EMPTY, "", [])
            with pytest.raises(UnknownGroup):
                desk.broker.describe_group("nobody")

    run(story())


def test_what_members_say_and_have_is_shown_of_a_generation_that_stands(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            by = await member_of(desk.broker, client_id="app", client_host="/host", instance="static")
            found = desk.broker.describe_group("billing")
            assert (found.phase, found.protocol_type, found.protocol) == (Phase.STABLE, "consumer", "range")
            assert [tuple(member) for member in found.members] == [
                (by.member, "static", "app", "/host", b"says", b"all")
            ]
            desk.broker.join_group(joining(by.member, instance="static"))
            found = desk.broker.describe_group("billing")
            assert (found.phase, found.protocol) == (Phase.COMPLETING, "")
            assert [tuple(member) for member in found.members] == [(by.member, "static", "", "", b"", b"")]

    run(story())


def test_a_group_of_members_alone_is_known_to_who_commits_with_a_generation(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            commit = [Commit(ORDERS, 0, 5)]
            unknown = await desk.broker.commit_positions("billing", commit, by=Membership("m", 1))
            assert kinds(unknown) == [UnknownGroup]
            waiting = desk.broker.join_group(joining())
            stranger = await desk.broker.commit_positions("billing", commit, by=Membership("m", 1))
            assert [outcome.code.value for outcome in stranger if outcome is not None] == ["unknown_member"]
            await answered(desk.broker, waiting)

    run(story())

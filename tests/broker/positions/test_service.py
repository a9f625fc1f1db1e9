"""Positions: one transaction, answered when durable, never taken over by another topic."""

from pathlib import Path

import pytest

from onelog import metrics as m
from onelog.broker.broker import BrokerSettings, Commit, Position
from onelog.errors import NoteTooLarge, UnknownPartition, UnknownTopic
from onelog.model import POSITION_MAX, TopicName
from tests.support.brokers import ORDERS, batch, open_desk
from tests.support.virtual_clock import run, turns

NOTHING = TopicName("nothing")


def test_a_commit_is_answered_when_it_is_durable_and_so_is_a_read_that_saw_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.transactions.shut()
            commit = desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5, 2, "note")])
            seen = desk.broker.positions("billing", [(ORDERS, 0)])
            await turns(50)
            assert not commit.done
            assert not seen.done
            desk.transactions.open()
            assert await commit == [None]
            assert await seen == {(ORDERS, 0): Position(5, 2, "note")}

    run(story())


def test_a_commit_that_is_to_be_kept_for_ever_does_not_end_the_broker(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            for_ever = Commit(ORDERS, 0, 5, keep_ms=2**63 - 1)
            assert await desk.broker.commit_positions("billing", [for_ever]) == [None]
            assert await desk.broker.commit_positions("audit", [Commit(ORDERS, 0, 6)]) == [None]

    run(story())


def test_a_read_answers_what_was_true_when_it_was_asked(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.transactions.shut()
            desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)])
            seen = desk.broker.positions("billing")
            desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 9)])
            desk.transactions.open()
            assert await seen == {(ORDERS, 0): Position(5)}

    run(story())


def test_all_commits_of_a_request_share_a_transaction_and_have_their_own_outcomes(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=BrokerSettings(note_bytes_max=4)) as desk:
            await desk.topic(partition_count=2)
            before = desk.broker.metrics.value(m.CATALOG_TRANSACTIONS)
            outcomes = await desk.broker.commit_positions(
                "billing",
                [
                    Commit(ORDERS, 0, 1),
                    Commit(NOTHING, 0, 1),
                    Commit(ORDERS, 2, 1),
                    Commit(ORDERS, 1, 1, note="longer"),
                    Commit(ORDERS, 1, 2, note="four"),
                ],
            )
            kinds = [type(o) for o in outcomes]
            assert kinds == [type(None), UnknownTopic, UnknownPartition, NoteTooLarge, type(None)]
            assert desk.broker.metrics.value(m.CATALOG_TRANSACTIONS) == before + 1
            assert set(await desk.broker.positions("billing")) == {(ORDERS, 0), (ORDERS, 1)}

    run(story())


@pytest.mark.parametrize("offset", [0, 1 << 62, 1 << 63, POSITION_MAX])
def test_any_position_survives_a_stop_even_on_an_empty_topic(tmp_path: Path, offset: int) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, offset, 1, "né")])
        async with open_desk(tmp_path) as desk:
            assert await desk.broker.positions("billing") == {(ORDERS, 0): Position(offset, 1, "né")}
            assert desk.broker.groups() == ["billing"]

    run(story())


def test_what_was_never_committed_is_left_out(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)])
            asked = [(ORDERS, 0), (ORDERS, 1), (NOTHING, 0)]
            assert await desk.broker.positions("billing", asked) == {(ORDERS, 0): Position(5)}
            assert await desk.broker.positions("unknown") == {}

    run(story())


def test_a_commit_behind_a_deletion_that_is_not_durable_yet_is_refused_after_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.transactions.shut()
            desk.broker.delete_topics(["orders"])
            commit = desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5)])
            await turns(50)
            assert not commit.done
            desk.transactions.open()
            (outcome,) = await commit
            assert isinstance(outcome, UnknownTopic)
            assert desk.broker._parts.catalog.rows("SELECT * FROM positions") == []

    run(story())


def test_lag_is_what_is_visible_and_not_read(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=3)
            await desk.append(batch("a", "b", "c"))
            await desk.append(batch("d"), partition=1)
            desk.syncs.shut()
            desk.append(batch("e"), partition=1)
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 1), Commit(ORDERS, 1, 900)])
            assert desk.broker.lag("billing") == [(ORDERS, 0, 2), (ORDERS, 1, 0)]
            assert desk.broker.lag("unknown") == []

    run(story())


def test_deleted_positions_are_gone_when_that_is_durable_and_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 1), Commit(ORDERS, 1, 2)])
            desk.transactions.shut()
            places = [(ORDERS, 0), (NOTHING, 0), (ORDERS, 7)]
            deleting = desk.broker.delete_positions("billing", places)
            await turns(50)
            assert not deleting.done
            desk.transactions.open()
            gone, unknown, never = await deleting
            assert (gone, type(unknown), never) == (None, UnknownTopic, None)
        async with open_desk(tmp_path) as desk:
            assert await desk.broker.positions("billing") == {(ORDERS, 1): Position(2)}
            assert await desk.broker.delete_positions("nobody", [(ORDERS, 1)]) == [None]
            await desk.broker.delete_positions("billing", [(ORDERS, 1)])
            assert desk.broker.groups() == []

    run(story())


def test_a_position_tells_when_it_was_committed(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            first_ms = desk.clock.wall_ms()
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 0, 5), Commit(ORDERS, 1, 5)])
            await desk.clock.advance(500)
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 1, 5)])
            assert desk.broker.position_times("billing") == {
                (ORDERS, 0): first_ms,
                (ORDERS, 1): first_ms + 500,
            }
            assert desk.broker.position_times("nobody") == {}

    run(story())

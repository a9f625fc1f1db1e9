"""Topics come and go: durable before they are said, and one name after the other."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from onelog.broker.broker import AlterTopic, BrokerSettings, Commit, NewTopic, Topic
from onelog.errors import (
    DiskFailed,
    DiskFull,
    InvalidConfig,
    InvalidName,
    InvalidPartitions,
    OnelogError,
    PartitionClosed,
    TopicExists,
    UnknownTopic,
    UnknownTopicId,
)
from onelog.ticket import Ticket
from tests.support.brokers import ORDERS, SMALL_FILES, Desk, batch, open_desk, values
from tests.support.virtual_clock import run, turns

FAILED = DiskFailed(path="onelog.db", doing="syncing", found="Input/output error")


def _codes(outcomes: list[Topic | OnelogError]) -> list[str]:
    return [o.code.value if isinstance(o, OnelogError) else o.name for o in outcomes]


def _create(desk: Desk, *names: str) -> Ticket[list[Topic | OnelogError]]:
    return desk.broker.create_topics([NewTopic(name) for name in names])


def test_a_topic_is_not_there_before_its_row_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            desk.transactions.shut()
            made = _create(desk, "orders")
            await turns(50)
            assert not made.done
            assert desk.broker.topics() == []
            with pytest.raises(UnknownTopic):
                desk.broker.topic("orders")
            desk.transactions.open()
            (topic,) = await made
            assert isinstance(topic, Topic)
            assert desk.broker.topics() == [topic]
            assert desk.broker.topic("orders") == desk.broker.topic_by_id(topic.id) == topic

    run(story())


def test_each_topic_of_a_request_has_its_own_outcome(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            outcomes = await desk.broker.create_topics(
                [
                    NewTopic("a", 2),
                    NewTopic("a"),
                    NewTopic("b c"),
                    NewTopic("d", 0),
                    NewTopic("e", 1, {"retention.ms": "soon"}),
                    NewTopic("f"),
                ]
            )
            assert [type(o) for o in outcomes] == [
                Topic,
                TopicExists,
                InvalidName,
                InvalidPartitions,
                InvalidConfig,
                Topic,
            ]
            assert [t.name for t in desk.broker.topics()] == ["a", "f"]

    run(story())


def test_it_exists_waits_until_it_does(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            desk.transactions.shut()
            first = _create(desk, "orders")
            await turns()
            second = _create(desk, "orders")
            third = desk.broker.ensure_topic("orders")
            await turns(50)
            assert not second.done
            assert not third.done
            desk.transactions.open()
            assert _codes(await second) == ["topic_exists"]
            assert (await third) == (await first)[0]
            assert _codes(await _create(desk, "orders")) == ["topic_exists"]

    run(story())


def test_validating_only_says_the_same_and_does_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            outcomes = await desk.broker.create_topics(
                [NewTopic("orders"), NewTopic("new", 3), NewTopic("b", 0)], validate_only=True
            )
            assert _codes(outcomes) == ["topic_exists", "new", "invalid_partitions"]
            altered = await desk.broker.alter_topics(
                [AlterTopic("orders", {"retention.ms": "5"})], validate_only=True
            )
            assert isinstance(altered[0], Topic)
            assert altered[0].settings == {"retention.ms": "5"}
            grown = await desk.broker.grow_partitions("orders", 4, validate_only=True)
            assert grown.partition_count == 4
            assert [(t.name, t.partition_count, t.settings) for t in desk.broker.topics()] == [
                ("orders", 1, {})
            ]

    run(story())


def test_a_topic_comes_to_be_when_it_is_asked_for_unless_forbidden(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path, settings=BrokerSettings(partition_count_default=3)) as desk:
            assert (await desk.broker.ensure_topic("orders")).partition_count == 3
            assert desk.broker.ensure_topic("orders").done
            with pytest.raises(InvalidName):
                await desk.broker.ensure_topic("a b")
        async with open_desk(tmp_path, settings=BrokerSettings(auto_create_topics=False)) as desk:
            assert (await desk.broker.ensure_topic("orders")).partition_count == 3
            with pytest.raises(UnknownTopic):
                await desk.broker.ensure_topic("others")

    run(story())


def test_settings_are_in_force_when_they_are_durable_and_after_a_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.transactions.shut()
            altering = desk.broker.alter_topics([AlterTopic("orders", {"max.message.bytes": "1"})])
            await turns(50)
            assert desk.broker.topic("orders").settings == {}
            await desk.append(batch("a"))
            desk.transactions.open()
            assert _codes(await altering) == ["orders"]
            assert desk.append(batch("b")).error is not None
        async with open_desk(tmp_path) as desk:
            assert desk.broker.topic("orders").settings == {"max.message.bytes": "1"}
            assert desk.append(batch("b")).error is not None
            await desk.broker.alter_topics([AlterTopic("orders", {"max.message.bytes": None})])
            await desk.append(batch("b"))
        async with open_desk(tmp_path) as desk:
            assert desk.broker.topic("orders").settings == {}

    run(story())


def test_added_partitions_take_records_and_stay(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            assert (await desk.broker.grow_partitions("orders", 3)).partition_count == 3
            await desk.append(batch("b"), partition=2)
            with pytest.raises(InvalidPartitions):
                await desk.broker.grow_partitions("orders", 2)
            with pytest.raises(UnknownTopic):
                await desk.broker.grow_partitions("others", 2)
        async with open_desk(tmp_path) as desk:
            assert desk.broker.topic("orders").partition_count == 3
            assert values(desk.read(partition=2)) == ["b"]
            assert values(desk.read()) == ["a"]

    run(story())


def test_a_topic_serves_until_its_deletion_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            topic = desk.broker.topic("orders")
            desk.transactions.shut()
            deleting = desk.broker.delete_topics(["orders"])
            await turns(50)
            assert not deleting.done
            assert values(desk.read()) == ["a"]
            await desk.append(batch("b"))
            twice = desk.broker.delete_topics(["orders"])
            await turns(50)
            assert not twice.done
            desk.transactions.open()
            assert await deleting == [topic]
            assert _codes(await twice) == ["unknown_topic"]
            with pytest.raises(UnknownTopic):
                desk.read()
            with pytest.raises(UnknownTopicId):
                desk.broker.topic_by_id(topic.id)

    run(story())


def test_records_that_were_not_durable_when_their_topic_went_are_not_acknowledged(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            desk.syncs.shut()
            ticket = desk.append(batch("a"))
            await turns()
            deleting = desk.broker.delete_topics(["orders"])
            with pytest.raises(UnknownTopic):
                await ticket
            desk.syncs.open()
            assert _codes(await deleting) == ["orders"]

    run(story())


def test_a_deletion_by_id_leaves_others_of_its_name_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            first = desk.broker.topic("orders").id
            unknown = UUID(int=1)
            outcomes = await desk.broker.delete_topics([first, unknown])
            assert _codes(outcomes) == ["orders", "unknown_topic_id"]
            await desk.topic()
            assert _codes(await desk.broker.delete_topics([first])) == ["unknown_topic_id"]
            assert desk.broker.topic("orders").id != first

    run(story())


def test_a_topic_made_anew_waits_until_the_old_ones_files_are_gone(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("old"))
            await desk.settle()
            old = desk.broker.topic("orders").id
            desk.disk.removals.shut()
            assert _codes(await desk.broker.delete_topics(["orders"])) == ["orders"]
            making = _create(desk, "orders")
            await turns(100)
            assert not making.done
            desk.disk.removals.open()
            await making
            assert desk.broker.topic("orders").id != old
            assert (await desk.append(batch("new"))).first == 0
            assert values(desk.read()) == ["new"]
        async with open_desk(tmp_path) as desk:
            assert values(desk.read()) == ["new"]
            assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["orders-0"]

    run(story())


def test_deleted_created_and_deleted_again_in_one_breath(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            tickets = [
                desk.broker.delete_topics(["orders"]),
                _create(desk, "orders"),
                desk.broker.delete_topics(["orders"]),
                _create(desk, "orders"),
            ]
            assert [_codes(await ticket) for ticket in tickets] == [["orders"]] * 4
            assert (await desk.append(batch("b"))).first == 0

    run(story())


def test_positions_of_a_deleted_topic_go_with_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.topic("others")
            await desk.broker.commit_positions(
                "billing", [Commit(ORDERS, 0, 5), Commit(desk.broker.topic("others").name, 0, 6)]
            )
            await desk.broker.delete_topics(["orders"])
            await desk.topic()
            assert [p.offset for p in (await desk.broker.positions("billing")).values()] == [6]
        async with open_desk(tmp_path) as desk:
            assert [p.offset for p in (await desk.broker.positions("billing")).values()] == [6]
            assert len(desk.broker._parts.catalog.rows("SELECT * FROM positions")) == 1

    run(story())


def test_a_removal_that_was_cut_off_is_finished_at_the_next_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            await desk.settle()
            desk.disk.removals.fail(DiskFull(path="orders-0", doing="moving it"))
            assert _codes(await desk.broker.delete_topics(["orders"])) == ["orders"]
        assert (tmp_path / "orders-0").exists()
        async with open_desk(tmp_path) as desk:
            assert desk.broker.topics() == []
            assert not (tmp_path / "orders-0").exists()
            rows = desk.broker._parts.catalog.rows
            await desk.broker.barrier()
            assert rows("SELECT id FROM removed_topics") == []

    run(story())


def test_a_forgotten_removal_leaves_no_row(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            await desk.append(batch("a"))
            await desk.broker.delete_topics(["orders"])
            await desk.topic()
            await desk.broker.barrier()
            removed = "SELECT id FROM removed_topics"
            assert len(desk.broker._parts.catalog.rows(removed)) == 1, "the commit log has a record of it"
            await desk.settle()
            await desk.broker.barrier()
            assert desk.broker._parts.catalog.rows(removed) == []

    run(story())


def test_a_topic_whose_files_cannot_be_made_is_backed_out(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            store = desk.broker._parts.files._store
            real = store.open_log

            def full(*_: object, **__: object) -> None:
                raise DiskFull(path="orders-0", doing="making its directory")

            store.open_log = full  # type: ignore[assignment,method-assign]  # a full disk
            assert _codes(await _create(desk, "orders")) == ["disk_full"]
            store.open_log = real  # type: ignore[method-assign]  # room again
            assert _codes(await _create(desk, "orders")) == ["orders"]

    run(story())


def test_a_failed_transaction_answers_nothing_and_serves_nothing_new(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            desk.transactions.fail(FAILED)
            for ticket in (_create(desk, "orders"), desk.broker.delete_topics(["orders"])):
                with pytest.raises(DiskFailed):
                    await ticket
            assert desk.broker.topics() == []
            assert desk.failures == [FAILED]

    run(story())


def test_all_settings_of_a_topic_are_told(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(settings={"segment.ms": "5"})
            told = {v.name: v for v in desk.broker.topic_settings(desk.broker.topic("orders"))}
            assert told["segment.ms"].value == "5"
            assert told["max.message.bytes"].value == str(desk.broker.settings.message_bytes_max)

    run(story())


def test_files_go_when_no_partition_is_written_any_more_even_if_one_does_not_close(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)

            def full(**_: object) -> None:
                raise DiskFull(path="orders-0", doing="writing its index")

            desk.broker._parts.served.partition("orders", 0).log.close = full  # type: ignore[method-assign]  # a full disk
            await desk.append(batch("a"), partition=1)
            desk.disk.settling.shut()
            settling = desk.broker._parts.settler.round()
            desk.syncs.shut()
            written = desk.append(batch("b"), partition=1)
            await turns()
            deleting = desk.broker.delete_topics(["orders"])
            await desk.broker.barrier()
            await turns(50)
            assert isinstance(written.error, UnknownTopic)
            assert not deleting.done
            desk.disk.settling.open()
            desk.syncs.open()
            assert _codes(await deleting) == ["disk_full"]
            assert settling.done
            assert desk.broker.topics() == []
            await desk.topic()  # waits for the files of its predecessor
            assert desk.failures == []

    run(story())


def test_partitions_whose_files_cannot_be_made_are_there_closed_as_after_a_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic()
            store = desk.broker._parts.files._store
            real = store.open_log

            def full(*_: object, **__: object) -> None:
                raise DiskFull(path="orders-1", doing="moving a stranger away")

            store.open_log = full  # type: ignore[assignment,method-assign]  # a full disk
            with pytest.raises(DiskFull):
                await desk.broker.grow_partitions("orders", 2)
            assert desk.broker.topic("orders").partition_count == 2
            with pytest.raises(PartitionClosed, match="orders-1: no space left"):
                desk.read(partition=1)
            store.open_log = real  # type: ignore[method-assign]  # room again
            await desk.broker.grow_partitions("orders", 3)
            await desk.append(batch("c"), partition=2)
        async with open_desk(tmp_path) as desk:
            await desk.append(batch("b"), partition=1)
            assert values(desk.read(partition=2)) == ["c"]

    run(story())


def test_what_a_topic_promises_is_written_down_when_it_is_made(tmp_path: Path) -> None:
    async def story() -> None:
        settings = replace(SMALL_FILES, durability_default="os")
        async with open_desk(tmp_path, settings=settings) as desk:
            await desk.topic()
            await desk.topic("careful", settings={"durability": "sync"})
            (refused,) = await desk.broker.alter_topics([AlterTopic("orders", {"durability": "sync"})])
            assert isinstance(refused, InvalidConfig)
        async with open_desk(tmp_path) as desk:
            told = {
                topic.name: {v.name: v.value for v in desk.broker.topic_settings(topic)}["durability"]
                for topic in desk.broker.topics()
            }
            assert told == {"orders": "os", "careful": "sync"}

    run(story())

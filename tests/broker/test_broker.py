"""The broker's own door: opened, used, closed, opened again."""

from pathlib import Path

from onelog.broker.broker import AlterTopic, Broker, Commit, NewTopic, Position, TopicChange
from tests.support.brokers import ORDERS, batch, open_desk, values
from tests.support.virtual_clock import run, turns


def test_what_was_acknowledged_is_there_after_a_stop(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.topic(partition_count=2)
            result = await desk.append(batch("a", "b"), partition=1)
            assert (result.first, result.end, result.timestamp_ms, result.log_start) == (0, 2, -1, 0)
            await desk.broker.commit_positions("billing", [Commit(ORDERS, 1, 2, note="here")])
            cluster_id = desk.broker.cluster_id
        async with open_desk(tmp_path) as desk:
            assert desk.broker.cluster_id == cluster_id
            assert len(cluster_id) == 22
            assert values(desk.read(partition=1)) == ["a", "b"]
            assert await desk.broker.positions("billing") == {(ORDERS, 1): Position(2, -1, "here")}
            assert (await desk.append(batch("c"), partition=1)).first == 2

    run(story())


def test_what_a_dialect_keeps_is_made_once_for_each_broker(tmp_path: Path) -> None:
    class Kept:
        def __init__(self, broker: Broker) -> None:
            self.broker = broker

    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            kept = desk.broker.kept(Kept)
            assert kept.broker is desk.broker
            assert desk.broker.kept(Kept) is kept

    run(story())


def test_a_dialects_note_of_a_topic_stays_as_it_was_given(tmp_path: Path) -> None:
    note = bytes(range(256))

    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            await desk.broker.create_topics([NewTopic("a", 1, notes={"one": note, "other": b""})])
            await desk.broker.alter_topics([AlterTopic("a", {"retention.ms": "1"})])
            await desk.broker.grow_partitions("a", 2)
            assert desk.broker.topic("a").notes == {"one": note, "other": b""}
        async with open_desk(tmp_path) as desk:
            assert desk.broker.topic("a").notes == {"one": note, "other": b""}
            await desk.broker.delete_topics(["a"])
            await desk.broker.create_topics([NewTopic("a", 1)])
            assert desk.broker.topic("a").notes == {}

    run(story())


def test_observers_are_told_when_a_topic_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        heard: list[TopicChange] = []
        async with open_desk(tmp_path) as desk:
            desk.broker.observe_topics(heard.append)
            desk.transactions.shut()
            making = desk.broker.create_topics([NewTopic("a", 1)])
            await turns(50)
            assert heard == []
            desk.transactions.open()
            await making
            await turns()
            assert [change.after for change in heard] == [desk.broker.topic("a")]
            desk.broker.unobserve_topics(heard.append)
            await desk.broker.delete_topics(["a"])
            await turns()
            assert len(heard) == 1

    run(story())

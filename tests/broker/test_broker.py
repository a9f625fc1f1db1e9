"""The broker's own door: opened, used, closed, opened again."""

from pathlib import Path

from onelog.broker.broker import Commit, Position
from tests.support.brokers import ORDERS, batch, open_desk, values
from tests.support.virtual_clock import run


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

"""An id is given out when its block is durably reserved, and never again."""

from pathlib import Path

from onelog import metrics as m
from onelog.broker.producers.state import BLOCK_SIZE
from tests.support.brokers import open_desk
from tests.support.virtual_clock import run, turns


def test_no_id_is_given_before_its_block_is_durable(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            desk.transactions.shut()
            first, second = desk.broker.init_producer(), desk.broker.init_producer()
            await turns(50)
            assert not first.done
            assert not second.done
            desk.transactions.open()
            assert [await first, await second] == [(0, 0), (1, 0)]
            assert desk.broker.init_producer().done

    run(story())


def test_a_start_goes_on_behind_the_last_block(tmp_path: Path) -> None:
    async def story() -> None:
        for expected in (0, BLOCK_SIZE):
            async with open_desk(tmp_path) as desk:
                assert (await desk.broker.init_producer())[0] == expected

    run(story())


def test_a_block_costs_one_transaction(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_desk(tmp_path) as desk:
            before = desk.broker.metrics.value(m.CATALOG_TRANSACTIONS)
            ids = [await desk.broker.init_producer() for _ in range(BLOCK_SIZE)]
            assert len(set(ids)) == BLOCK_SIZE
            assert desk.broker.metrics.value(m.CATALOG_TRANSACTIONS) == before + 1

    run(story())

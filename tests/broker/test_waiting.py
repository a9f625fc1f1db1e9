"""A waiter counts, and looks only when it may be worth it."""

import pytest

from onelog.broker.waiting import FetchWaiter, Waiter
from tests.support.virtual_clock import run, turns, virtual_clock


class Place:
    """Somewhere to wait at."""

    def __init__(self) -> None:
        self.waiters: set[Waiter] = set()

    def watch(self, waiter: Waiter) -> None:
        self.waiters.add(waiter)

    def unwatch(self, waiter: Waiter) -> None:
        self.waiters.discard(waiter)


class Looks:
    """What each look finds, in order: an answer, or how many bytes are missing."""

    def __init__(self, *finds: str | int) -> None:
        self.finds = list(finds)
        self.count = 0

    def __call__(self, is_last: bool) -> str | int:
        self.count += 1
        return "late" if is_last else self.finds.pop(0)


def test_it_looks_when_as_many_bytes_came_as_were_missing() -> None:
    async def story() -> None:
        place, looks = Place(), Looks("enough")
        waiter = FetchWaiter([place], looks, missing=100, wait_ms=1000)
        for _ in range(9):
            waiter.seen(11)
        await turns()
        assert looks.count == 0
        waiter.seen(1)
        assert await waiter.ticket == "enough"
        assert looks.count == 1
        assert not place.waiters

    run(story())


def test_it_goes_on_waiting_for_what_is_still_missing_after_a_look() -> None:
    async def story() -> None:
        looks = Looks(50, "enough")
        waiter = FetchWaiter([Place()], looks, missing=10, wait_ms=1000)
        waiter.seen(10)
        await turns()
        waiter.seen(49)
        await turns()
        assert looks.count == 1
        waiter.seen(1)
        assert await waiter.ticket == "enough"

    run(story())


def test_many_reasons_in_one_breath_make_one_look() -> None:
    async def story() -> None:
        looks = Looks("enough")
        waiter = FetchWaiter([Place(), Place()], looks, missing=1, wait_ms=1000)
        waiter.seen(5)
        waiter.seen(5)
        waiter.wake()
        await waiter.ticket
        assert looks.count == 1

    run(story())


def test_at_its_deadline_it_answers_with_what_there_is() -> None:
    async def story() -> None:
        clock = virtual_clock()
        place = Place()
        waiter = FetchWaiter([place], Looks(), missing=1, wait_ms=1000)
        await clock.advance(999)
        assert not waiter.ticket.done
        await clock.advance(1)
        assert waiter.ticket.result() == "late"
        assert not place.waiters

    run(story())


def test_cancelled_it_leaves_and_looks_no_more() -> None:
    async def story() -> None:
        clock = virtual_clock()
        place, looks = Place(), Looks("enough")
        waiter = FetchWaiter([place], looks, missing=1, wait_ms=1000)
        waiter.wake()
        waiter.ticket.cancel()
        await clock.advance(5000)
        assert not place.waiters
        assert looks.count == 0

    run(story())


@pytest.mark.parametrize("comes_late", [False, True])
def test_a_look_that_breaks_is_the_answer(comes_late: bool) -> None:
    def look(_: bool) -> str:
        raise ZeroDivisionError

    async def story() -> None:
        place = Place()
        waiter = FetchWaiter([place], look, missing=10, wait_ms=1000)
        if comes_late:
            await virtual_clock().advance(1000)
        else:
            waiter.wake()
        await turns()
        assert isinstance(waiter.ticket.error, ZeroDivisionError)
        assert not place.waiters

    run(story())

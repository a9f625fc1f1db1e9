import asyncio
from typing import NoReturn

import pytest

from onelog.errors import TimedOut, UnknownGroup
from onelog.ticket import Ticket, both


def test_who_waits_hears_in_the_order_of_asking() -> None:
    ticket: Ticket[int] = Ticket()
    heard: list[str] = []
    ticket.add_callback(lambda t: heard.append(f"first {t.result()}"))
    ticket.add_callback(lambda t: heard.append(f"second {t.result()}"))
    assert not ticket.done
    ticket.resolve(7)
    ticket.add_callback(lambda t: heard.append(f"late {t.result()}"))
    assert heard == ["first 7", "second 7", "late 7"]


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    ticket: Ticket[int] = Ticket.refused(UnknownGroup(group="g"))
    with pytest.raises(UnknownGroup):
        ticket.result()
    assert isinstance(ticket.error, UnknownGroup)


def test_a_cancelled_ticket_tells_nobody() -> None:
    ticket: Ticket[int] = Ticket()
    heard: list[int] = []
    ticket.add_callback(lambda t: heard.append(t.result()))
    ticket.cancel()
    ticket.resolve(1)
    assert ticket.cancelled
    assert heard == []


def test_what_follows_is_made_of_the_result() -> None:
    ticket: Ticket[int] = Ticket()
    following = ticket.then(lambda n: n + 1)
    ticket.resolve(1)
    assert following.result() == 2


def test_what_follows_a_failure_fails_the_same_way() -> None:
    error = TimedOut(doing="waiting", timeout_ms=5)
    following = Ticket[int].refused(error).then(lambda n: n + 1)
    assert following.error is error


def test_what_follows_may_refuse() -> None:
    def refuse(_: int) -> int:
        raise UnknownGroup(group="g")

    assert isinstance(Ticket.resolved(1).then(refuse).error, UnknownGroup)


def test_a_ticket_can_be_awaited_before_and_after_it_is_done() -> None:
    async def wait() -> tuple[int, int]:
        ticket: Ticket[int] = Ticket()
        asyncio.get_running_loop().call_soon(ticket.resolve, 3)
        return await ticket, await ticket

    assert asyncio.run(wait()) == (3, 3)


def test_an_awaited_failure_is_raised() -> None:
    async def wait() -> int:
        ticket: Ticket[int] = Ticket()
        asyncio.get_running_loop().call_soon(ticket.fail, UnknownGroup(group="g"))
        return await ticket

    with pytest.raises(UnknownGroup):
        asyncio.run(wait())


def _told_to_the_loop() -> list[BaseException]:
    """What the running loop is told of from now on."""
    told: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
    return told


def _breaks(_: object) -> NoReturn:
    raise ZeroDivisionError


@pytest.mark.parametrize("fails", [False, True])
def test_a_callback_that_breaks_stops_neither_the_others_nor_who_resolves(fails: bool) -> None:
    async def story() -> None:
        told = _told_to_the_loop()
        ticket: Ticket[int] = Ticket()
        heard: list[bool] = []
        ticket.add_callback(_breaks)
        ticket.add_callback(lambda t: heard.append(t.done))
        if fails:
            ticket.fail(TimedOut(doing="waiting", timeout_ms=5))
        else:
            ticket.resolve(1)
        assert heard == [True]
        assert [type(error) for error in told] == [ZeroDivisionError]

    asyncio.run(story())


def test_what_follows_hears_a_fault_of_ours_and_so_does_the_loop() -> None:
    async def story() -> None:
        told = _told_to_the_loop()
        ticket: Ticket[int] = Ticket()
        following: Ticket[int] = ticket.then(_breaks)
        ticket.resolve(1)
        assert isinstance(following.error, ZeroDivisionError)
        assert told == [following.error]

    asyncio.run(story())


def test_both_are_awaited_unless_the_first_is_done_already() -> None:
    first, second = Ticket[int](), Ticket[int]()
    assert both(None, second) is second
    heard: list[str] = []
    both(first, second).add_callback(lambda _: heard.append("both"))
    second.fail(UnknownGroup(group="g"))
    assert heard == []
    first.resolve(1)
    assert heard == ["both"]
    assert both(first, second) is second

"""Answers that wait a little longer than they have to, and those that do not wait any longer."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from onelog.ticket import Ticket

T = TypeVar("T")


def after(ticket: Ticket[T], wait_ms: int) -> Ticket[T]:
    """The same, so long after it was resolved. A failure does not wait."""
    waited: Ticket[T] = Ticket()

    def begin(done: Ticket[T]) -> None:
        if done.error is not None:
            waited.fail(done.error)
        else:
            asyncio.get_running_loop().call_later(wait_ms / 1000, waited.resolve, done.result())

    ticket.add_callback(begin)
    return waited


def behind_news(ticket: Ticket[T]) -> Ticket[T]:
    """The same, two turns later: in the first of them watches are woken, in the second they are asked."""
    waited: Ticket[T] = Ticket()
    soon = asyncio.get_running_loop().call_soon

    def begin(done: Ticket[T]) -> None:
        soon(soon, _hand_over, done, waited)

    ticket.add_callback(begin)
    return waited


def within(ticket: Ticket[T], timeout_ms: int, refusal: Callable[[], Exception]) -> Ticket[T]:
    """The same, or a refusal if it is not done by then. What was ordered happens all the same."""
    first: Ticket[T] = Ticket()

    def give_up() -> None:
        first.fail(refusal())

    timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, give_up)

    def arrive(done: Ticket[T]) -> None:
        timer.cancel()
        if not first.done:
            _hand_over(done, first)

    ticket.add_callback(arrive)
    return first


def _hand_over(done: Ticket[T], waited: Ticket[T]) -> None:
    if done.error is not None:
        waited.fail(done.error)
    else:
        waited.resolve(done.result())

"""Waiting a little longer, and no longer."""

import asyncio

import pytest

from onelog.errors import InvalidRequest, UnknownTopic
from onelog.protocols.fluvio.handlers.patience import after, behind_news, within
from onelog.ticket import Ticket
from tests.support.virtual_clock import run, turns, virtual_clock


def test_an_answer_waits_behind_what_it_answers() -> None:
    async def story() -> None:
        ticket: Ticket[int] = Ticket()
        waited = after(ticket, 20)
        ticket.resolve(7)
        await virtual_clock().advance(19)
        assert not waited.done
        await virtual_clock().advance(1)
        assert waited.result() == 7

    run(story())


def test_a_failure_does_not_wait() -> None:
    async def story() -> None:
        failed = after(Ticket[int].refused(UnknownTopic(topic="x")), 20)
        assert isinstance(failed.error, UnknownTopic)

    run(story())


def test_after_its_time_a_refusal_is_the_answer_and_what_comes_later_is_dropped() -> None:
    async def story() -> None:
        ticket: Ticket[int] = Ticket()
        first = within(ticket, 50, lambda: InvalidRequest("too late"))
        await virtual_clock().advance(49)
        assert not first.done
        await virtual_clock().advance(1)
        assert isinstance(first.error, InvalidRequest)
        ticket.resolve(7)
        with pytest.raises(InvalidRequest):
            first.result()

    run(story())


def test_in_time_it_is_the_same() -> None:
    async def story() -> None:
        resolved, failed = Ticket[int](), Ticket[int]()
        first, second = [within(t, 50, lambda: InvalidRequest("too late")) for t in (resolved, failed)]
        resolved.resolve(7)
        failed.fail(UnknownTopic(topic="x"))
        await virtual_clock().advance(60)
        assert first.result() == 7
        assert isinstance(second.error, UnknownTopic)

    run(story())


def test_what_others_do_in_the_next_turn_is_done_before_the_answer() -> None:
    async def story() -> None:
        loop, said = asyncio.get_running_loop(), list[str]()
        ticket: Ticket[int] = Ticket()
        behind_news(ticket).add_callback(lambda done: said.append(f"answer {done.result()}"))
        loop.call_soon(lambda: loop.call_soon(said.append, "news"))
        ticket.resolve(7)
        await turns()
        assert said == ["news", "answer 7"]
        failed = behind_news(Ticket[int].refused(UnknownTopic(topic="x")))
        await turns()
        assert isinstance(failed.error, UnknownTopic)

    run(story())

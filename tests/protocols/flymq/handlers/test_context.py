"""How answers of one connection wait for each other."""

from pathlib import Path

import pytest

from onelog.errors import InvalidRequest, UnknownTopic
from onelog.protocols.contract import Later, Reply, Session
from onelog.protocols.flymq.errors import Error
from onelog.protocols.flymq.handlers.context import Context
from onelog.ticket import Ticket
from tests.support.flymq_peer import ADDRESS, Peer, peer_of_a_broker
from tests.support.flymq_wire import create


def context(peer: Peer) -> Context:
    return Context(peer.broker, Session("flymq", "flymq", "peer", {"flymq": ADDRESS}))


async def test_an_answer_that_is_there_is_given_at_once(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        outcome = context(peer).later(Ticket.resolved(3), lambda found: found + 1)
        assert outcome == Reply(4)
        assert context(peer).behind_appends(lambda: 5) == Reply(5)


async def test_what_looks_waits_for_the_appends_before_it_whatever_became_of_them(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        each = context(peer)
        append: Ticket[None] = Ticket()
        each.appending(append)
        looked: list[int] = []
        outcome = each.behind_appends(lambda: looked.append(1))
        assert isinstance(outcome, Later)
        assert outcome.awaitable is append
        assert not outcome.hold
        assert outcome.answer is not None
        append.fail(InvalidRequest("no"))
        outcome.answer(append)
        assert looked == [1]
        assert isinstance(each.behind_appends(lambda: 5), Reply)


async def test_a_slow_append_is_waited_for_though_a_later_one_is_done(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        each, slow, quick = context(peer), Ticket[None](), Ticket[None]()
        each.appending(slow)
        each.appending(quick)
        quick.resolve(None)
        assert each.has_appends()
        assert isinstance(each.behind_appends(lambda: 5), Later)
        slow.resolve(None)
        assert not each.has_appends()


async def test_what_changes_something_begins_behind_them_and_holds_what_follows(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        each = context(peer)
        append: Ticket[None] = Ticket()
        each.appending(append)
        begun: list[Ticket[int]] = []

        def start() -> Ticket[int]:
            begun.append(Ticket())
            return begun[0]

        outcome = each.in_turn(start, lambda found: found + 1)
        assert isinstance(outcome, Later)
        assert outcome.hold
        assert not begun
        append.resolve(None)
        begun[0].resolve(3)
        assert isinstance(outcome.awaitable, Ticket)
        assert outcome.answer is not None
        assert outcome.answer(outcome.awaitable) == 4


async def test_what_cannot_begin_is_refused_in_its_turn(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        each = context(peer)
        append: Ticket[None] = Ticket()
        each.appending(append)

        def start() -> Ticket[int]:
            raise InvalidRequest("cannot begin")

        outcome = each.in_turn(start, lambda found: found)
        append.resolve(None)
        assert isinstance(outcome, Later)
        assert isinstance(outcome.awaitable, Ticket)
        assert outcome.answer is not None
        refused = outcome.answer(outcome.awaitable)
        assert isinstance(refused, Error)
        assert refused.text == "cannot begin"


async def test_a_topic_is_found_by_the_name_that_flymq_sees(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(create("a/b", 1))
        assert context(peer).topic("a/b").name == "a.-2Fb"
        with pytest.raises(UnknownTopic):
            context(peer).topic("a.-2Fb")

"""The order on one connection, whichever forms its requests have."""

from pathlib import Path

import pytest

from onelog.errors import InvalidName, InvalidPartitions, InvalidRequest, OnelogError
from onelog.metrics import REFUSALS
from onelog.protocols.contract import Later, Reply
from onelog.protocols.rustlog.handlers.context import Context, made
from onelog.ticket import Ticket
from tests.support.open_broker import open_broker
from tests.support.rustlog_peer import LOGS, peer_of_a_broker


def refuse(error: OnelogError) -> object:
    return error


async def test_what_looks_waits_for_the_appends_before_it(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        context = Context(peer.broker)
        assert isinstance(context.behind_appends(lambda: "seen", refuse), Reply)
        ticket = context.append("logs", 0, [b"a"], records_max=1)
        waiting = context.behind_appends(
            lambda: peer.broker.describe_partition(LOGS, 0).high_watermark, refuse
        )
        assert isinstance(waiting, Later)
        await ticket
        assert await peer.heard_value(waiting) == 1


async def test_what_looks_waits_for_a_slow_append_though_a_later_one_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        context, appends = Context(peer.broker), [Ticket[None](), Ticket[None]()]
        monkeypatch.setattr(peer.broker, "produce", lambda batches, rules: [appends[batches[0].partition]])
        for partition in (0, 1):
            context.append("logs", partition, [b"a"], records_max=1)
        appends[1].resolve(None)
        looked: list[int] = []
        for look in (context.behind_appends, context.behind_everything):
            waiting = look(lambda: looked.append(1), refuse)
            assert isinstance(waiting, Later)
            assert isinstance(waiting.awaitable, Ticket)
            assert not waiting.awaitable.done
        appends[0].resolve(None)
        assert isinstance(context.behind_appends(lambda: "seen", refuse), Reply)


async def test_a_refusal_behind_an_append_is_an_answer(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        context = Context(peer.broker)
        context.append("logs", 0, [b"a"], records_max=1)
        error = InvalidRequest("no")

        def look() -> object:
            raise error

        assert await peer.heard_value(context.behind_appends(look, refuse)) is error
        assert await peer.heard_value(context.behind_everything(look, refuse)) is error


async def test_a_closed_connection_waits_for_nothing(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        context = Context(peer.broker)
        ticket = context.append("logs", 0, [b"a"], records_max=1)
        context.closed()
        assert isinstance(context.behind_appends(lambda: "seen", refuse), Reply)
        await ticket


async def test_what_cannot_be_is_refused_before_the_broker_is_asked(tmp_path: Path) -> None:
    async with open_broker(tmp_path) as broker:
        context = Context(broker)
        with pytest.raises(InvalidRequest, match="2 records in one Produce; at most 1"):
            context.append("logs", 0, [b"a", b"b"], records_max=1)
        with pytest.raises(InvalidName):
            context.create_topic("a.b", 1)
        with pytest.raises(InvalidPartitions):
            context.create_topic("a", 0)


async def test_a_topic_that_was_not_made_is_a_refusal(tmp_path: Path) -> None:
    async with open_broker(tmp_path) as broker:
        context = Context(broker)
        [topic] = await context.create_topic("a", 1)
        assert made(topic).name == "a"
        [again] = await context.create_topic("a", 1)
        with pytest.raises(OnelogError):
            made(again)


async def test_refusals_are_counted(tmp_path: Path) -> None:
    async with open_broker(tmp_path) as broker:
        Context(broker).refused(InvalidRequest("no"))
        assert broker.metrics.value(REFUSALS, "rustlog", "invalid_request") == 1


async def test_an_answer_that_is_there_already_costs_no_wait(tmp_path: Path) -> None:
    async with open_broker(tmp_path) as broker:
        outcome = Context(broker).later(Ticket.resolved(5), lambda value: value + 1, refuse)
        assert outcome == Reply(6)

from typing import Any

import pytest

from onelog.broker.broker import OffsetAt
from onelog.errors import UnknownTopic
from onelog.protocols.contract import Later, Reply
from onelog.protocols.tank.handlers import context as subject
from onelog.protocols.tank.handlers.context import Context, later
from onelog.protocols.tank.settings import TankSettings
from onelog.ticket import Ticket
from tests.support.tank_peer import TankHouse, TankPeer


@pytest.fixture
def context(peer: TankPeer) -> Context:
    return Context(peer.house.broker, peer.session, TankSettings())


def test_a_name_that_is_no_text_is_an_unknown_topic(context: Context) -> None:
    with pytest.raises(UnknownTopic):
        context.topic(b"\xff\x00")


def test_an_answer_that_is_there_costs_no_wait() -> None:
    done: Ticket[int] = Ticket.resolved(3)
    assert later(done, lambda ticket: ticket.result() + 1) == Reply(4)
    pending: Ticket[int] = Ticket()
    outcome = later(pending, lambda ticket: ticket.result(), hold=True)
    assert isinstance(outcome, Later)
    assert outcome.hold


def test_what_was_appended_is_awaited_however_it_ends(context: Context) -> None:
    first: Ticket[None] = Ticket()
    second: Ticket[None] = Ticket()
    context.appending(Ticket.resolved(None))
    context.appending(first)
    context.appending(second)
    both = context.appended()
    second.fail(UnknownTopic("t"))
    assert [context.is_appending, both.done] == [True, False]
    first.resolve(None)
    assert [context.is_appending, both.done] == [False, True]


def test_the_first_number_is_looked_for_once_and_again_when_the_log_begins_later(
    house: TankHouse, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.make()
    peer = house.tank()
    peer.produce(b"a", b"b", b"c")
    looked: list[object] = []
    list_offset = house.broker.list_offset

    def look(*args: Any, **options: Any) -> OffsetAt:
        looked.append(args)
        return list_offset(*args, **options)

    monkeypatch.setattr(house.broker, "list_offset", look)
    topic = context.topic(b"orders")
    for _ in range(3):
        assert context.first_sequence(topic, 0, house.broker.describe_partition("orders", 0)) == 1
    assert len(looked) == 1
    house.delete_below(2)
    assert context.first_sequence(topic, 0, house.broker.describe_partition("orders", 0)) == 3
    assert len(looked) == 2


def test_what_is_remembered_has_a_bound(
    house: TankHouse, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "_FIRSTS_KEPT", 2)
    house.make("orders", 5)
    peer = house.tank()
    for partition in range(5):
        peer.produce(b"a", partition=partition)
        info = house.broker.describe_partition("orders", partition)
        assert context.first_sequence(context.topic(b"orders"), partition, info) == 1
        assert len(context._firsts) <= 2

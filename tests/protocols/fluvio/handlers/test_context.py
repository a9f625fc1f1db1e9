"""What handlers share: refusals are counted, and clients are told where the records are."""

from collections import Counter

from onelog.errors import UnknownTopic
from onelog.metrics import LOSSES, REFUSALS
from onelog.model import Address
from onelog.protocols.contract import Later, Reply, Session
from onelog.protocols.fluvio.errors import FluvioRefusal
from onelog.protocols.fluvio.handlers.context import Context
from onelog.protocols.fluvio.messages.error import Code
from onelog.ticket import Ticket
from tests.support.fluvio_peer import ADVERTISED, FluvioHouse


def context(house: FluvioHouse, advertised: dict[str, Address]) -> Context:
    return Context(house.broker, Session("fluvio", "fluvio-sc", "test", advertised))


def test_a_refusal_is_counted_by_its_reason(house: FluvioHouse) -> None:
    made = context(house, ADVERTISED)
    assert made.refuse(UnknownTopic(topic="x")) is Code.TOPIC_NOT_FOUND
    assert made.refuse(FluvioRefusal(Code.COMPRESSION_ERROR, "gzip only")) is Code.COMPRESSION_ERROR
    assert house.metrics.value(REFUSALS, "fluvio", "unknown_topic") == 1
    assert house.metrics.value(REFUSALS, "fluvio", "compression_error") == 1


def test_what_cannot_be_said_is_counted(house: FluvioHouse) -> None:
    context(house, ADVERTISED).lost(Counter(headers=3, nothing=0))
    assert house.metrics.value(LOSSES, "fluvio", "headers") == 3


def test_the_units_address_is_that_of_its_listener_or_none(house: FluvioHouse) -> None:
    assert context(house, ADVERTISED).unit_address == Address("127.0.0.1", 9010)
    assert context(house, {"fluvio-sc": Address("127.0.0.1", 9003)}).unit_address is None


def test_what_looks_waits_for_every_append_before_it(house: FluvioHouse) -> None:
    made, slow, quick = context(house, ADVERTISED), Ticket[None](), Ticket[None]()
    made.appending(slow)
    made.appending(quick)
    quick.resolve(None)
    waiting = made.behind_appends(lambda: 5)
    assert isinstance(waiting, Later)
    assert isinstance(waiting.awaitable, Ticket)
    assert not waiting.awaitable.done
    slow.resolve(None)
    assert made.behind_appends(lambda: 5) == Reply(5)

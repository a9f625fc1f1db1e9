"""Open streams: whose turn it is, and what an ended connection leaves of them."""

import gc
import weakref
from typing import Any

from onelog.server.streams import Streams
from tests.support.toy_dialect import ToyStream


def opened(*names: str) -> tuple[Streams, list[ToyStream], list[None]]:
    heard: list[None] = []
    streams = Streams(lambda: heard.append(None))
    toys = [ToyStream(name) for name in names]
    for tag, toy in enumerate(toys):
        streams.open(tag, toy)
    return streams, toys, heard


def all_of(streams: Streams) -> list[tuple[Any, Any]]:
    found = []
    while (pushed := streams.next()) is not None:
        found.append(pushed)
    return found


def test_streams_take_turns_message_by_message() -> None:
    streams, (a, b), _ = opened("a", "b")
    a.say("1", "2", "3")
    b.say("1")
    assert all_of(streams) == [(0, "a 1"), (1, "b 1"), (0, "a 2"), (0, "a 3")]
    assert not streams.is_ready


def test_waking_again_before_its_turn_is_one_turn() -> None:
    streams, (a,), heard = opened("a")
    a.say("1")
    a.say("2")
    assert len(heard) == 1
    assert all_of(streams) == [(0, "a 1"), (0, "a 2")]
    a.say("3")
    assert len(heard) == 2


def test_a_message_is_made_when_it_is_asked_for_and_not_before() -> None:
    streams, (a,), _ = opened("a")
    a.say("1", "2")
    assert a.taken == 0
    streams.next()
    assert (a.taken, list(a.waiting)) == (1, ["2"])


def test_a_stream_that_is_over_is_forgotten_behind_its_last_message() -> None:
    streams, (a,), _ = opened("a")
    a.finish("last")
    assert len(streams) == 1
    assert all_of(streams) == [(0, "a last")]
    assert len(streams) == 0
    a.say("too late")
    assert not streams.is_ready


def test_the_end_of_the_connection_closes_every_stream_and_none_is_heard_after_it() -> None:
    streams, (a, b), _ = opened("a", "b")
    a.say("1")
    streams.close()
    assert a.is_closed
    assert b.is_closed
    b.say("2")
    assert streams.next() is None


class Owner:
    """Has streams, and is told by them, as a pump is."""

    def __init__(self) -> None:
        self.streams = Streams(self.told)

    def told(self) -> None:
        """There is something to send."""


def test_an_owner_whose_streams_are_closed_is_gone_without_the_collector() -> None:
    owner = Owner()
    alive = weakref.ref(owner)
    owner.streams.close()
    gc.disable()
    try:
        del owner
        assert alive() is None
    finally:
        gc.enable()

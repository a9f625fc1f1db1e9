"""Watches of one feed: what each is told, and what a thousand of them cost."""

from typing import Any

from onelog.binary.message import codec
from onelog.protocols.fluvio.messages.objects import Computed, Label, TopicObject, TopicSpec
from onelog.protocols.fluvio.messages.watch import WATCHED, Change, ChangeKind, WatchResponse
from onelog.protocols.fluvio.streams import JOURNAL_OBJECTS_MAX, Feed, StillStream, WatchStream

SPEC = TopicSpec(replicas=Computed(partition_count=1, replication_factor=1))


def topic(name: str) -> TopicObject:
    return TopicObject(name=name, spec=SPEC)


class Told:
    """A watch, and whether it woke."""

    def __init__(self, feed: Feed, version: int = 19) -> None:
        self.stream = WatchStream(feed, version)
        self.version = version
        self.woken = 0
        self.stream.opened(self._wake)

    def _wake(self) -> None:
        self.woken += 1

    def frames(self) -> list[tuple[int, list[str], list[str]]]:
        """epoch, names that changed, names of all"""
        found = []
        while (frame := self.stream.next()) is not None:
            response, _ = WATCHED.decode(memoryview(frame), 0, self.version)
            changed = [each.object.name for each in response.changes]
            found.append((response.epoch, changed, [each.name for each in response.all]))
        return found


class World:
    """What there is, and how often somebody wanted all of it."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.asked = 0
        self.feed = Feed(Label.TOPIC, self._everything)

    def _everything(self) -> list[Any]:
        self.asked += 1
        return [topic(name) for name in self.names]

    def add(self, name: str) -> None:
        self.names.append(name)
        self.feed.add([Change(ChangeKind.UPDATE, topic(name))])


def test_a_watch_begins_with_everything_and_goes_on_with_changes() -> None:
    world = World()
    world.add("a")
    told = Told(world.feed)
    assert told.woken == 1
    assert told.frames() == [(1, [], ["a"])]
    world.add("b")
    world.add("c")
    assert told.woken == 3
    assert told.frames() == [(2, ["b"], []), (3, ["c"], [])]
    assert told.frames() == []


def test_what_changes_before_the_first_frame_is_in_it() -> None:
    world = World()
    told = Told(world.feed)
    world.add("a")
    assert told.frames() == [(1, [], ["a"])]


def test_two_watches_of_one_kind_are_told_the_same() -> None:
    world = World()
    first, second = Told(world.feed), Told(world.feed)
    assert first.frames() == second.frames() == [(0, [], [])]
    world.add("a")
    assert first.frames() == second.frames() == [(1, ["a"], [])]


def test_who_is_too_far_behind_is_told_everything_anew() -> None:
    world = World()
    slow, quick = Told(world.feed), Told(world.feed)
    slow.frames()
    for number in range(JOURNAL_OBJECTS_MAX + 10):
        world.add(f"t{number}")
        quick.frames()
    assert slow.frames() == [(JOURNAL_OBJECTS_MAX + 10, [], world.names)]
    world.add("last")
    assert slow.frames() == quick.frames()


def test_one_change_that_is_larger_than_the_journal_is_told_still() -> None:
    world = World()
    told = Told(world.feed)
    told.frames()
    many = [Change(ChangeKind.DELETE, topic(f"t{n}")) for n in range(JOURNAL_OBJECTS_MAX + 1)]
    world.feed.add(many)
    [(_, changed, everything)] = told.frames()
    assert (len(changed), everything) == (JOURNAL_OBJECTS_MAX + 1, [])


def test_a_change_is_encoded_once_for_all_who_watch_in_one_version() -> None:
    world = World()
    streams = [Told(world.feed, version).stream for version in (19, 19, 12)]
    for stream in streams:
        stream.next()
    world.add("a")
    first, second, older = [stream.next() for stream in streams]
    assert first is second
    assert older is not None
    assert older != first


def test_where_nothing_else_changes_everything_is_encoded_once_for_all_who_come() -> None:
    world = World()
    whole = Feed(Label.TOPIC, world._everything, is_whole=True)
    assert [Told(feed).frames() for feed in (whole, whole, world.feed, world.feed)] == [[(0, [], [])]] * 4
    assert world.asked == 3
    world.names.append("a")
    whole.add([Change(ChangeKind.UPDATE, topic("a"))])
    assert Told(whole).frames() == [(1, [], ["a"])]


def test_nobody_who_watches_costs_nothing() -> None:
    world = World()
    told = Told(world.feed)
    told.frames()
    world.add("a")
    told.stream.closed()
    told.stream.closed()
    assert not world.feed.is_watched
    world.add("b")
    assert told.woken == 2
    again = Told(world.feed)
    assert again.frames() == [(2, [], ["a", "b"])]


def test_what_never_changes_is_told_once() -> None:
    response = WatchResponse(Label.SMART_MODULE, 0)
    stream, woken = StillStream(response), []
    stream.opened(lambda: woken.append(1))
    assert woken == [1]
    assert stream.next() is response
    assert stream.next() is None
    assert not stream.is_over


def test_a_frame_is_as_large_as_what_it_says() -> None:
    one = codec(TopicObject, 19).encode_bytes(topic("a"))
    empty = b"".join(WATCHED.encode(WatchResponse(Label.TOPIC, 1), 19))
    full = b"".join(WATCHED.encode(WatchResponse(Label.TOPIC, 1, all=[topic("a")]), 19))
    assert len(full) == len(empty) + len(one)

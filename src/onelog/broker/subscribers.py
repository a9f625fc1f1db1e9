"""Who reads for which group without being its member: counted, and forgotten when it is gone.

A subscriber holds nothing: no partition is its own, and it may commit what it likes. It is
here so that people see who reads. In memory only; a restart begins with nobody.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from onelog.broker.topics.served import Served
from onelog.errors import InvalidRequest, UnknownTopicId
from onelog.model import TopicId, TopicName

# Of one subscriber: names come from peers, and stay for as long as they do.
SUBSCRIPTIONS_MAX = 1000


class Subscriber:
    """One reader, by the name of its connection. Two of one name are two."""

    __slots__ = ("name", "places")

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: set[tuple[str, TopicId]] = set()


class Subscribers:
    """All of them, by group and topic. Lives in the loop's thread."""

    def __init__(self, *, served: Served) -> None:
        self._served = served
        self._by_group: dict[str, dict[TopicId, list[Subscriber]]] = {}

    def add(self, subscriber: Subscriber, group: str, topic: str) -> None:
        """It reads this topic for this group."""
        place = (group, self._served.topic(topic).id)
        if place in subscriber.places:
            return
        if len(subscriber.places) == SUBSCRIPTIONS_MAX:
            raise InvalidRequest(
                f"{subscriber.name}: {SUBSCRIPTIONS_MAX} subscriptions; one connection may not have more"
            )
        subscriber.places.add(place)
        self._by_group.setdefault(group, {}).setdefault(place[1], []).append(subscriber)

    def remove(self, subscriber: Subscriber) -> None:
        """It is gone."""
        for group, topic_id in subscriber.places:
            there = self._by_group[group][topic_id]
            there.remove(subscriber)
            if not there:
                self._drop(group, topic_id)
        subscriber.places.clear()

    def forget(self, group: str, topic: str) -> None:
        """Nobody counts as a reader of this topic for this group, until it subscribes again."""
        topic_id = self._served.topic(topic).id
        if topic_id in self._by_group.get(group, {}):
            for subscriber in self._drop(group, topic_id):
                subscriber.places.discard((group, topic_id))

    def of(self, group: str) -> Mapping[TopicName, Sequence[str]]:
        """The topics that are read for this group, and the names of who reads them."""
        found = {}
        for topic_id, subscribers in self._by_group.get(group, {}).items():
            with suppress(UnknownTopicId):
                found[self._served.topic_by_id(topic_id).name] = [s.name for s in subscribers]
        return found

    def groups(self) -> list[str]:
        """Every group for which somebody reads, by name."""
        return sorted(self._by_group)

    def _drop(self, group: str, topic_id: TopicId) -> list[Subscriber]:
        dropped = self._by_group[group].pop(topic_id)
        if not self._by_group[group]:
            del self._by_group[group]
        return dropped

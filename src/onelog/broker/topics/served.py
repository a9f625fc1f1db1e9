"""The topics that are served: their rows are durable and their logs are open.

To everybody outside a topic exists while it is here, and looks as it does here. What was
decided and is not durable yet is seen by the deciding parts only.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onelog.broker.partition import Partition
from onelog.broker.values import Topic, TopicChange
from onelog.errors import UnknownPartition, UnknownTopic, UnknownTopicId
from onelog.model import TopicId


@dataclass
class ServedTopic:
    """One topic and its partitions, in the order of their numbers. turn: records placed in turns."""

    topic: Topic
    partitions: list[Partition]
    turn: int = 0


class Served:
    """All served topics. Owned by the topics' service; everybody else reads."""

    def __init__(self) -> None:
        self._by_name: dict[str, ServedTopic] = {}
        self._by_id: dict[TopicId, ServedTopic] = {}
        self._observers: list[Callable[[TopicChange], None]] = []

    def observe(self, observer: Callable[[TopicChange], None]) -> None:
        """Tell it of every change from now on, in their order, in the turn after each."""
        self._observers.append(observer)

    def unobserve(self, observer: Callable[[TopicChange], None]) -> None:
        """No more."""
        self._observers.remove(observer)

    def topics(self) -> list[Topic]:
        """All of them, by name."""
        return [self._by_name[name].topic for name in sorted(self._by_name)]

    def topic(self, name: str) -> Topic:
        """The topic of that name, or UnknownTopic."""
        return self.find(name).topic

    def topic_by_id(self, id: TopicId) -> Topic:
        """The topic of that id, or UnknownTopicId."""
        found = self._by_id.get(id)
        if found is None:
            raise UnknownTopicId(topic_id=str(id))
        return found.topic

    def find(self, name: str) -> ServedTopic:
        """The topic with its partitions, or UnknownTopic."""
        found = self._by_name.get(name)
        if found is None:
            raise UnknownTopic(topic=name)
        return found

    def partition(self, name: str, index: int) -> Partition:
        """One partition, open or closed; or UnknownTopic, UnknownPartition."""
        partitions = self.find(name).partitions
        if not 0 <= index < len(partitions):
            raise UnknownPartition(topic=name, partition=index, partition_count=len(partitions))
        return partitions[index]

    def partitions(self) -> Iterator[tuple[Topic, Partition]]:
        """Every partition of every topic."""
        for served in self._by_name.values():
            for partition in served.partitions:
                yield served.topic, partition

    def publish(self, served: ServedTopic) -> None:
        """From now on it exists, or looks like this."""
        before = self._by_id.get(served.topic.id)
        self._by_name[served.topic.name] = served
        self._by_id[served.topic.id] = served
        self._tell(TopicChange(None if before is None else before.topic, served.topic))

    def withdraw(self, topic: Topic) -> list[Partition]:
        """From now on it does not exist; its partitions are the caller's to close."""
        served = self._by_id.pop(topic.id, None)
        if served is None:
            return []  # its logs could not be made
        del self._by_name[served.topic.name]
        self._tell(TopicChange(served.topic, None))
        return served.partitions

    def _tell(self, change: TopicChange) -> None:
        # By the loop, which reports one that fails: no topic fails with whoever watches it.
        for observer in self._observers:
            asyncio.get_running_loop().call_soon(observer, change)

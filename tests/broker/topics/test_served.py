"""What is served is what there is, to everybody outside."""

from dataclasses import replace
from uuid import UUID

import pytest

from onelog.broker.topics.served import Served, ServedTopic
from onelog.broker.values import Topic, TopicChange
from onelog.errors import UnknownPartition, UnknownTopic, UnknownTopicId
from onelog.model import TopicName
from tests.support.virtual_clock import run, turns


def _topic(name: str, number: int) -> Topic:
    return Topic(TopicName(name), UUID(int=number), 0)


def test_topics_are_listed_by_name_and_found_by_name_and_id() -> None:
    served = Served()
    b, a = _topic("b", 2), _topic("a", 1)
    for topic in (b, a):
        served.publish(ServedTopic(topic, []))
    assert served.topics() == [a, b]
    assert served.topic("a") == served.topic_by_id(UUID(int=1)) == a


def test_what_is_not_served_is_unknown() -> None:
    served = Served()
    topic = _topic("a", 1)
    served.publish(ServedTopic(topic, []))
    with pytest.raises(UnknownPartition):
        served.partition("a", 0)
    with pytest.raises(UnknownPartition):
        served.partition("a", -1)
    assert served.withdraw(topic) == []
    with pytest.raises(UnknownTopic):
        served.topic("a")
    with pytest.raises(UnknownTopicId):
        served.topic_by_id(topic.id)


def test_withdrawing_what_never_was_served_is_no_harm() -> None:
    assert Served().withdraw(_topic("a", 1)) == []


def test_observers_hear_of_every_change_in_the_turn_after_it() -> None:
    async def story() -> None:
        served, heard = Served(), list[TopicChange]()
        small = _topic("a", 1)
        large = replace(small, partition_count=2)
        served.observe(heard.append)
        served.publish(ServedTopic(small, []))
        assert heard == []
        served.publish(ServedTopic(large, []))
        served.withdraw(small)
        assert served.withdraw(small) == []
        await turns()
        assert heard == [TopicChange(None, small), TopicChange(small, large), TopicChange(large, None)]
        served.unobserve(heard.append)
        served.publish(ServedTopic(small, []))
        await turns()
        assert len(heard) == 3

    run(story())

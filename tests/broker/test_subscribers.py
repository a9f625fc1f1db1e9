"""Who reads for a group without being its member."""

from uuid import UUID

import pytest

from onelog.broker.subscribers import SUBSCRIPTIONS_MAX, Subscriber, Subscribers
from onelog.broker.topics.served import Served, ServedTopic
from onelog.broker.values import Topic
from onelog.errors import InvalidRequest, UnknownTopic
from onelog.model import TopicName

A = Topic(TopicName("a"), UUID(int=1), 1)
B = Topic(TopicName("b"), UUID(int=2), 1)


def some() -> tuple[Served, Subscribers]:
    served = Served()
    for topic in (A, B):
        served.publish(ServedTopic(topic, []))
    return served, Subscribers(served=served)


def test_subscribers_are_told_by_group_and_topic() -> None:
    _, subscribers = some()
    one, two = Subscriber("one"), Subscriber("two")
    subscribers.add(one, "g", "a")
    subscribers.add(two, "g", "a")
    subscribers.add(two, "h", "b")
    assert subscribers.of("g") == {"a": ["one", "two"]}
    assert subscribers.of("h") == {"b": ["two"]}
    assert subscribers.of("nobody's") == {}
    assert subscribers.groups() == ["g", "h"]


def test_who_subscribes_twice_counts_once_and_two_of_one_name_twice() -> None:
    _, subscribers = some()
    one, other = Subscriber("same"), Subscriber("same")
    for each in (one, one, other):
        subscribers.add(each, "g", "a")
    assert subscribers.of("g") == {"a": ["same", "same"]}


def test_who_is_gone_counts_nowhere() -> None:
    _, subscribers = some()
    one, two = Subscriber("one"), Subscriber("two")
    for each in (one, two):
        subscribers.add(each, "g", "a")
    subscribers.add(one, "h", "b")
    subscribers.remove(one)
    subscribers.remove(one)
    assert subscribers.groups() == ["g"]
    assert subscribers.of("g") == {"a": ["two"]}


def test_a_group_that_is_forgotten_in_a_topic_has_no_readers_there() -> None:
    _, subscribers = some()
    one = Subscriber("one")
    subscribers.add(one, "g", "a")
    subscribers.add(one, "g", "b")
    subscribers.forget("g", "a")
    subscribers.forget("h", "a")
    assert subscribers.of("g") == {"b": ["one"]}
    subscribers.add(one, "g", "a")
    subscribers.remove(one)
    assert subscribers.groups() == []


def test_a_topic_that_is_gone_has_no_readers_and_is_not_taken_for_its_successor() -> None:
    served, subscribers = some()
    one = Subscriber("one")
    subscribers.add(one, "g", "a")
    served.withdraw(A)
    assert subscribers.of("g") == {}
    served.publish(ServedTopic(Topic(A.name, UUID(int=3), 1), []))
    assert subscribers.of("g") == {}
    subscribers.remove(one)
    with pytest.raises(UnknownTopic):
        subscribers.add(one, "g", "nothing")


def test_one_subscriber_has_so_many_subscriptions_and_no_more() -> None:
    _, subscribers = some()
    one = Subscriber("one")
    for number in range(SUBSCRIPTIONS_MAX):
        subscribers.add(one, f"g{number}", "a")
    subscribers.add(one, "g0", "a")
    with pytest.raises(InvalidRequest, match="one: 1000 subscriptions"):
        subscribers.add(one, "one more", "a")

from uuid import UUID

import pytest

from onelog import metrics
from onelog.errors import UnknownTopic, UnknownTopicId
from onelog.model import NO_TOPIC_ID
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.context import Context, all_done
from onelog.ticket import Ticket
from tests.support.kafka_peer import ADVERTISED, KafkaHouse, KafkaPeer
from tests.support.kafka_talk import create_topic


def context(peer: KafkaPeer) -> Context:
    return Context(peer.house.broker, peer.session)


def test_all_are_done_when_the_last_one_is_however_they_ended() -> None:
    first, second = Ticket[int](), Ticket[int]()
    together = all_done([first, second, Ticket.resolved(1)])
    second.fail(UnknownTopic(topic="orders"))
    assert not together.done
    first.resolve(1)
    assert (together.done, together.error) == (True, None)


def test_all_of_none_are_done() -> None:
    assert all_done([]).done


def test_a_topic_is_found_by_what_the_request_says(peer: KafkaPeer) -> None:
    topic_id = create_topic(peer, "orders")
    subject = context(peer)
    assert subject.topic("orders", NO_TOPIC_ID).id == subject.topic("", topic_id).id == topic_id
    with pytest.raises(UnknownTopic):
        subject.topic("nowhere", NO_TOPIC_ID)
    for name in ("", None):
        with pytest.raises(UnknownTopicId):
            subject.topic(name, NO_TOPIC_ID)
    with pytest.raises(UnknownTopicId):
        subject.topic("orders", UUID(int=3))


def test_a_refusal_is_counted_by_its_code(peer: KafkaPeer) -> None:
    subject = context(peer)
    assert subject.refuse(UnknownTopic(topic="x")) is Code.UNKNOWN_TOPIC_OR_PARTITION
    assert peer.house.metrics.value(metrics.REFUSALS, "kafka", "UNKNOWN_TOPIC_OR_PARTITION") == 1


def test_the_address_is_that_of_the_listener(house: KafkaHouse) -> None:
    assert [context(house.peer(name)).address for name in ADVERTISED] == list(ADVERTISED.values())

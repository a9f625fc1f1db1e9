"""Bounds of a topic hold for every dialect, and a record that no answer holds leaves no reader stuck."""

import random

import pytest

from tests.conformance.driver import Driver, Kind, Message, Opened, Refusal, Refused, texts
from tests.conformance.drivers import confluent

LARGE_BYTES = 40 << 20
RANDOM = random.Random(4)


@pytest.fixture
def librdkafka(opened: Opened) -> confluent.Confluent:
    """Who may give a topic settings."""
    found = opened(confluent.KIND)
    assert isinstance(found, confluent.Confluent)
    return found


def test_the_topics_own_bound_binds_every_dialect(
    driver: Driver, librdkafka: confluent.Confluent, topic: str
) -> None:
    librdkafka.create_topic(topic, config={"max.message.bytes": "2000"})
    small, large = RANDOM.randbytes(1000), RANDOM.randbytes(3000)
    driver.produce(topic, [Message(small)])
    with pytest.raises(Refused) as refused:
        driver.produce(topic, [Message(large)])
    assert Refusal.TOO_LARGE in refused.value.meanings, refused.value
    driver.produce(topic, [Message(b"after")])
    assert [r.message.value for r in driver.read(topic)] == [small, b"after"]


def test_a_record_that_no_answer_holds_leaves_no_reader_stuck(
    kind: Kind, driver: Driver, librdkafka: confluent.Confluent, topic: str
) -> None:
    has_bound = kind.answer_bytes_max < LARGE_BYTES
    size = (kind.answer_bytes_max if has_bound else 0) + (1 << 20)
    librdkafka.create_topic(topic, config={"max.message.bytes": str(48 << 20)})
    for value in (b"before", bytes(size), b"after"):
        librdkafka.produce(topic, [Message(value)])
    found = texts(driver.read(topic))
    assert found == (["before", "after"] if has_bound else ["before", "\0" * size, "after"])

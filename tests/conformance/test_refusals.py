"""What cannot be granted is refused in the dialect's own words, and the connection goes on."""

import pytest

from tests.conformance.driver import Driver, Feature, Kind, Message, Refusal, Refused, texts
from tests.conformance.drivers.all import PRESENT

CANNOT = [(kind, feature) for kind in PRESENT for feature in kind.never]


def test_reading_an_unknown_topic_is_refused(driver: Driver, topic: str) -> None:
    with pytest.raises(Refused) as refused:
        driver.read(topic)
    assert Refusal.UNKNOWN_TOPIC in refused.value.meanings, refused.value
    assert topic not in driver.topics()
    goes_on(driver, topic)


def test_writing_to_an_unknown_topic_is_refused_or_makes_it(driver: Driver, kind: Kind, topic: str) -> None:
    if Feature.TOPIC_BY_PRODUCING not in kind.never:
        driver.produce(topic, [Message(b"v")])
        assert texts(driver.read(topic)) == ["v"]
        return
    with pytest.raises(Refused) as refused:
        driver.produce(topic, [Message(b"v")])
    assert Refusal.UNKNOWN_TOPIC in refused.value.meanings, refused.value
    goes_on(driver, topic)


def test_an_unknown_partition_is_refused(driver: Driver, topic: str) -> None:
    driver.create_topic(topic, 2)
    for ask in (
        lambda: driver.read(topic, partition=2),
        lambda: driver.produce(topic, [Message(b"v")], partition=2),
    ):
        with pytest.raises(Refused) as refused:
            ask()
        assert Refusal.UNKNOWN_PARTITION in refused.value.meanings, refused.value
    driver.produce(topic, [Message(b"v")], partition=1)
    assert texts(driver.read(topic, partition=1)) == ["v"]


@pytest.mark.parametrize("beyond", [2, 1000, (1 << 62)])
def test_beyond_the_end_is_nothing_or_a_refusal(driver: Driver, kind: Kind, topic: str, beyond: int) -> None:
    driver.create_topic(topic)
    driver.produce(topic, [Message(b"v")])
    if Feature.REFUSAL_PAST_END in kind.never:
        assert driver.read(topic, beyond) == []
    else:
        with pytest.raises(Refused) as refused:
            driver.read(topic, beyond)
        assert Refusal.OUT_OF_RANGE in refused.value.meanings, refused.value
    assert texts(driver.read(topic)) == ["v"]


@pytest.mark.parametrize(("kind", "feature"), CANNOT, ids=[f"{k.name}-{f.name.lower()}" for k, f in CANNOT])
def test_what_a_dialect_never_has_it_really_has_not(driver: Driver, feature: Feature) -> None:
    driver.prove_never(feature)


def goes_on(driver: Driver, topic: str) -> None:
    """The same driver is still served."""
    driver.create_topic(f"{topic}-2")
    driver.produce(f"{topic}-2", [Message(b"v")])
    assert texts(driver.read(f"{topic}-2")) == ["v"]

"""Positions of groups are one thing: who has them sees what the others committed."""

import pytest

from tests.conformance.driver import Driver, Feature, Kind, Message, Opened
from tests.conformance.drivers.all import PRESENT

WITH_POSITIONS = [kind for kind in PRESENT if Feature.POSITIONS not in kind.never]


@pytest.fixture(params=WITH_POSITIONS, ids=[kind.name for kind in WITH_POSITIONS])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


def test_a_committed_position_is_seen_by_every_dialect(driver: Driver, opened: Opened, topic: str) -> None:
    driver.create_topic(topic)
    driver.produce(topic, [Message(b"v")] * 5)
    driver.commit(f"group-of-{topic}", topic, 3)
    seen = {k.name: opened(k).position(f"group-of-{topic}", topic) for k in WITH_POSITIONS}
    assert seen == {k.name: 3 for k in WITH_POSITIONS}


def test_a_position_may_go_back_and_stand_beyond_the_end(driver: Driver, kind: Kind, topic: str) -> None:
    driver.create_topic(topic)
    driver.produce(topic, [Message(b"v")] * 5)
    anywhere = () if Feature.POSITION_ANYWHERE in kind.never else (1000, 0)
    for offset in (4, 1, 5, *anywhere):
        driver.commit(f"group-of-{topic}", topic, offset)
        assert driver.position(f"group-of-{topic}", topic) == offset


def test_groups_are_apart(driver: Driver, topic: str) -> None:
    driver.create_topic(topic)
    driver.produce(topic, [Message(b"v")] * 7)
    driver.commit(f"one-{topic}", topic, 7)
    assert driver.position(f"other-{topic}", topic) is None
    assert driver.position(f"one-{topic}", topic) == 7

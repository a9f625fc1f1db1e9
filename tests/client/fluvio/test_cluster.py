from collections.abc import Iterator

import pytest

from onelog.client.fluvio.cluster import Cluster
from onelog.client.fluvio.errors import FluvioError
from onelog.client.retry import Retrier, RetryPolicy
from onelog.model import Address
from onelog.protocols.fluvio.messages.objects import Label
from tests.support.fake_fluvio import FakeFluvio

RETRIER = Retrier(RetryPolicy(timeout_s=5.0))


@pytest.fixture
def fake() -> Iterator[FakeFluvio]:
    with FakeFluvio(partitions=["orders-0", "orders-eu-0", "orders-eu-1"]) as fake:
        yield fake


def cluster_of(fake: FakeFluvio, *before: Address) -> Cluster:
    return Cluster([*before, Address("127.0.0.1", fake.controller.port)], retrier=RETRIER)


def test_each_partition_has_the_address_of_its_unit(fake: FakeFluvio) -> None:
    cluster = cluster_of(fake)
    unit = Address("127.0.0.1", fake.unit.port)
    names = [("orders", 0), ("orders-eu", 0), ("orders-eu", 1), ("consumer-offset", 0)]
    assert cluster.leaders(RETRIER.deadline()) == dict.fromkeys(names, unit)
    cluster.close()


def test_leaders_are_looked_up_once_until_they_are_forgotten(fake: FakeFluvio) -> None:
    cluster = cluster_of(fake)
    cluster.leader("orders", 0, RETRIER.deadline())
    asked = len(fake.controller.frames)
    cluster.leader("orders-eu", 1, RETRIER.deadline())
    assert len(fake.controller.frames) == asked
    cluster.forget()
    cluster.leader("orders", 0, RETRIER.deadline())
    assert len(fake.controller.frames) > asked
    cluster.close()


def test_what_nobody_has_is_told(fake: FakeFluvio) -> None:
    cluster = cluster_of(fake)
    with pytest.raises(FluvioError, match="orders/7: the topic has 1 partition, counted from 0"):
        cluster.leader("orders", 7, RETRIER.deadline())
    with pytest.raises(FluvioError, match=r"TOPIC_NOT_FOUND .* looking for nope/0") as found:
        cluster.leader("nope", 0, RETRIER.deadline())
    assert found.value.is_unknown_place
    cluster.close()


def test_a_controller_that_is_not_there_gives_way_to_the_next(fake: FakeFluvio) -> None:
    cluster = cluster_of(fake, Address("127.0.0.1", 1))
    assert [each.name for each in cluster.listed(Label.UNIT, "listing", RETRIER.deadline())] == ["main"]
    cluster.close()

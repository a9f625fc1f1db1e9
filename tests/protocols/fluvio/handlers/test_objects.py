"""Topics, partitions and the unit, as they are."""

from onelog.model import Address
from onelog.protocols.fluvio.handlers.objects import (
    all_partitions,
    all_topics,
    custom_unit_object,
    gone_partitions,
    partition_objects,
    topic_object,
    unit_object,
)
from onelog.protocols.fluvio.messages.objects import PartitionResolution, ReplicaStatus, TopicResolution
from onelog.protocols.fluvio.messages.units import UnitResolution, UnitType
from onelog.protocols.fluvio.options import UNIT_ID
from tests.support.brokers import batch
from tests.support.fluvio_peer import FluvioHouse


def test_fluvios_own_topic_is_first_and_the_others_follow_by_name(house: FluvioHouse) -> None:
    for name in ("b", "a", "Kafka_s.own"):
        house.make(name)
    assert [t.name for t in all_topics(house.broker)] == ["consumer-offset", "Kafka_s.own", "a", "b"]
    assert [p.name for p in all_partitions(house.broker)] == [
        "consumer-offset-0",
        "Kafka_s.own-0",
        "a-0",
        "b-0",
    ]


def test_a_topic_says_where_its_partitions_are(house: FluvioHouse) -> None:
    house.make("orders", 2)
    found = topic_object(house.broker.topic("orders"))
    assert found.status.resolution == TopicResolution.PROVISIONED
    assert [(p.partition, p.replicas) for p in found.status.replica_map] == [(0, [UNIT_ID]), (1, [UNIT_ID])]


def test_a_partition_has_the_marks_of_its_log(house: FluvioHouse) -> None:
    house.make("orders", 2)
    house.append(batch("a", "b", "c"), partition=1)
    house.delete_below(1, partition=1)
    empty, full = partition_objects(house.broker, house.broker.topic("orders"))
    assert empty.status.leader == ReplicaStatus(unit=UNIT_ID)
    assert full.name == "orders-1"
    assert full.status.leader == ReplicaStatus(unit=UNIT_ID, high_watermark=3, log_end=3)
    assert full.status.base_offset == 1
    info = house.broker.describe_partition("orders", 1)
    assert full.status.size == info.size_bytes > 0
    assert full.status.resolution == PartitionResolution.ONLINE


def test_marks_are_true_after_a_restart(house: FluvioHouse) -> None:
    house.make("orders")
    house.append(batch("a", "b"))
    house.restart()
    [found] = partition_objects(house.broker, house.broker.topic("orders"))
    assert found.status.leader == ReplicaStatus(unit=UNIT_ID, high_watermark=2, log_end=2)


def test_a_partition_that_is_closed_is_offline(house: FluvioHouse) -> None:
    house.make("orders")
    house.close_partition("orders", 0)
    [found] = partition_objects(house.broker, house.broker.topic("orders"))
    assert found.status.resolution == PartitionResolution.OFFLINE
    assert (found.status.size, found.status.leader.unit) == (-1, -1)


def test_partitions_that_are_gone_have_their_names(house: FluvioHouse) -> None:
    house.make("orders", 2)
    assert [p.name for p in gone_partitions(house.broker.topic("orders"))] == ["orders-0", "orders-1"]


def test_the_unit_is_at_its_listeners_address() -> None:
    unit, custom = unit_object(Address("broker.example", 19010)), custom_unit_object(Address("::1", 9))
    assert (unit.name, unit.spec.id, unit.spec.type) == ("custom-spu-5001", UNIT_ID, UnitType.CUSTOM)
    assert unit.resolution == UnitResolution.ONLINE
    assert (unit.spec.public.port, unit.spec.public.ingress[0].hostname) == (19010, "broker.example")
    assert (custom.spec.public.port, custom.spec.public.ingress[0].hostname) == (9, "::1")


def test_without_its_listener_the_unit_is_offline_and_nowhere() -> None:
    for found in (unit_object(None), custom_unit_object(None)):
        assert found.resolution == UnitResolution.OFFLINE
        assert (found.spec.public.port, found.spec.public.ingress) == (0, [])

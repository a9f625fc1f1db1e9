"""What there is, as Fluvio's clients are told: every topic, its partitions, and the one unit.

The topic consumer-offset is Fluvio's alone and has no log: clients look for the partition in
which a cluster keeps their positions, and wait a minute for topics where there is none.
"""

from typing import Final

from onelog.broker.broker import Broker, PartitionInfo, Topic
from onelog.errors import OnelogError
from onelog.model import Address
from onelog.protocols.fluvio.errors import FluvioRefusal
from onelog.protocols.fluvio.messages.error import Code
from onelog.protocols.fluvio.messages.objects import (
    Computed,
    PartitionObject,
    PartitionResolution,
    PartitionSpec,
    PartitionStatus,
    Placement,
    ReplicaStatus,
    SegmentCleanup,
    Storage,
    TopicObject,
    TopicResolution,
    TopicSpec,
    TopicStatus,
)
from onelog.protocols.fluvio.messages.units import (
    CustomUnitObject,
    CustomUnitSpec,
    Ingress,
    PublicEndpoint,
    UnitEndpoint,
    UnitObject,
    UnitResolution,
    UnitSpec,
    UnitType,
)
from onelog.protocols.fluvio.options import UNIT_ID, spec_of

SYSTEM_TOPIC: Final = "consumer-offset"
UNIT_NAME: Final = f"custom-spu-{UNIT_ID}"
NO_UNIT: Final = -1
NOWHERE: Final = -1
SIZE_UNKNOWN: Final = -1

# What Fluvio's own cluster says of it.
_SYSTEM_SPEC: Final = TopicSpec(
    replicas=Computed(partition_count=1, replication_factor=1),
    cleanup=SegmentCleanup(retention_s=604_800),
    storage=Storage(segment_bytes=512_000_000, partition_bytes_max=2_048_000_000),
    is_system=True,
)
_EMPTY: Final = PartitionInfo(
    start=0, high_watermark=0, stable=0, offset_next=0, leader_epoch=0, segment_count=1, size_bytes=0
)


def refuse_system_topic(name: str) -> None:
    """There are no records in it: what a cluster keeps there is positions here."""
    if name == SYSTEM_TOPIC:
        raise FluvioRefusal(Code.PERMISSION_DENIED, f"{SYSTEM_TOPIC} has no records here")


def all_topics(broker: Broker) -> list[TopicObject]:
    """Fluvio's own first; the others by name."""
    others = [topic_object(topic) for topic in broker.topics() if topic.name != SYSTEM_TOPIC]
    return [_topic(SYSTEM_TOPIC, _SYSTEM_SPEC, 1), *others]


def all_partitions(broker: Broker) -> list[PartitionObject]:
    """Of all topics."""
    found = [_partition(SYSTEM_TOPIC, 0, _SYSTEM_SPEC, _EMPTY)]
    for topic in broker.topics():
        if topic.name != SYSTEM_TOPIC:
            found += partition_objects(broker, topic)
    return found


def topic_object(topic: Topic) -> TopicObject:
    """One topic. It is here once it is served, so it is provisioned."""
    return _topic(topic.name, spec_of(topic), topic.partition_count)


def partition_objects(broker: Broker, topic: Topic, *, first: int = 0) -> list[PartitionObject]:
    """Its partitions from first on, as they stand now."""
    spec = spec_of(topic)
    indexes = range(first, topic.partition_count)
    return [_partition(topic.name, index, spec, _info(broker, topic, index)) for index in indexes]


def gone_partitions(topic: Topic) -> list[PartitionObject]:
    """Its partitions when they are no more: whoever hears of it looks at the names only."""
    spec = spec_of(topic)
    return [_partition(topic.name, index, spec, None) for index in range(topic.partition_count)]


def unit_object(address: Address | None) -> UnitObject:
    """The unit, at the address of its listener; offline while that is not open."""
    public, private, resolution = _places(address)
    spec = UnitSpec(id=UNIT_ID, type=UnitType.CUSTOM, public=public, private=private)
    return UnitObject(name=UNIT_NAME, spec=spec, resolution=resolution)


def custom_unit_object(address: Address | None) -> CustomUnitObject:
    """The same as one that somebody started by hand."""
    public, private, resolution = _places(address)
    spec = CustomUnitSpec(id=UNIT_ID, public=public, private=private)
    return CustomUnitObject(name=UNIT_NAME, spec=spec, resolution=resolution)


def _places(address: Address | None) -> tuple[PublicEndpoint, UnitEndpoint, UnitResolution]:
    if address is None:
        return PublicEndpoint(), UnitEndpoint(), UnitResolution.OFFLINE
    public = PublicEndpoint(port=address.port, ingress=[Ingress(hostname=address.host)])
    # Units talk to each other at a second port. There is no other, so it is nowhere.
    return public, UnitEndpoint(port=0, host=address.host), UnitResolution.ONLINE


def _topic(name: str, spec: TopicSpec, partition_count: int) -> TopicObject:
    places = [Placement(partition=index, replicas=[UNIT_ID]) for index in range(partition_count)]
    status = TopicStatus(resolution=TopicResolution.PROVISIONED, replica_map=places)
    return TopicObject(name=name, spec=spec, status=status)


def _info(broker: Broker, topic: Topic, index: int) -> PartitionInfo | None:
    try:
        return broker.describe_partition(topic.name, index)
    except OnelogError:
        return None  # it stays closed, or went in this very turn


def _partition(name: str, index: int, spec: TopicSpec, info: PartitionInfo | None) -> PartitionObject:
    return PartitionObject(
        name=f"{name}-{index}",
        spec=PartitionSpec(
            leader=UNIT_ID,
            replicas=[UNIT_ID],
            cleanup=spec.cleanup,
            storage=spec.storage,
            compression=spec.compression,
            is_system=spec.is_system,
        ),
        status=_status(info),
    )


def _status(info: PartitionInfo | None) -> PartitionStatus:
    if info is None:
        nobody = ReplicaStatus(unit=NO_UNIT, high_watermark=NOWHERE, log_end=NOWHERE)
        return PartitionStatus(resolution=PartitionResolution.OFFLINE, leader=nobody, size=SIZE_UNKNOWN)
    return PartitionStatus(
        resolution=PartitionResolution.ONLINE,
        leader=ReplicaStatus(unit=UNIT_ID, high_watermark=info.stable, log_end=info.offset_next),
        size=info.size_bytes,
        base_offset=info.start,
    )

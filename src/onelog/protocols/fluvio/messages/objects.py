"""What a controller tells of: topics and partitions; units are units.py's. Each has a name, what it is to be, and how it is.

A map lies there as a count of 16 bits and its pairs in the order of their keys. The gates are
those of the version of the request; 19 is the newest.
"""

from enum import IntEnum
from typing import Any, Final

from onelog.binary.fields import (
    array16,
    array32,
    boolean,
    choice8,
    i32,
    i64,
    option,
    struct,
    text16,
    u8,
    u32,
    u64,
)
from onelog.binary.message import LENIENT, message
from onelog.protocols.fluvio.messages.units import CustomUnitObject, UnitObject


class Compression(IntEnum):
    """Which codecs a topic takes. These are not the numbers that batches have."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ANY = 4
    ZSTD = 5


class TopicResolution(IntEnum):
    """How far a topic has come."""

    INIT = 0
    PENDING = 1
    INSUFFICIENT_RESOURCES = 2
    INVALID_CONFIG = 3
    PROVISIONED = 4
    DELETING = 5


class PartitionResolution(IntEnum):
    """Whether a partition is served."""

    OFFLINE = 0
    ONLINE = 1
    LEADER_OFFLINE = 2
    ELECTION_LEADER_FOUND = 3
    OUT_OF_STORAGE = 4


# ---- mirrors, which nobody can make here


@message()
class RemoteReplica:
    """A partition that stands elsewhere."""

    home_cluster: str = text16()
    home_unit_key: str = text16()
    home_unit_id: int = i32()
    home_unit_endpoint: str = text16()
    is_target: bool = boolean(since=18)


@message()
class HomeReplica:
    """A partition that stands here for another."""

    remote_cluster: str = text16()
    remote_replica: str = text16()
    is_source: bool = boolean(since=18)


def _replica_mirror() -> Any:
    return choice8({0: RemoteReplica, 1: HomeReplica}, is_closed=True)


@message()
class RemotePartition:
    """One partition of a topic that is mirrored from elsewhere."""

    id: int = i32()
    key: str = text16()
    endpoint: str = text16()


@message()
class RemoteMirror:
    """A topic that is mirrored from elsewhere."""

    home_cluster: str = text16()
    partitions: list[RemotePartition] = array32(RemotePartition)
    is_target: bool = boolean(since=18)


@message()
class HomeMirror:
    """A topic that others are mirrored into."""

    partitions: list[HomeReplica] = array32(HomeReplica)
    is_source: bool = boolean(since=18)


# ---- topics


@message()
class AssignedPartition:
    """One partition, and the units that hold it, the leader first."""

    id: int = u32()
    replicas: list[int] = array32(i32())
    mirror: RemoteReplica | HomeReplica | None = option(_replica_mirror(), since=14)


@message()
class Assigned:
    """Whoever made the topic said where its partitions are."""

    partitions: list[AssignedPartition] = array32(AssignedPartition)


@message()
class Computed:
    """The controller says where they are."""

    partition_count: int = u32()
    replication_factor: int = u32()
    ignores_racks: bool = boolean()


@message()
class Mirrored:
    """It stands elsewhere as well."""

    mirror: RemoteMirror | HomeMirror = choice8({0: RemoteMirror, 1: HomeMirror}, is_closed=True)


@message()
class SegmentCleanup:
    """Whole segments go when they are so old."""

    retention_s: int = u32()


def _cleanup(*, since: int) -> Any:
    return option(choice8({0: SegmentCleanup}, is_closed=True), since=since)


@message()
class Storage:
    """How much a segment and a partition hold."""

    segment_bytes: int | None = option(u32())
    partition_bytes_max: int | None = option(u64())


@message()
class Span:
    """A stretch of time."""

    seconds: int = u64()
    nanoseconds: int = u32()


@message()
class Parameter:
    """One pair of a map of texts."""

    name: str = text16()
    value: str = text16()


@message()
class Deduplication:
    """Records that were seen lately are dropped, by a SmartModule."""

    count: int = u64()
    age: Span | None = option(Span)
    smart_module: str = text16()
    parameters: list[Parameter] = array16(Parameter)


@message(lengths=LENIENT)
class TopicSpec:
    """What a topic is to be."""

    replicas: Assigned | Computed | Mirrored = choice8(
        {0: Assigned, 1: Computed, 2: Mirrored}, is_closed=True
    )
    cleanup: SegmentCleanup | None = _cleanup(since=3)
    storage: Storage | None = option(Storage, since=4)
    compression: int = u8(since=6, default=Compression.ANY.value)
    deduplication: Deduplication | None = option(Deduplication, since=12)
    is_system: bool = boolean(since=13)


@message()
class Placement:
    """Where one partition is."""

    partition: int = u32()
    replicas: list[int] = array32(i32())


@message()
class MirrorPlacement:
    """Where the other one of one partition is."""

    partition: int = u32()
    mirror: RemoteReplica | HomeReplica = _replica_mirror()


@message()
class TopicStatus:
    """How a topic is."""

    resolution: int = u8()
    replica_map: list[Placement] = array16(Placement)
    mirror_map: list[MirrorPlacement] = array16(MirrorPlacement, since=14)
    reason: str = text16()


@message(lengths=LENIENT)
class TopicObject:
    """One topic."""

    name: str = text16()
    spec: TopicSpec = struct(TopicSpec)
    status: TopicStatus = struct(TopicStatus)


# ---- partitions


@message()
class PartitionSpec:
    """What a partition is to be: that of its topic."""

    leader: int = i32()
    replicas: list[int] = array32(i32())
    cleanup: SegmentCleanup | None = _cleanup(since=4)
    storage: Storage | None = option(Storage, since=4)
    compression: int = u8(since=6, default=Compression.ANY.value)
    deduplication: Deduplication | None = option(Deduplication, since=12)
    is_system: bool = boolean(since=13)
    mirror: RemoteReplica | HomeReplica | None = option(_replica_mirror(), since=14)


@message()
class ReplicaStatus:
    """How far one copy has come."""

    unit: int = i32()
    high_watermark: int = i64()
    log_end: int = i64()


@message()
class PartitionStatus:
    """How a partition is. size: -1 where it cannot be told, -2 where nobody counted."""

    resolution: int = u8()
    leader: ReplicaStatus = struct(ReplicaStatus)
    live_replicas: int = u32()
    followers: list[ReplicaStatus] = array32(ReplicaStatus)
    size: int = i64(since=5)
    is_being_deleted: bool = boolean()
    base_offset: int = i64(since=16)


@message(lengths=LENIENT)
class PartitionObject:
    """One partition; its name is that of the topic, a dash and its number."""

    name: str = text16()
    spec: PartitionSpec = struct(PartitionSpec)
    status: PartitionStatus = struct(PartitionStatus)


class Label:
    """What an object is called on the wire. Of those without a class here there are none."""

    TOPIC: Final = "Topic"
    PARTITION: Final = "Partition"
    UNIT: Final = "SPU"
    CUSTOM_UNIT: Final = "CustomSpu"
    UNIT_GROUP: Final = "SpuGroup"
    SMART_MODULE: Final = "SmartModule"
    TABLE_FORMAT: Final = "TableFormat"
    MIRROR: Final = "Mirror"


OBJECTS: Final[dict[str, type[Any]]] = {
    Label.TOPIC: TopicObject,
    Label.PARTITION: PartitionObject,
    Label.UNIT: UnitObject,
    Label.CUSTOM_UNIT: CustomUnitObject,
}
LABELS: Final = (*OBJECTS, Label.UNIT_GROUP, Label.SMART_MODULE, Label.TABLE_FORMAT, Label.MIRROR)

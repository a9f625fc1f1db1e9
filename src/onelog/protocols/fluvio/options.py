"""A topic's options: as Fluvio says them, as the product keeps them, and as Fluvio gets them back.

    cleanup.retention_s            retention.ms
    storage.segment_bytes          segment.bytes
    storage.partition_bytes_max    retention.bytes

What is not said has the product's default. The rest (which codecs Fluvio's producers may use,
whether the topic is a system's, how it was placed) means something to Fluvio alone. All of it
is noted beside the topic as it was given, and is given back so, but for what somebody has
changed since: that is told as it is.
"""

import re
from functools import lru_cache
from typing import Final

from onelog.binary.message import codec
from onelog.broker.broker import NewTopic, Topic
from onelog.errors import InvalidConfig, InvalidName, InvalidPartitions
from onelog.protocols.fluvio.errors import FluvioRefusal, other
from onelog.protocols.fluvio.messages.error import Code, DeduplicationSmartModuleNameInvalid
from onelog.protocols.fluvio.messages.objects import (
    Assigned,
    AssignedPartition,
    Compression,
    Computed,
    Deduplication,
    SegmentCleanup,
    Storage,
    TopicSpec,
)

DIALECT: Final = "fluvio"
# The one unit that there is, numbered as the first of a local cluster.
UNIT_ID: Final = 5001
# The version in which a note is written.
NOTE_VERSION: Final = 19

RETENTION_S_MIN: Final = 10
SEGMENT_BYTES_MIN: Final = 1024
PARTITION_BYTES_MIN: Final = 2048
SEGMENT_BYTES_DEFAULT: Final = 1 << 30
FOR_EVER_S: Final = (1 << 32) - 1

RETENTION: Final = "retention.ms"
SEGMENT: Final = "segment.bytes"
PARTITION: Final = "retention.bytes"

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NAME_RULE: Final = "Fluvio's names are 1 to 63 of a-z 0-9 - and neither begin nor end with -"


def new_topic(name: str, spec: TopicSpec) -> NewTopic:
    """The topic that is asked for, or why it cannot be."""
    if _NAME.fullmatch(name) is None:
        raise InvalidName(name, _NAME_RULE)
    count = _partition_count(name, spec)
    if spec.deduplication is not None:
        raise _no_smart_module(spec.deduplication)
    if spec.compression not in list(Compression):
        raise InvalidConfig(key="compression", value=str(spec.compression), expected="0 to 5")
    note = codec(TopicSpec, NOTE_VERSION).encode_bytes(spec)
    return NewTopic(name, count, settings_of(spec), {DIALECT: note})


def settings_of(spec: TopicSpec) -> dict[str, str]:
    """The product's settings that the options ask for, or InvalidConfig."""
    found: dict[str, str] = {}
    if spec.cleanup is not None:
        _at_least("retention", spec.cleanup.retention_s, RETENTION_S_MIN, "s")
        found[RETENTION] = str(spec.cleanup.retention_s * 1000)
    if spec.storage is None:
        return found
    segment, partition = spec.storage.segment_bytes, spec.storage.partition_bytes_max
    if segment is not None:
        _at_least("segment size", segment, SEGMENT_BYTES_MIN, "bytes")
        found[SEGMENT] = str(segment)
    if partition is not None:
        _at_least("max partition size", partition, PARTITION_BYTES_MIN, "bytes")
        size = SEGMENT_BYTES_DEFAULT if segment is None else segment
        _at_least("max partition size", partition, size, "bytes, the size of a segment")
        found[PARTITION] = str(partition)
    return found


def spec_of(topic: Topic) -> TopicSpec:
    """A topic as Fluvio's clients are told it is to be, whoever made it."""
    note = topic.notes.get(DIALECT)
    if note is None:
        return TopicSpec(
            replicas=_computed(topic, ignores_racks=False),
            cleanup=_cleanup(topic),
            storage=_storage(topic),
        )
    asked = _noted(note)
    meant = settings_of(asked)
    keeps_cleanup = meant.get(RETENTION) == topic.settings.get(RETENTION)
    keeps_storage = all(meant.get(name) == topic.settings.get(name) for name in (SEGMENT, PARTITION))
    return TopicSpec(
        replicas=_replicas(topic, asked),
        cleanup=asked.cleanup if keeps_cleanup else _cleanup(topic),
        storage=asked.storage if keeps_storage else _storage(topic),
        compression=asked.compression,
        is_system=asked.is_system,
    )


def compression_of(topic: Topic) -> Compression:
    """Which codecs Fluvio's producers may use. Other dialects know of no such bound."""
    note = topic.notes.get(DIALECT)
    return Compression.ANY if note is None else Compression(_noted(note).compression)


@lru_cache(maxsize=4096)
def _noted(note: bytes) -> TopicSpec:
    """What was asked for. Shared: nobody changes it."""
    spec, _ = codec(TopicSpec, NOTE_VERSION).decode(note)
    return spec


def _partition_count(name: str, spec: TopicSpec) -> int:
    match spec.replicas:
        case Computed(partition_count=count, replication_factor=factor):
            if not count:
                raise InvalidPartitions(name, found=0, expected="at least 1")
            if not factor:
                raise FluvioRefusal(Code.TOPIC_ERROR, "replication factor 0; expected 1")
            if factor > 1:
                found = f"only 1 out of {factor} units: there is one unit, so a partition has one replica"
                raise FluvioRefusal(Code.TOPIC_NOT_PROVISIONED, found)
            return count
        case Assigned(partitions=partitions):
            return _assigned_count(name, partitions)
    text = f"{name}: a mirror, which is not served"
    raise FluvioRefusal(other(text), text)


def _assigned_count(name: str, partitions: list[AssignedPartition]) -> int:
    if not partitions:
        raise InvalidPartitions(name, found=0, expected="at least 1")
    for index, partition in enumerate(partitions):
        if partition.mirror is not None:
            text = f"{name}: a mirror of partition {index}, which is not served"
            raise FluvioRefusal(other(text), text)
        if partition.id != index:
            raise FluvioRefusal(
                Code.TOPIC_ERROR, f"partition {partition.id}; expected {index}: they are named in order"
            )
        unknown = next((unit for unit in partition.replicas if unit != UNIT_ID), None)
        if unknown is not None:
            raise FluvioRefusal(Code.TOPIC_ERROR, f"invalid spu id: {unknown}; expected {UNIT_ID}")
        if len(partition.replicas) != 1:
            found = f"{len(partition.replicas)} replicas of partition {index}; expected [{UNIT_ID}]"
            raise FluvioRefusal(Code.TOPIC_ERROR, found)
    return len(partitions)


def _no_smart_module(wanted: Deduplication) -> FluvioRefusal:
    if not wanted.smart_module:
        text = "deduplication by a SmartModule without a name"
        return FluvioRefusal(DeduplicationSmartModuleNameInvalid(text=text), text)
    return FluvioRefusal(
        Code.DEDUPLICATION_SMART_MODULE_NOT_LOADED,
        f"deduplication by the SmartModule {wanted.smart_module!r:.80}; there are none here",
    )


def _at_least(what: str, found: int, least: int, unit: str) -> None:
    if found < least:
        raise InvalidConfig(key=what, value=str(found), expected=f"at least {least} {unit}")


def _computed(topic: Topic, *, ignores_racks: bool) -> Computed:
    return Computed(partition_count=topic.partition_count, replication_factor=1, ignores_racks=ignores_racks)


def _replicas(topic: Topic, asked: TopicSpec) -> Assigned | Computed:
    """As they were asked for, and those that came later."""
    if isinstance(asked.replicas, Assigned):
        added = range(len(asked.replicas.partitions), topic.partition_count)
        more = [AssignedPartition(id=index, replicas=[UNIT_ID]) for index in added]
        return Assigned(partitions=[*asked.replicas.partitions, *more])
    assert isinstance(asked.replicas, Computed)
    return _computed(topic, ignores_racks=asked.replicas.ignores_racks)


def _cleanup(topic: Topic) -> SegmentCleanup | None:
    if RETENTION not in topic.settings:
        return None
    retention_ms = int(topic.settings[RETENTION])
    seconds = FOR_EVER_S if retention_ms < 0 else min(-(-retention_ms // 1000), FOR_EVER_S)
    return SegmentCleanup(retention_s=seconds)


def _storage(topic: Topic) -> Storage | None:
    segment, partition = topic.settings.get(SEGMENT), topic.settings.get(PARTITION)
    if partition is not None and int(partition) < 0:
        partition = None
    if segment is None and partition is None:
        return None
    return Storage(
        segment_bytes=None if segment is None else int(segment),
        partition_bytes_max=None if partition is None else int(partition),
    )

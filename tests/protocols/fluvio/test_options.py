"""Options as Fluvio says them, as settings, and back."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.binary.message import codec
from onelog.broker.broker import Topic
from onelog.model import TopicName
from onelog.protocols.fluvio.messages.objects import (
    Assigned,
    AssignedPartition,
    Compression,
    Computed,
    SegmentCleanup,
    Storage,
    TopicSpec,
)
from onelog.protocols.fluvio.options import (
    FOR_EVER_S,
    NOTE_VERSION,
    UNIT_ID,
    compression_of,
    new_topic,
    settings_of,
    spec_of,
)


def made(spec: TopicSpec, count: int | None = None, **changes: str | None) -> Topic:
    """The topic that the spec makes, and what somebody changed of it since."""
    new = new_topic("orders", spec)
    settings = {**settings_of(spec), **{key.replace("_", "."): value for key, value in changes.items()}}
    left = {key: value for key, value in settings.items() if value is not None}
    assert new.partition_count is not None
    return Topic(TopicName("orders"), UUID(int=1), count or new.partition_count, left, new.notes)


sizes = st.integers(1024, (1 << 31) - 1)
storages = st.one_of(
    st.builds(Storage, segment_bytes=st.none() | sizes),
    st.builds(
        lambda size, more: Storage(segment_bytes=size, partition_bytes_max=size + more + 1024), sizes, sizes
    ),
)
placements = st.one_of(
    st.builds(
        lambda count, racks: Computed(partition_count=count, replication_factor=1, ignores_racks=racks),
        st.integers(1, 20),
        st.booleans(),
    ),
    st.integers(1, 20).map(
        lambda count: Assigned(
            partitions=[AssignedPartition(id=index, replicas=[UNIT_ID]) for index in range(count)]
        )
    ),
)
specs = st.builds(
    TopicSpec,
    replicas=placements,
    cleanup=st.none() | st.builds(SegmentCleanup, retention_s=st.integers(10, FOR_EVER_S)),
    storage=st.none() | storages,
    compression=st.sampled_from([each.value for each in Compression]),
    is_system=st.booleans(),
)


@given(specs)
def test_what_was_asked_for_is_given_back_byte_for_byte(spec: TopicSpec) -> None:
    encode = codec(TopicSpec, NOTE_VERSION).encode_bytes
    assert encode(spec_of(made(spec))) == encode(spec)


@pytest.mark.parametrize(
    ("settings", "cleanup", "storage"),
    [
        ({}, None, None),
        ({"retention_ms": "60000"}, SegmentCleanup(retention_s=60), None),
        ({"retention_ms": "60001"}, SegmentCleanup(retention_s=61), None),
        ({"retention_ms": "-1"}, SegmentCleanup(retention_s=FOR_EVER_S), None),
        ({"retention_ms": str(1 << 62)}, SegmentCleanup(retention_s=FOR_EVER_S), None),
        ({"segment_bytes": "4096"}, None, Storage(segment_bytes=4096)),
        ({"retention_bytes": "9"}, None, Storage(partition_bytes_max=9)),
        ({"retention_bytes": "-1"}, None, None),
    ],
)
def test_a_topic_of_another_dialect_is_told_by_its_settings(
    settings: dict[str, str], cleanup: SegmentCleanup | None, storage: Storage | None
) -> None:
    replicas = Computed(partition_count=3, replication_factor=1)
    others = Topic(TopicName("orders"), UUID(int=1), 3, {k.replace("_", "."): v for k, v in settings.items()})
    assert spec_of(others) == TopicSpec(replicas=replicas, cleanup=cleanup, storage=storage)


def test_only_what_was_changed_since_is_told_anew() -> None:
    spec = TopicSpec(
        replicas=Computed(partition_count=2, replication_factor=1, ignores_racks=True),
        cleanup=SegmentCleanup(retention_s=60),
        storage=Storage(segment_bytes=4096, partition_bytes_max=9999),
        compression=Compression.GZIP,
    )
    assert spec_of(made(spec, retention_ms="90000")).cleanup == SegmentCleanup(retention_s=90)
    assert spec_of(made(spec, retention_ms="90000")).storage == spec.storage
    assert spec_of(made(spec, retention_ms=None)).cleanup is None
    assert spec_of(made(spec, segment_bytes="8192")).storage == Storage(
        segment_bytes=8192, partition_bytes_max=9999
    )
    grown = Computed(partition_count=5, replication_factor=1, ignores_racks=True)
    assert spec_of(made(spec, 5)).replicas == grown
    assert spec_of(made(spec, 5)).compression == Compression.GZIP


def test_the_codecs_of_a_topic_are_those_that_it_was_made_with_or_any() -> None:
    replicas = Computed(partition_count=1, replication_factor=1)
    assert (
        compression_of(made(TopicSpec(replicas=replicas, compression=Compression.ZSTD))) is Compression.ZSTD
    )
    assert compression_of(Topic(TopicName("orders"), UUID(int=1), 1)) is Compression.ANY

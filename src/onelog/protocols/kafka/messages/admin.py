"""The broker itself: ApiVersions (18), DescribeLogDirs (35), DescribeCluster (60)."""

from onelog.binary.fields import array32, boolean, i8, i16, i32, i64, text16
from onelog.binary.message import SIGNED, message


@message(flexible=3, lengths=SIGNED)
class ApiVersionsRequest:
    """What does the broker speak?"""

    client_software_name: str = text16(since=3)
    client_software_version: str = text16(since=3)


@message()
class ApiVersion:
    api_key: int = i16()
    min_version: int = i16()
    max_version: int = i16()


@message()
class SupportedFeatureKey:
    name: str = text16()
    min_version: int = i16()
    max_version: int = i16()


@message()
class FinalizedFeatureKey:
    name: str = text16()
    max_version_level: int = i16()
    min_version_level: int = i16()


@message(flexible=3, lengths=SIGNED)
class ApiVersionsResponse:
    """Keys and versions. Its header is always version 0, so that anybody can read it."""

    error_code: int = i16()
    api_keys: list[ApiVersion] = array32(ApiVersion)
    throttle_time_ms: int = i32(since=1)
    supported_features: list[SupportedFeatureKey] = array32(SupportedFeatureKey, tag=0, since=3)
    finalized_features_epoch: int = i64(tag=1, since=3, default=-1)
    finalized_features: list[FinalizedFeatureKey] = array32(FinalizedFeatureKey, tag=2, since=3)
    zk_migration_ready: bool = boolean(tag=3, since=3)


@message()
class DescribableLogDirTopic:
    topic: str = text16()
    partitions: list[int] = array32(i32())


@message(flexible=2, lengths=SIGNED)
class DescribeLogDirsRequest:
    """How much do partitions take, and where? null asks for all of them."""

    topics: list[DescribableLogDirTopic] | None = array32(DescribableLogDirTopic, nullable=True)


@message()
class DescribeLogDirsPartition:
    partition_index: int = i32()
    partition_size: int = i64()
    offset_lag: int = i64()
    is_future_key: bool = boolean()


@message()
class DescribeLogDirsTopic:
    name: str = text16()
    partitions: list[DescribeLogDirsPartition] = array32(DescribeLogDirsPartition)


@message()
class DescribeLogDirsResult:
    error_code: int = i16()
    log_dir: str = text16()
    topics: list[DescribeLogDirsTopic] = array32(DescribeLogDirsTopic)
    total_bytes: int = i64(since=4, default=-1)
    usable_bytes: int = i64(since=4, default=-1)
    is_cordoned: bool = boolean(since=5)


@message(flexible=2, lengths=SIGNED)
class DescribeLogDirsResponse:
    """The directories of logs, with what is in them."""

    throttle_time_ms: int = i32()
    error_code: int = i16(since=3)
    results: list[DescribeLogDirsResult] = array32(DescribeLogDirsResult)


@message(flexible=0, lengths=SIGNED)
class DescribeClusterRequest:
    """Who is there? endpoint_type: 1 brokers, 2 controllers."""

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = i8(since=1, default=1)
    include_fenced_brokers: bool = boolean(since=2)


@message()
class DescribeClusterBroker:
    broker_id: int = i32()
    host: str = text16()
    port: int = i32()
    rack: str | None = text16(nullable=True, default=None)
    is_fenced: bool = boolean(since=2)


@message(flexible=0, lengths=SIGNED)
class DescribeClusterResponse:
    """The cluster and its brokers."""

    throttle_time_ms: int = i32()
    error_code: int = i16()
    error_message: str | None = text16(nullable=True, default=None)
    endpoint_type: int = i8(since=1, default=1)
    cluster_id: str = text16()
    controller_id: int = i32(default=-1)
    brokers: list[DescribeClusterBroker] = array32(DescribeClusterBroker)
    cluster_authorized_operations: int = i32(default=-2147483648)

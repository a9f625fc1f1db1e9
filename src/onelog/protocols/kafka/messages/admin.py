"""What a broker speaks: ApiVersions (18)."""

from onelog.binary.fields import array32, boolean, i16, i32, i64, text16
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

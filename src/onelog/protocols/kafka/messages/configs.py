"""The settings of topics and brokers: DescribeConfigs (32), AlterConfigs (33), IncrementalAlterConfigs (44)."""

from onelog.binary.fields import array32, boolean, i8, i16, i32, text16
from onelog.binary.message import SIGNED, message


@message()
class DescribeConfigsResource:
    resource_type: int = i8()
    resource_name: str = text16()
    configuration_keys: list[str] | None = array32(text16(), nullable=True)


@message(flexible=4, lengths=SIGNED)
class DescribeConfigsRequest:
    """Settings of resources; no keys means all."""

    resources: list[DescribeConfigsResource] = array32(DescribeConfigsResource)
    include_synonyms: bool = boolean()
    include_documentation: bool = boolean(since=3)


@message()
class DescribeConfigsSynonym:
    name: str = text16()
    value: str | None = text16(nullable=True)
    source: int = i8()


@message()
class DescribeConfigsResourceResult:
    name: str = text16()
    value: str | None = text16(nullable=True)
    read_only: bool = boolean()
    config_source: int = i8(default=-1)
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = array32(DescribeConfigsSynonym)
    config_type: int = i8(since=3)
    documentation: str | None = text16(nullable=True, since=3)


@message()
class DescribeConfigsResult:
    error_code: int = i16()
    error_message: str | None = text16(nullable=True)
    resource_type: int = i8()
    resource_name: str = text16()
    configs: list[DescribeConfigsResourceResult] = array32(DescribeConfigsResourceResult)


@message(flexible=4, lengths=SIGNED)
class DescribeConfigsResponse:
    """The settings, with where each value comes from."""

    throttle_time_ms: int = i32()
    results: list[DescribeConfigsResult] = array32(DescribeConfigsResult)


@message()
class WholeConfig:
    name: str = text16()
    value: str | None = text16(nullable=True)


@message()
class WholeResource:
    resource_type: int = i8()
    resource_name: str = text16()
    configs: list[WholeConfig] = array32(WholeConfig)


@message(flexible=2, lengths=SIGNED)
class AlterConfigsRequest:
    """All the settings that resources are to have of their own; what is not named gets its default."""

    resources: list[WholeResource] = array32(WholeResource)
    validate_only: bool = boolean()


@message()
class AlterConfigsResourceResponse:
    error_code: int = i16()
    error_message: str | None = text16(nullable=True)
    resource_type: int = i8()
    resource_name: str = text16()


@message(flexible=2, lengths=SIGNED)
class AlterConfigsResponse:
    """What became of each resource."""

    throttle_time_ms: int = i32()
    responses: list[AlterConfigsResourceResponse] = array32(AlterConfigsResourceResponse)


@message()
class AlterableConfig:
    name: str = text16()
    config_operation: int = i8()
    value: str | None = text16(nullable=True)


@message()
class AlterableResource:
    resource_type: int = i8()
    resource_name: str = text16()
    configs: list[AlterableConfig] = array32(AlterableConfig)


@message(flexible=1, lengths=SIGNED)
class IncrementalAlterConfigsRequest:
    """Operations: 0 set, 1 delete, 2 append, 3 subtract."""

    resources: list[AlterableResource] = array32(AlterableResource)
    validate_only: bool = boolean()


@message(flexible=1, lengths=SIGNED)
class IncrementalAlterConfigsResponse:
    """What became of each resource."""

    throttle_time_ms: int = i32()
    responses: list[AlterConfigsResourceResponse] = array32(AlterConfigsResourceResponse)

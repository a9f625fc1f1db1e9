from pathlib import Path
from typing import Any

import pytest

from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.configs import Operation
from onelog.protocols.kafka.messages.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    WholeConfig,
    WholeResource,
)
from onelog.protocols.kafka.versions import (
    ALTER_CONFIGS,
    APIS,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    PRODUCE,
)
from tests.support.kafka_peer import KafkaHouse, KafkaPeer
from tests.support.kafka_talk import batch, create_topic, list_offset, only, produce_request

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = Operation


def describe(
    peer: KafkaPeer,
    name: str = "orders",
    *,
    kind: int = TOPIC,
    keys: list[str] | None = None,
    version: int = 4,
    **options: Any,
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    body = DescribeConfigsRequest(resources=[resource], **options)
    (result,) = peer.ask(DESCRIBE_CONFIGS, version, body).results
    assert isinstance(result, DescribeConfigsResult)
    return result


def settings_of(result: DescribeConfigsResult) -> dict[str, DescribeConfigsResourceResult]:
    assert result.error_code == 0, result.error_message
    return {config.name: config for config in result.configs}


def alter(
    peer: KafkaPeer,
    *changes: tuple[str, int, str | None],
    name: str = "orders",
    kind: int = TOPIC,
    **options: Any,
) -> AlterConfigsResourceResponse:
    configs = [AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in changes]
    resource = AlterableResource(resource_type=kind, resource_name=name, configs=configs)
    body = IncrementalAlterConfigsRequest(resources=[resource], **options)
    (result,) = peer.ask(INCREMENTAL_ALTER_CONFIGS, 1, body).responses
    assert isinstance(result, AlterConfigsResourceResponse)
    return result


@pytest.mark.parametrize(
    "version", range(APIS[DESCRIBE_CONFIGS].version_min, APIS[DESCRIBE_CONFIGS].version_max + 1)
)
def test_all_settings_of_a_topic_are_described_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders", settings={"retention.ms": "1000"})
    found = settings_of(describe(peer, version=version))
    assert len(found) >= 33
    assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("1000", 1)
    assert (found["cleanup.policy"].value, found["cleanup.policy"].config_source) == ("delete", 5)
    if version >= 3:
        assert (found["retention.ms"].config_type, found["cleanup.policy"].config_type) == (5, 7)


def test_only_the_settings_that_are_named_are_described(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert list(settings_of(describe(peer, keys=["segment.ms", "none.such"]))) == ["segment.ms"]
    assert len(settings_of(describe(peer, keys=[]))) == len(settings_of(describe(peer))) >= 33


def test_synonyms_and_words_are_told_when_asked(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", settings={"max.message.bytes": "1000"})
    plain = settings_of(describe(peer))["max.message.bytes"]
    assert (plain.synonyms, plain.documentation) == ([], None)
    told = settings_of(describe(peer, include_synonyms=True, include_documentation=True))["max.message.bytes"]
    assert [(one.name, one.value, one.source) for one in told.synonyms] == [
        ("max.message.bytes", "1000", 1),
        ("message.max.bytes", "1048588", 5),
    ]
    assert told.documentation


def test_an_unknown_topic_has_no_settings(peer: KafkaPeer) -> None:
    assert describe(peer, "nowhere").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    for name in ("no name", ""):
        assert describe(peer, name).error_code == Code.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["1", ""])
def test_the_broker_tells_what_tools_look_for(peer: KafkaPeer, name: str) -> None:
    found = settings_of(describe(peer, name, kind=BROKER))
    assert found["advertised.listeners"].value == "PLAINTEXT://shared.example:9092"
    assert found["message.max.bytes"].value == "1048588"
    assert found["num.partitions"].value == "1"
    assert found["log.dirs"].value == str(peer.house.path)
    assert (found["log.roll.ms"].value, found["log.roll.ms"].config_source) == ("604800000", 5)
    assert list(found) == sorted(found)
    assert all(config.read_only for config in found.values())


def test_what_the_file_of_the_broker_says_is_what_the_broker_tells(tmp_path: Path) -> None:
    house = KafkaHouse(tmp_path, message_bytes_max=2000, partition_count_default=3, auto_create_topics=False)
    found = settings_of(describe(house.peer(), "1", kind=BROKER))
    told = {name: (found[name].value, found[name].config_source) for name in found}
    assert told["message.max.bytes"] == ("2000", 4)
    assert told["num.partitions"] == ("3", 4)
    assert told["auto.create.topics.enable"] == ("false", 4)
    create_topic(house.peer(), "orders")
    assert settings_of(describe(house.peer()))["max.message.bytes"].value == "2000"
    house.close()


def test_what_a_topic_has_by_default_goes_by_the_name_that_the_broker_has_for_it(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    told = settings_of(describe(peer, include_synonyms=True))
    of_broker = settings_of(describe(peer, "1", kind=BROKER))
    names = {name: [one.name for one in config.synonyms] for name, config in told.items()}
    assert names["segment.ms"] == ["log.roll.ms"]
    assert names["flush.ms"] == ["log.flush.interval.ms"]
    assert names["remote.storage.enable"] == []
    for config in told.values():
        for synonym in config.synonyms:
            assert of_broker[synonym.name].value == synonym.value


def test_a_broker_that_is_not_here_and_other_resources_are_invalid_requests(peer: KafkaPeer) -> None:
    assert describe(peer, "2", kind=BROKER).error_code == Code.INVALID_REQUEST
    assert describe(peer, "1", kind=LOGGER).error_code == Code.INVALID_REQUEST


@pytest.mark.parametrize("version", [0, 1])
def test_a_setting_is_set_and_given_back_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders")
    for operation, value, expected in ((SET, "5000", {"retention.ms": "5000"}), (DELETE, None, {})):
        config = AlterableConfig(name="retention.ms", config_operation=operation, value=value)
        resource = AlterableResource(resource_type=TOPIC, resource_name="orders", configs=[config])
        body = IncrementalAlterConfigsRequest(resources=[resource])
        (result,) = peer.ask(INCREMENTAL_ALTER_CONFIGS, version, body).responses
        assert result.error_code == 0
        assert dict(peer.house.broker.topic("orders").settings) == expected


def test_a_list_is_added_to_and_taken_from(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert alter(peer, ("cleanup.policy", APPEND, "delete")).error_code == 0
    assert settings_of(describe(peer))["cleanup.policy"].value == "delete"
    assert alter(peer, ("cleanup.policy", SUBTRACT, "compact")).error_code == 0
    assert settings_of(describe(peer))["cleanup.policy"].value == "delete"


def test_what_is_no_list_is_neither_added_to_nor_taken_from(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert alter(peer, ("retention.ms", APPEND, "1")).error_code == Code.INVALID_CONFIG


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("no.such.setting", SET, "1"), Code.INVALID_CONFIG),
        (("retention.ms", SET, "soon"), Code.INVALID_CONFIG),
        (("cleanup.policy", SET, "shred"), Code.INVALID_CONFIG),
        (("retention.ms", SET, None), Code.INVALID_REQUEST),
        (("retention.ms", 9, "1"), Code.INVALID_REQUEST),
    ],
)
def test_a_change_that_cannot_be_is_refused_whole(
    peer: KafkaPeer, change: tuple[str, int, str | None], code: Code
) -> None:
    create_topic(peer, "orders")
    result = alter(peer, ("segment.ms", SET, "1000"), change)
    assert result.error_code == code
    assert result.error_message
    assert dict(peer.house.broker.topic("orders").settings) == {}


def test_a_setting_that_stands_there_twice_is_an_invalid_request(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    result = alter(peer, ("retention.ms", SET, "1"), ("retention.ms", DELETE, None))
    assert result.error_code == Code.INVALID_REQUEST


def test_only_to_validate_changes_nothing(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert alter(peer, ("retention.ms", SET, "1000"), validate_only=True).error_code == 0
    assert alter(peer, ("retention.ms", SET, "soon"), validate_only=True).error_code == Code.INVALID_CONFIG
    assert dict(peer.house.broker.topic("orders").settings) == {}


def test_what_has_no_settings_that_change_is_refused(peer: KafkaPeer) -> None:
    change = ("message.max.bytes", SET, "1000")
    assert alter(peer, change, name="1", kind=BROKER).error_code == Code.INVALID_REQUEST
    assert alter(peer, change, name="x", kind=LOGGER).error_code == Code.INVALID_REQUEST
    assert alter(peer, change, name="nowhere").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(peer, change, name="no name").error_code == Code.INVALID_TOPIC_EXCEPTION
    assert alter(peer, change, name="").error_code == Code.INVALID_REQUEST


@pytest.mark.parametrize("key", [ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS])
def test_a_resource_that_stands_there_twice_is_an_invalid_request(peer: KafkaPeer, key: int) -> None:
    create_topic(peer, "orders")
    create_topic(peer, "sales")
    whole = [
        WholeResource(resource_type=TOPIC, resource_name=name, configs=[])
        for name in ("orders", "sales", "orders")
    ]
    changed = [
        AlterableResource(resource_type=TOPIC, resource_name=one.resource_name, configs=[]) for one in whole
    ]
    body: Any = AlterConfigsRequest(resources=whole)
    if key == INCREMENTAL_ALTER_CONFIGS:
        body = IncrementalAlterConfigsRequest(resources=changed)
    answers = peer.ask(key, 1, body).responses
    assert [(one.resource_name, one.error_code) for one in answers] == [
        ("orders", Code.INVALID_REQUEST),
        ("sales", 0),
        ("orders", Code.INVALID_REQUEST),
    ]


def produced(peer: KafkaPeer, size: int) -> int:
    answer = peer.ask(PRODUCE, 9, produce_request(batch(b"x" * size)))
    code: int = only(answer.responses, "partition_responses").error_code
    return code


def test_a_change_is_in_force_when_it_is_answered(peer: KafkaPeer) -> None:
    create_topic(peer, "orders")
    assert produced(peer, 1000) == 0
    assert alter(peer, ("max.message.bytes", SET, "500")).error_code == 0
    assert produced(peer, 1000) == Code.MESSAGE_TOO_LARGE
    assert alter(peer, ("max.message.bytes", DELETE, None)).error_code == 0
    assert produced(peer, 1000) == 0


def test_retention_that_is_altered_lets_records_go(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", settings={"segment.ms": "1000"})
    check_ms = peer.house.settings.retention_check_interval_ms
    for _ in range(2):
        assert produced(peer, 10) == 0
        peer.house.settle()
        peer.house.advance(check_ms)
    describe(peer)  # is told behind every change, those of retention too
    assert list_offset(peer, -2).offset == 0
    assert alter(peer, ("retention.ms", SET, "1000")).error_code == 0
    peer.house.advance(check_ms)
    describe(peer)
    assert list_offset(peer, -2).offset == 1


# AlterConfigs


def replace(
    peer: KafkaPeer,
    settings: dict[str, str | None],
    *,
    name: str = "orders",
    kind: int = TOPIC,
    version: int = 1,
    validate_only: bool = False,
) -> AlterConfigsResourceResponse:
    configs = [WholeConfig(name=key, value=value) for key, value in settings.items()]
    resource = WholeResource(resource_type=kind, resource_name=name, configs=configs)
    body = AlterConfigsRequest(resources=[resource], validate_only=validate_only)
    (result,) = peer.ask(ALTER_CONFIGS, version, body).responses
    assert isinstance(result, AlterConfigsResourceResponse)
    return result


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_not_named_gets_its_default_back_in_every_version(peer: KafkaPeer, version: int) -> None:
    create_topic(peer, "orders", settings={"retention.ms": "1000", "segment.ms": "2000"})
    assert replace(peer, {"segment.ms": "3000"}, version=version).error_code == 0
    assert dict(peer.house.broker.topic("orders").settings) == {"segment.ms": "3000"}
    assert replace(peer, {}, version=version).error_code == 0
    assert dict(peer.house.broker.topic("orders").settings) == {}


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"segment.ms": "1000", "no.such.setting": "1"}, Code.INVALID_CONFIG),
        ({"retention.ms": "soon"}, Code.INVALID_CONFIG),
        ({"segment.ms": "1000", "retention.ms": None}, Code.INVALID_REQUEST),
    ],
)
def test_a_replacement_that_cannot_be_is_refused_whole(
    peer: KafkaPeer, settings: dict[str, str | None], code: Code
) -> None:
    create_topic(peer, "orders", settings={"retention.ms": "1000"})
    result = replace(peer, settings)
    assert result.error_code == code
    assert result.error_message
    assert dict(peer.house.broker.topic("orders").settings) == {"retention.ms": "1000"}


def test_only_to_validate_replaces_nothing(peer: KafkaPeer) -> None:
    create_topic(peer, "orders", settings={"retention.ms": "1000"})
    assert replace(peer, {}, validate_only=True).error_code == 0
    assert replace(peer, {"a": "b"}, validate_only=True).error_code == Code.INVALID_CONFIG
    assert dict(peer.house.broker.topic("orders").settings) == {"retention.ms": "1000"}


def test_what_has_no_settings_that_change_is_not_replaced_either(peer: KafkaPeer) -> None:
    assert replace(peer, {}, name="1", kind=BROKER).error_code == Code.INVALID_REQUEST
    assert replace(peer, {}, name="x", kind=LOGGER).error_code == Code.INVALID_REQUEST
    assert replace(peer, {}, name="nowhere").error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    assert replace(peer, {}, name="no name").error_code == Code.INVALID_TOPIC_EXCEPTION

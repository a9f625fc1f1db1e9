"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: the settings of topics, and some of the broker's."""

from collections import Counter
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TypeVar

from onelog.broker.broker import AlterTopic, ListChange, SettingChange, SettingValue, Topic
from onelog.errors import InvalidRequest, OnelogError
from onelog.model import topic_name
from onelog.protocols.contract import Later, Outcome
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.handlers.broker_configs import broker_configs, broker_name
from onelog.protocols.kafka.handlers.context import Context
from onelog.protocols.kafka.messages.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    WholeResource,
)
from onelog.ticket import Ticket

R = TypeVar("R", WholeResource, AlterableResource)

RESOURCE_TOPIC = 2
RESOURCE_BROKER = 4

SOURCE_TOPIC = 1
SOURCE_BROKER_FILE = 4
SOURCE_DEFAULT = 5

KINDS = {"boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5, "double": 6, "list": 7}


class Operation(IntEnum):
    """What IncrementalAlterConfigs may do to a setting."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def source_of(setting: SettingValue) -> int:
    """Who said what a topic's setting is: the topic, or nobody."""
    return SOURCE_TOPIC if setting.is_own else SOURCE_DEFAULT


def describe_configs(context: Context, request: Request) -> Outcome:
    """All settings, not only those that differ; behind every change of them that is under way."""
    body: DescribeConfigsRequest = request.body

    def answer(_: Ticket[None]) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(results=[_described(context, one, body) for one in body.resources])

    return Later(context.broker.barrier(), answer=answer)


def _described(
    context: Context, resource: DescribeConfigsResource, body: DescribeConfigsRequest
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, configs=[]
    )
    try:
        if resource.resource_type == RESOURCE_TOPIC:
            topic = context.broker.topic(topic_name(resource.resource_name))
            configs = [_of_topic(setting, body) for setting in context.broker.topic_settings(topic)]
        elif resource.resource_type == RESOURCE_BROKER:
            configs = _of_broker(context, resource.resource_name)
        else:
            raise _unknown_kind(resource.resource_type)
    except OnelogError as error:
        result.error_code = context.refuse(error)
        result.error_message = str(error)
        return result
    # None and no names at all ask for everything, as in Kafka.
    wanted = resource.configuration_keys or [config.name for config in configs]
    result.configs = [config for config in configs if config.name in wanted]
    return result


def _of_topic(setting: SettingValue, body: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = []
    if body.include_synonyms:
        if setting.is_own:
            synonyms.append(
                DescribeConfigsSynonym(name=setting.name, value=setting.value, source=SOURCE_TOPIC)
            )
        name = broker_name(setting.name)
        if name is not None:
            synonyms.append(DescribeConfigsSynonym(name=name, value=setting.default, source=SOURCE_DEFAULT))
    return DescribeConfigsResourceResult(
        name=setting.name,
        value=setting.value,
        read_only=False,
        config_source=source_of(setting),
        is_sensitive=False,
        synonyms=synonyms,
        config_type=KINDS[setting.kind],
        documentation=setting.doc if body.include_documentation else None,
    )


def _of_broker(context: Context, name: str) -> list[DescribeConfigsResourceResult]:
    broker = context.broker
    if name not in ("", str(broker.node_id)):
        raise InvalidRequest(f"broker {name!r} is not here; expected {broker.node_id}")
    return [
        DescribeConfigsResourceResult(
            name=config.name,
            value=config.value,
            read_only=True,
            config_source=SOURCE_BROKER_FILE if config.is_set else SOURCE_DEFAULT,
            is_sensitive=False,
            synonyms=[],
            config_type=KINDS[config.kind],
            documentation=None,
        )
        for config in broker_configs(broker, context.address)
    ]


def alter_configs(context: Context, request: Request) -> Outcome:
    """What is not named gets its default back. Each resource is altered whole or not at all."""
    body: AlterConfigsRequest = request.body
    altering = _Altering(context, body.resources, _replacement)
    return altering.outcome(AlterConfigsResponse, validate_only=body.validate_only)


def incremental_alter_configs(context: Context, request: Request) -> Outcome:
    """Only what is named changes. Each resource is altered whole or not at all."""
    body: IncrementalAlterConfigsRequest = request.body
    altering = _Altering(context, body.resources, _alteration)
    return altering.outcome(IncrementalAlterConfigsResponse, validate_only=body.validate_only)


class _Altering:
    """One request on its way: what can be wanted of each resource, beside the answers."""

    def __init__(
        self, context: Context, resources: Sequence[R], wanted_of: Callable[[Context, Topic, R], AlterTopic]
    ) -> None:
        self._context = context
        self._answers: list[AlterConfigsResourceResponse] = []
        self._pending: list[AlterConfigsResourceResponse] = []
        self._wanted: list[AlterTopic] = []
        times = Counter((one.resource_type, one.resource_name) for one in resources)
        for resource in resources:
            kind, name = resource.resource_type, resource.resource_name
            answer = AlterConfigsResourceResponse(resource_type=kind, resource_name=name)
            self._answers.append(answer)
            try:
                if times[kind, name] > 1:
                    raise InvalidRequest(f"resource {name!r} stands there {times[kind, name]} times")
                wanted = wanted_of(context, _altered(context, resource), resource)
            except OnelogError as error:
                _refuse(context, answer, error)
            else:
                self._wanted.append(wanted)
                self._pending.append(answer)

    def outcome(
        self,
        response: type[AlterConfigsResponse | IncrementalAlterConfigsResponse],
        *,
        validate_only: bool,
    ) -> Outcome:
        def fill(
            ticket: Ticket[list[Topic | OnelogError]],
        ) -> AlterConfigsResponse | IncrementalAlterConfigsResponse:
            error = ticket.error
            outcomes = [error] * len(self._pending) if error is not None else ticket.result()
            for answer, outcome in zip(self._pending, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    _refuse(self._context, answer, outcome)
            return response(responses=self._answers)

        changed = self._context.broker.alter_topics(self._wanted, validate_only=validate_only)
        return Later(changed, answer=fill)


def _altered(context: Context, resource: WholeResource | AlterableResource) -> Topic:
    """The topic that is to be altered; nothing else can be."""
    if resource.resource_type == RESOURCE_BROKER:
        raise InvalidRequest("the broker's settings are in its file; they do not change while it runs")
    if resource.resource_type != RESOURCE_TOPIC:
        raise _unknown_kind(resource.resource_type)
    if not resource.resource_name:
        raise InvalidRequest("no topic's name; the defaults of topics are those of the broker's file")
    topic = context.broker.topic(topic_name(resource.resource_name))
    names = [config.name for config in resource.configs]
    if len(set(names)) != len(names):
        raise InvalidRequest(f"{topic.name}: a setting stands there twice")
    return topic


def _replacement(context: Context, topic: Topic, resource: WholeResource) -> AlterTopic:
    for config in resource.configs:
        if config.value is None:
            raise InvalidRequest(f"{config.name}: no value; leave it out, and it gets its default")
    changes = {config.name: config.value for config in resource.configs}
    return AlterTopic(name=topic.name, changes=changes, replaces=True)


def _alteration(_: Context, topic: Topic, resource: AlterableResource) -> AlterTopic:
    changes = {config.name: _change(config) for config in resource.configs}
    return AlterTopic(name=topic.name, changes=changes)


def _change(config: AlterableConfig) -> SettingChange:
    value: str | None = config.value
    match config.config_operation:
        case Operation.DELETE:
            return None
        case Operation.SET if value is not None:
            return value
        case Operation.APPEND if value is not None:
            return ListChange(added=value)
        case Operation.SUBTRACT if value is not None:
            return ListChange(removed=value)
    raise InvalidRequest(f"{config.name}: operation {config.config_operation} with the value {value!r}")


def _unknown_kind(resource_type: int) -> InvalidRequest:
    return InvalidRequest(
        f"resource type {resource_type}; expected {RESOURCE_TOPIC}, a topic, or {RESOURCE_BROKER}, a broker"
    )


def _refuse(context: Context, answer: AlterConfigsResourceResponse, error: BaseException) -> None:
    answer.error_code = Code(context.refuse(error))
    answer.error_message = str(error)

"""Topics: made, found, described, and told to read their settings again."""

import re
from typing import Final

from onelog.broker.broker import NewTopic, Topic
from onelog.errors import InvalidName, InvalidPartitions, OnelogError, UnknownPartition, UnknownTopic
from onelog.protocols.contract import Outcome
from onelog.protocols.tank import config
from onelog.protocols.tank.errors import FETCH_CODES, CreateCode, ReloadCode, create_code
from onelog.protocols.tank.handlers.context import Context, later
from onelog.protocols.tank.messages.topics import (
    NOWHERE,
    CreateTopicRequest,
    CreateTopicResponse,
    DiscoveredTopic,
    DiscoverPartitionsRequest,
    DiscoverPartitionsResponse,
    DiscoverTopicsRequest,
    DiscoverTopicsResponse,
    PartitionSpan,
    ReloadConfigRequest,
    ReloadConfigResponse,
)

# What TANK can say. Topics that others made are listed and read whatever they are called.
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")
_NAME_RULE: Final = "TANK's names are 1 to 64 of a-z A-Z 0-9 - _ and begin and end with none of the last two"


def create(context: Context, request: CreateTopicRequest) -> Outcome:
    """Make a topic; answered when it is durable and takes records. What comes behind it finds it."""

    def answer(error: OnelogError | None) -> CreateTopicResponse:
        if error is not None:
            context.refused(error)
        code = CreateCode.CREATED if error is None else create_code(error)
        return CreateTopicResponse(request_id=request.request_id, name=request.name, code=code)

    try:
        ticket = context.broker.create_topics([_new_topic(request)])
    except OnelogError as error:
        refusal = error
        return later(context.broker.barrier(), lambda _: answer(refusal), hold=True)

    def made() -> OnelogError | None:
        if ticket.error is not None:
            assert isinstance(ticket.error, OnelogError)
            return ticket.error
        [outcome] = ticket.result()
        return outcome if isinstance(outcome, OnelogError) else None

    return later(ticket, lambda _: answer(made()), hold=True)


def _new_topic(request: CreateTopicRequest) -> NewTopic:
    name = request.name.decode("latin-1")
    if _NAME.fullmatch(name) is None:
        raise InvalidName(name, _NAME_RULE)
    if not request.partition_count:
        raise InvalidPartitions(name, found=0, expected="at least 1")
    return NewTopic(name, request.partition_count, config.settings(request.config))


def discover_topics(context: Context, request: DiscoverTopicsRequest) -> Outcome:
    """All topics, also those whose names TANK could not create."""
    found = [DiscoveredTopic(t.name.encode(), t.partition_count) for t in context.broker.topics()]
    return later(context.broker.barrier(), lambda _: DiscoverTopicsResponse(request.request_id, found))


def discover_partitions(context: Context, request: DiscoverPartitionsRequest) -> Outcome:
    """How far the partitions of a topic reach; none where it is unknown."""

    def look() -> DiscoverPartitionsResponse:
        response = DiscoverPartitionsResponse(request.request_id, request.topic)
        try:
            topic = context.topic(request.topic)
        except UnknownTopic as error:
            context.refused(error)
            return response
        partitions = request.partitions or range(topic.partition_count)
        response.spans = [_span(context, topic, partition) for partition in partitions]
        return response

    return context.behind_everything(look)


def _span(context: Context, topic: Topic, partition: int) -> PartitionSpan:
    try:
        info = context.broker.describe_partition(topic.name, partition)
        return PartitionSpan(context.first_sequence(topic, partition, info), info.stable)
    except UnknownPartition:
        return PartitionSpan(NOWHERE, NOWHERE, FETCH_CODES[UnknownPartition.code])
    except OnelogError as error:
        context.refused(error)
        return PartitionSpan(NOWHERE, NOWHERE, FETCH_CODES[error.code])


def reload_config(context: Context, request: ReloadConfigRequest) -> Outcome:
    """Settings act when they are changed, so there is never anything left to read."""

    def look() -> ReloadConfigResponse:
        code = ReloadCode.RELOADED
        try:
            topic = context.topic(request.topic)
            if request.partition >= topic.partition_count:
                code = ReloadCode.UNKNOWN_PARTITION
        except UnknownTopic as error:
            context.refused(error)
            code = ReloadCode.UNKNOWN_TOPIC
        return ReloadConfigResponse(
            request_id=request.request_id, topic=request.topic, partition=request.partition, code=code
        )

    return later(context.broker.barrier(), lambda _: look())

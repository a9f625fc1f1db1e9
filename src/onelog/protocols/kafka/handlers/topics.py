"""CreateTopics, DeleteTopics, CreatePartitions, DeleteRecords: topics made, removed, widened and emptied."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from onelog.broker.broker import NewTopic, Spot, Topic
from onelog.errors import InvalidConfig, InvalidPartitions, InvalidRequest, OnelogError
from onelog.model import NO_TOPIC_ID
from onelog.protocols.contract import Later, Outcome
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.protocols.kafka.handlers.configs import source_of
from onelog.protocols.kafka.handlers.context import Context, all_done
from onelog.protocols.kafka.messages.topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from onelog.ticket import Ticket

DEFAULT = -1
DEFAULTS_SINCE = 4  # CreateTopics: -1 stands for the broker's default
STATES_SINCE = 6  # DeleteTopics: by name or by id
REPLICAS = 1
HIGH_WATERMARK = -1  # DeleteRecords: all that is there


def create_topics(context: Context, request: Request) -> Outcome:
    """Each topic has its own outcome; those that can be made are, in one change."""
    body: CreateTopicsRequest = request.body
    node_id = context.broker.node_id
    times = Counter(topic.name for topic in body.topics)
    answers: list[CreatableTopicResult] = []
    wanted: list[NewTopic] = []
    pending: list[CreatableTopicResult] = []
    for topic in {topic.name: topic for topic in body.topics}.values():
        answer = CreatableTopicResult(
            name=topic.name, topic_id=NO_TOPIC_ID, num_partitions=-1, replication_factor=-1
        )
        answers.append(answer)
        try:
            _check_once(f"topic {topic.name!r}", times[topic.name])
            count = _partition_count(topic, request.version, node_id)
            settings = _settings(topic)
        except (OnelogError, KafkaRefusal) as error:
            _refuse(context, answer, error)
            continue
        wanted.append(NewTopic(name=topic.name, partition_count=count, settings=settings))
        pending.append(answer)

    def fill(ticket: Ticket[list[Topic | OnelogError]]) -> CreateTopicsResponse:
        for answer, outcome in zip(pending, _outcomes(ticket, len(pending)), strict=True):
            if isinstance(outcome, Topic):
                _describe(context, answer, outcome, is_made=not body.validate_only)
            else:
                _refuse(context, answer, outcome)
        return CreateTopicsResponse(topics=answers)

    return Later(context.broker.create_topics(wanted, validate_only=body.validate_only), answer=fill)


def _check_once(what: str, times: int) -> None:
    if times > 1:
        raise InvalidRequest(f"{what} stands there {times} times")


def _partition_count(topic: CreatableTopic, version: int, node_id: int) -> int | None:
    """How many partitions are asked for, None for the default; refuses what one broker cannot give."""
    count, replicas = topic.num_partitions, topic.replication_factor
    if topic.assignments:
        if count != DEFAULT or replicas != DEFAULT:
            raise InvalidRequest(f"{topic.name}: an assignment, and counts beside it")
        return _assigned_count(topic, node_id)
    may_be_default = version >= DEFAULTS_SINCE
    if count == DEFAULT and not may_be_default:
        raise InvalidPartitions(topic=topic.name, found=count, expected="at least 1")
    if replicas != REPLICAS and not (replicas == DEFAULT and may_be_default):
        raise KafkaRefusal(
            Code.INVALID_REPLICATION_FACTOR,
            f"{topic.name}: {replicas} replicas; expected {REPLICAS}, there is one broker",
        )
    return None if count == DEFAULT else count


def _settings(topic: CreatableTopic) -> dict[str, str]:
    settings = {}
    for config in topic.configs:
        if config.value is None:
            expected = "a value; leave it out, and it gets its default"
            raise InvalidConfig(key=config.name, value="null", expected=expected)
        settings[config.name] = config.value
    return settings


def _assigned_count(topic: CreatableTopic, node_id: int) -> int:
    indexes = sorted(one.partition_index for one in topic.assignments)
    if indexes != list(range(len(indexes))):
        found = f"partitions {indexes[:10]}; expected 0, 1, 2 and so on, each once"
        raise KafkaRefusal(Code.INVALID_REPLICA_ASSIGNMENT, f"{topic.name}: {found}")
    _check_brokers(topic.name, [one.broker_ids for one in topic.assignments], node_id)
    return len(indexes)


def _check_brokers(name: str, assignments: Sequence[Sequence[int]], node_id: int) -> None:
    for brokers in assignments:
        if list(brokers) != [node_id]:
            raise KafkaRefusal(
                Code.INVALID_REPLICA_ASSIGNMENT, f"{name}: brokers {list(brokers)[:10]}; expected [{node_id}]"
            )


def _describe(context: Context, answer: CreatableTopicResult, topic: Topic, *, is_made: bool) -> None:
    answer.error_code = Code.NONE
    answer.topic_id = topic.id if is_made else NO_TOPIC_ID
    answer.num_partitions = topic.partition_count
    answer.replication_factor = REPLICAS
    answer.configs = [
        CreatableTopicConfigs(
            name=setting.name,
            value=setting.value,
            read_only=False,
            config_source=source_of(setting),
            is_sensitive=False,
        )
        for setting in context.broker.topic_settings(topic)
    ]


def delete_topics(context: Context, request: Request) -> Outcome:
    """Answered when the topics are gone for good, also after a power cut."""
    body: DeleteTopicsRequest = request.body
    if request.version >= STATES_SINCE:
        asked = body.topics
    else:
        asked = [DeleteTopicState(name=name, topic_id=NO_TOPIC_ID) for name in body.topic_names]
    times = Counter((one.name, one.topic_id) for one in asked)
    answers = [DeletableTopicResult(name=name, topic_id=topic_id) for name, topic_id in times]
    pending: list[DeletableTopicResult] = []
    wanted: list[str | UUID] = []
    for answer in answers:
        name, topic_id = answer.name, answer.topic_id
        try:
            if (name is None) is (topic_id == NO_TOPIC_ID):
                raise InvalidRequest("expected a topic's name or its id, and not both")
            _check_once(f"topic {name or topic_id!s}", times[name, topic_id])
        except InvalidRequest as error:
            _refuse(context, answer, error)
            continue
        wanted.append(topic_id if name is None else name)
        pending.append(answer)

    def fill(ticket: Ticket[list[Topic | OnelogError]]) -> DeleteTopicsResponse:
        for answer, outcome in zip(pending, _outcomes(ticket, len(pending)), strict=True):
            if isinstance(outcome, Topic):
                answer.name, answer.topic_id = outcome.name, outcome.id
            else:
                _refuse(context, answer, outcome)
        return DeleteTopicsResponse(responses=answers)

    return Later(context.broker.delete_topics(wanted), answer=fill)


def create_partitions(context: Context, request: Request) -> Outcome:
    """One result for each topic, whatever became of the others."""
    body: CreatePartitionsRequest = request.body
    times = Counter(topic.name for topic in body.topics)
    topics = list({topic.name: topic for topic in body.topics}.values())
    tickets = [
        _grown(context, topic, times=times[topic.name], validate_only=body.validate_only) for topic in topics
    ]

    def fill(_: Ticket[None]) -> CreatePartitionsResponse:
        results = []
        for topic, ticket in zip(topics, tickets, strict=True):
            result = CreatePartitionsTopicResult(name=topic.name)
            if ticket.error is not None:
                _refuse(context, result, ticket.error)
            results.append(result)
        return CreatePartitionsResponse(results=results)

    return Later(all_done(tickets), answer=fill)


def _grown(
    context: Context, topic: CreatePartitionsTopic, *, times: int, validate_only: bool
) -> Ticket[Topic]:
    try:
        _check_once(f"topic {topic.name!r}", times)
        if topic.assignments is not None:
            added = topic.count - context.broker.topic(topic.name).partition_count
            if added > 0 and len(topic.assignments) != added:
                found = f"{len(topic.assignments)} assignments for {added} new partitions"
                raise KafkaRefusal(Code.INVALID_REPLICA_ASSIGNMENT, f"{topic.name}: {found}")
            assigned = [one.broker_ids for one in topic.assignments]
            _check_brokers(topic.name, assigned, context.broker.node_id)
    except (OnelogError, KafkaRefusal) as error:
        return Ticket.refused(error)
    return context.broker.grow_partitions(topic.name, topic.count, validate_only=validate_only)


def delete_records(context: Context, request: Request) -> Outcome:
    """Each partition has its own outcome; answered when the new starts outlive a power cut."""
    body: DeleteRecordsRequest = request.body
    asked = [(topic.name, part) for topic in body.topics for part in topic.partitions]
    tickets = [
        context.broker.delete_records(
            name, part.partition_index, Spot.LATEST if part.offset == HIGH_WATERMARK else part.offset
        )
        for name, part in asked
    ]

    def fill(_: Ticket[None]) -> DeleteRecordsResponse:
        found = iter(tickets)
        return DeleteRecordsResponse(
            topics=[
                DeleteRecordsTopicResult(
                    name=topic.name,
                    partitions=[
                        _raised(context, part.partition_index, next(found)) for part in topic.partitions
                    ],
                )
                for topic in body.topics
            ]
        )

    return Later(all_done(tickets), answer=fill)


def _raised(context: Context, partition: int, ticket: Ticket[int]) -> DeleteRecordsPartitionResult:
    error = ticket.error
    return DeleteRecordsPartitionResult(
        partition_index=partition,
        low_watermark=-1 if error is not None else ticket.result(),
        error_code=Code.NONE if error is None else context.refuse(error),
    )


def _outcomes(ticket: Ticket[list[Topic | OnelogError]], count: int) -> list[Topic | BaseException]:
    """What became of each, also when all of them failed together."""
    error = ticket.error
    return [error] * count if error is not None else list(ticket.result())


def _refuse(
    context: Context,
    answer: CreatableTopicResult | DeletableTopicResult | CreatePartitionsTopicResult,
    error: BaseException,
) -> None:
    answer.error_code = context.refuse(error)
    answer.error_message = str(error)

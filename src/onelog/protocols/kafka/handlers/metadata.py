"""Metadata: who serves which partitions, and topics that come to be by being asked for."""

from onelog.broker.broker import Topic
from onelog.errors import InvalidRequest, OnelogError, UnknownTopic
from onelog.model import NO_TOPIC_ID, topic_name
from onelog.protocols.contract import Later, Outcome
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.handlers.context import (
    CLUSTER_OPERATIONS,
    NOT_ASKED,
    TOPIC_OPERATIONS,
    Context,
    all_done,
)
from onelog.protocols.kafka.messages.topics import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from onelog.ticket import Ticket

# Two versions can ask by id, and have no way to answer without a name.
BY_ID_SINCE = 12


def metadata(context: Context, request: Request) -> Outcome:
    """What is told is durable: the answer waits for every change that it could have seen."""
    body: MetadataRequest = request.body
    # In version 0 there was no null, so that nothing stood for everything.
    wants_all = body.topics is None or (request.version == 0 and not body.topics)
    topics = [] if body.topics is None or wants_all else body.topics
    asked = [_found(context, one, request) for one in topics]

    def answer(_: Ticket[None]) -> MetadataResponse:
        if wants_all:
            found = [_topic(context, topic, body) for topic in context.broker.topics()]
        else:
            found = [
                _answer(context, one, ticket, request) for one, ticket in zip(topics, asked, strict=True)
            ]
        return _response(context, found, body)

    return Later(all_done([*asked, context.broker.barrier()]), answer=answer)


def _found(context: Context, asked: MetadataRequestTopic, request: Request) -> Ticket[Topic]:
    """The topic, or its making."""
    body: MetadataRequest = request.body
    try:
        if request.version < BY_ID_SINCE and (asked.name is None or asked.topic_id != NO_TOPIC_ID):
            raise InvalidRequest("before version 12 topics are asked for by their names")
        if asked.name is not None:
            topic_name(asked.name)
        return Ticket.resolved(context.topic(asked.name, asked.topic_id))
    except UnknownTopic as error:
        if asked.name is not None and body.allow_auto_topic_creation:
            return context.broker.ensure_topic(asked.name)
        return Ticket.refused(error)
    except OnelogError as error:
        return Ticket.refused(error)


def _answer(
    context: Context, asked: MetadataRequestTopic, ticket: Ticket[Topic], request: Request
) -> MetadataResponseTopic:
    error = ticket.error
    if error is None:
        try:
            return _topic(context, ticket.result(), request.body)
        except OnelogError as gone:  # it was removed while the answer waited
            error = gone
    return MetadataResponseTopic(
        error_code=context.refuse(error),
        name=asked.name if request.version >= BY_ID_SINCE else asked.name or "",
        topic_id=asked.topic_id,
        partitions=[],
        topic_authorized_operations=NOT_ASKED,
    )


def _topic(context: Context, topic: Topic, body: MetadataRequest) -> MetadataResponseTopic:
    node = [context.broker.node_id]
    partitions = [
        MetadataResponsePartition(
            error_code=0,
            partition_index=index,
            leader_id=context.broker.node_id,
            leader_epoch=context.broker.describe_partition(topic.name, index).leader_epoch,
            replica_nodes=node,
            isr_nodes=node,
            offline_replicas=[],
        )
        for index in range(topic.partition_count)
    ]
    return MetadataResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.id,
        is_internal=False,
        partitions=partitions,
        topic_authorized_operations=(
            TOPIC_OPERATIONS if body.include_topic_authorized_operations else NOT_ASKED
        ),
    )


def _response(
    context: Context, topics: list[MetadataResponseTopic], body: MetadataRequest
) -> MetadataResponse:
    address = context.address
    node_id = context.broker.node_id
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node_id, host=address.host, port=address.port, rack=None)],
        cluster_id=context.broker.cluster_id,
        controller_id=node_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if body.include_cluster_authorized_operations else NOT_ASKED
        ),
        error_code=0,
    )

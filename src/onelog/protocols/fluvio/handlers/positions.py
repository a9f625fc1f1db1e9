"""Acknowledgements of streams, and consumers' offsets, which are positions of groups.

A consumer's offset is that of the last record it has done with, a position that of the next one:
so 4 here is 5 to everybody else. A group that stands at 0 has done with nothing, and shows as -1.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from onelog.broker.broker import Commit, Position
from onelog.errors import InvalidRequest, OnelogError, UnknownPartition, UnknownTopic
from onelog.model import OFFSET_MAX, TopicName
from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.errors import FluvioRefusal, other
from onelog.protocols.fluvio.handlers.context import Context, later
from onelog.protocols.fluvio.messages.error import Code
from onelog.protocols.fluvio.messages.positions import (
    ConsumerOffset,
    ConsumerOffsetFilter,
    DeleteConsumerOffsetRequest,
    DeleteConsumerOffsetResponse,
    FetchConsumerOffsetsRequest,
    FetchConsumerOffsetsResponse,
    StreamOffset,
    UpdateConsumerOffsetRequest,
    UpdateConsumerOffsetResponse,
    UpdatedOffset,
    UpdateOffsetsRequest,
    UpdateOffsetsResponse,
)
from onelog.ticket import Ticket

Place = tuple[TopicName, int]

# What a text of Fluvio's can hold.
TEXT_BYTES_MAX: Final = (1 << 15) - 1
_ALL: Final = ConsumerOffsetFilter()


def update_offsets(context: Context, request: Request) -> Outcome:
    """Streams go on from here."""
    body: UpdateOffsetsRequest = request.body
    return Reply(UpdateOffsetsResponse(offsets=[_acknowledged(context, each) for each in body.offsets]))


def _acknowledged(context: Context, said: StreamOffset) -> UpdatedOffset:
    tail = context.tails.find(said.stream_id)
    if tail is None:
        error = FluvioRefusal(Code.FETCH_SESSION_NOT_FOUND, f"no stream {said.stream_id} on this connection")
        return UpdatedOffset(stream_id=said.stream_id, error=context.refuse(error))
    tail.acknowledge(said.offset)
    return UpdatedOffset(stream_id=said.stream_id)


def update_consumer_offset(context: Context, request: Request) -> Outcome:
    """Keep where the consumer of a stream is; answered when that is durable."""
    body: UpdateConsumerOffsetRequest = request.body
    try:
        kept = _kept(context, body)
    except (OnelogError, FluvioRefusal) as error:
        return Reply(UpdateConsumerOffsetResponse(error=context.refuse(error)))

    def said(done: Ticket[list[OnelogError | None]]) -> UpdateConsumerOffsetResponse:
        [refused] = done.result()
        if refused is not None:
            return UpdateConsumerOffsetResponse(error=context.refuse(refused))
        return UpdateConsumerOffsetResponse(offset=body.offset)

    return later(kept, said)


def _kept(context: Context, said: UpdateConsumerOffsetRequest) -> Ticket[list[OnelogError | None]]:
    tail = context.tails.find(said.stream_id)
    if tail is None:
        raise FluvioRefusal(Code.FETCH_SESSION_NOT_FOUND, f"no stream {said.stream_id} on this connection")
    asked = tail.asked
    if asked.consumer_id is None:
        text = "stream without consumer id"
        raise FluvioRefusal(other(text), text)
    if said.offset < -1:
        raise InvalidRequest(
            f"consumer {asked.consumer_id!r:.80}: offset {said.offset}; expected -1 or more."
        )
    commit = Commit(asked.topic.name, asked.partition, said.offset + 1)
    return context.broker.commit_positions(asked.consumer_id, [commit])


def delete_consumer_offset(context: Context, request: Request) -> Outcome:
    """Forget one; what is not there is gone already."""
    body: DeleteConsumerOffsetRequest = request.body
    gone = context.broker.delete_positions(body.consumer_id, [(TopicName(body.topic), body.partition)])

    def said(done: Ticket[list[OnelogError | None]]) -> DeleteConsumerOffsetResponse:
        [refused] = done.result()
        if refused is None or isinstance(refused, UnknownTopic | UnknownPartition):
            return DeleteConsumerOffsetResponse()
        return DeleteConsumerOffsetResponse(error=context.refuse(refused))

    return later(gone, said)


def fetch_consumer_offsets(context: Context, request: Request) -> Outcome:
    """Every offset that is kept, or those that are asked for."""
    body: FetchConsumerOffsetsRequest = request.body
    wanted = body.filter or _ALL
    broker = context.broker
    groups = broker.groups() if wanted.consumer_id is None else [wanted.consumer_id]
    places = None
    if wanted.replica is not None:
        places = [(TopicName(wanted.replica.topic), wanted.replica.partition)]
    found = [
        (group, broker.positions(group, places), broker.position_times(group))
        for group in groups
        if len(group.encode()) <= TEXT_BYTES_MAX
    ]

    # Answers of the catalog come in order: behind this one all of them are there.
    def said(_: object) -> FetchConsumerOffsetsResponse:
        offsets = [each for group, ticket, times in found for each in _offsets(group, ticket.result(), times)]
        return FetchConsumerOffsetsResponse(offsets=offsets)

    return later(broker.barrier(), said)


def stored_offsets(context: Context, consumer_id: str) -> Ticket[dict[Place, int]]:
    """Where a consumer goes on, by topic and partition."""
    return context.broker.positions(consumer_id).then(
        lambda found: {place: min(position.offset, OFFSET_MAX) for place, position in found.items()}
    )


def _offsets(
    group: str, positions: Mapping[Place, Position], times: Mapping[Place, int]
) -> Iterator[ConsumerOffset]:
    for (topic, partition), position in sorted(positions.items()):
        yield ConsumerOffset(
            consumer_id=group,
            topic=topic,
            partition=partition,
            offset=min(position.offset - 1, OFFSET_MAX),
            modified_s=times[TopicName(topic), partition] // 1000,
        )

"""FindCoordinator, OffsetCommit and OffsetFetch: where groups are, and how far they have read."""

from collections.abc import Mapping, Sequence

from onelog.broker.broker import Commit, Membership, Position
from onelog.errors import GroupNotEmpty, InvalidRequest, OnelogError, UnknownGroup
from onelog.model import NO_TOPIC_ID, OFFSET_MAX, TopicName
from onelog.protocols.contract import Later, Outcome, Reply
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.protocols.kafka.handlers.context import TRANSACTIONS_REFUSED, Context, all_done
from onelog.protocols.kafka.messages.groups import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from onelog.ticket import Ticket

KEY_GROUP = 0
KEY_TRANSACTION = 1

COORDINATORS_SINCE = 4  # FindCoordinator: many keys in one request
GROUPS_SINCE = 8  # OffsetFetch: many groups in one request
MEMBER_EPOCHS_SINCE = 9  # OffsetCommit: an unknown group has a code of its own
IDS_SINCE = 10  # OffsetCommit, OffsetFetch: topics by id

Positions = Mapping[tuple[TopicName, int], Position]
NO_POSITION = Position(offset=-1)


def find_coordinator(context: Context, request: Request) -> Outcome:
    """There is one broker, so every group's coordinator is this one."""
    body: FindCoordinatorRequest = request.body
    batched = request.version >= COORDINATORS_SINCE
    found = [
        _coordinator(context, key, body.key_type)
        for key in (body.coordinator_keys if batched else [body.key])
    ]
    if batched:
        return Reply(FindCoordinatorResponse(coordinators=found))
    one = found[0]
    return Reply(
        FindCoordinatorResponse(
            error_code=one.error_code,
            error_message=one.error_message,
            node_id=one.node_id,
            host=one.host,
            port=one.port,
        )
    )


def _coordinator(context: Context, key: str, key_type: int) -> Coordinator:
    if key_type == KEY_GROUP:
        address = context.address
        return Coordinator(
            key=key,
            node_id=context.broker.node_id,
            host=address.host,
            port=address.port,
            error_code=0,
            error_message=None,
        )
    if key_type == KEY_TRANSACTION:
        refusal = KafkaRefusal(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TRANSACTIONS_REFUSED)
    else:
        refusal = KafkaRefusal(Code.INVALID_REQUEST, f"key type {key_type}; expected {KEY_GROUP}, a group")
    code = context.refuse(refusal)
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=str(refusal))


def offset_commit(context: Context, request: Request) -> Outcome:
    """All positions of a request become durable together, or are refused one by one."""
    body: OffsetCommitRequest = request.body
    by = Membership(body.member_id, body.generation_id_or_member_epoch, body.group_instance_id)
    topics: list[OffsetCommitResponseTopic] = []
    commits: list[Commit] = []
    answers: list[OffsetCommitResponsePartition] = []
    for topic in body.topics:
        taken, partitions = _commits(context, topic, body.retention_time_ms)
        topics.append(
            OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
        )
        for commit, partition in zip(taken, partitions, strict=True):
            if commit is not None:
                commits.append(commit)
                answers.append(partition)
    response = OffsetCommitResponse(topics=topics)
    if not commits:
        return Reply(response)

    def answer(ticket: Ticket[Sequence[OnelogError | None]]) -> OffsetCommitResponse:
        verdicts = ticket.result() if ticket.error is None else [ticket.error] * len(answers)
        for partition, verdict in zip(answers, verdicts, strict=True):
            if verdict is not None:
                partition.error_code = context.refuse(_in_kafkas_words(verdict, request.version))
        return response

    return Later(context.broker.commit_positions(body.group_id, commits, by=by), answer=answer)


def _in_kafkas_words(verdict: BaseException, version: int) -> BaseException:
    """Why a whole group is refused is said in words of this request."""
    if isinstance(verdict, GroupNotEmpty):
        return KafkaRefusal(Code.UNKNOWN_MEMBER_ID, str(verdict))
    if isinstance(verdict, UnknownGroup) and version < MEMBER_EPOCHS_SINCE:
        return KafkaRefusal(Code.ILLEGAL_GENERATION, str(verdict))
    return verdict


def _commits(
    context: Context, topic: OffsetCommitRequestTopic, retention_ms: int
) -> tuple[list[Commit | None], list[OffsetCommitResponsePartition]]:
    """What is to be committed of a topic, beside the answers; None where it is refused already."""
    name, refusal = TopicName(topic.name), None
    try:
        name = context.topic(topic.name, topic.topic_id).name
    except OnelogError as error:
        refusal = error
    commits: list[Commit | None] = []
    answers = []
    for part in topic.partitions:
        reason = refusal
        if reason is None and part.committed_offset < 0:
            reason = InvalidRequest(f"{name}/{part.partition_index}: a position of {part.committed_offset}")
        code = Code.NONE if reason is None else context.refuse(reason)
        answers.append(OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code))
        commit = Commit(
            topic=name,
            partition=part.partition_index,
            offset=part.committed_offset,
            leader_epoch=part.committed_leader_epoch,
            note=part.committed_metadata or "",
            keep_ms=retention_ms if retention_ms >= 0 else None,
        )
        commits.append(commit if reason is None else None)
    return commits, answers


def offset_fetch(context: Context, request: Request) -> Outcome:
    """The positions that are known and durable; a partition without one gets -1 and no error."""
    body: OffsetFetchRequest = request.body
    groups = body.groups if request.version >= GROUPS_SINCE else [_only_group(body)]
    asked = [_Asked(context, group, request.version) for group in groups]
    tickets = [one.ticket for one in asked]

    def answer(_: Ticket[None]) -> OffsetFetchResponse:
        groups = [one.answer() for one in asked]
        if request.version >= GROUPS_SINCE:
            return OffsetFetchResponse(groups=groups)
        return OffsetFetchResponse(topics=_old(groups[0].topics), error_code=groups[0].error_code)

    return Later(all_done(tickets), answer=answer)


def _only_group(body: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """The same in the form of many groups."""
    topics = None
    if body.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in body.topics
        ]
    return OffsetFetchRequestGroup(group_id=body.group_id, topics=topics)


class _Asked:
    """One group of an OffsetFetch: what was asked, and the ticket of what is known."""

    def __init__(self, context: Context, group: OffsetFetchRequestGroup, version: int) -> None:
        self._context = context
        self._by_id = version >= IDS_SINCE
        self._group = group
        self._names: list[TopicName | OnelogError] = []
        self.ticket: Ticket[Positions] = self._ask()

    def _ask(self) -> Ticket[Positions]:
        group, broker = self._group, self._context.broker
        if group.topics is None:
            return broker.positions(group.group_id, None)
        partitions: list[tuple[TopicName, int]] = []
        for topic in group.topics:
            name = self._name(topic)
            self._names.append(name)
            if not isinstance(name, OnelogError):
                partitions.extend((name, index) for index in topic.partition_indexes)
        return broker.positions(group.group_id, partitions)

    def _name(self, topic: OffsetFetchRequestTopics) -> TopicName | OnelogError:
        if not self._by_id:
            return TopicName(topic.name)
        try:
            return self._context.topic("", topic.topic_id).name
        except OnelogError as error:
            return error

    def answer(self) -> OffsetFetchResponseGroup:
        error = self.ticket.error
        if error is not None:
            code = self._context.refuse(error)
            return OffsetFetchResponseGroup(group_id=self._group.group_id, topics=[], error_code=code)
        positions = self.ticket.result()
        topics = self._all(positions) if self._group.topics is None else self._some(positions)
        return OffsetFetchResponseGroup(group_id=self._group.group_id, topics=topics, error_code=0)

    def _some(self, positions: Positions) -> list[OffsetFetchResponseTopics]:
        topics = []
        for topic, name in zip(self._group.topics or (), self._names, strict=True):
            if isinstance(name, OnelogError):
                code = self._context.refuse(name)
                partitions = [_partition(index, NO_POSITION, code) for index in topic.partition_indexes]
            else:
                partitions = [
                    _partition(index, positions.get((name, index), NO_POSITION))
                    for index in topic.partition_indexes
                ]
            topic_id = topic.topic_id if self._by_id else NO_TOPIC_ID
            topics.append(
                OffsetFetchResponseTopics(name=topic.name, topic_id=topic_id, partitions=partitions)
            )
        return topics

    def _all(self, positions: Positions) -> list[OffsetFetchResponseTopics]:
        partitions: dict[TopicName, list[OffsetFetchResponsePartitions]] = {}
        for (name, index), position in sorted(positions.items(), key=lambda item: item[0]):
            partitions.setdefault(name, []).append(_partition(index, position))
        topics = []
        for name, parts in partitions.items():
            topic_id = NO_TOPIC_ID
            if self._by_id:
                try:
                    topic_id = self._context.broker.topic(name).id
                except OnelogError:
                    continue  # a position of a topic that is gone cannot be said by id
            topics.append(OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=parts))
        return topics


def _partition(index: int, position: Position, code: Code = Code.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        # Other dialects may commit any 64 bits; these clients have 63.
        committed_offset=min(position.offset, OFFSET_MAX),
        committed_leader_epoch=position.leader_epoch,
        metadata=position.note,
        error_code=code,
    )


def _old(topics: Sequence[OffsetFetchResponseTopics]) -> list[OffsetFetchResponseTopic]:
    """The same in the form of a single group."""
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=part.partition_index,
                    committed_offset=part.committed_offset,
                    committed_leader_epoch=part.committed_leader_epoch,
                    metadata=part.metadata,
                    error_code=part.error_code,
                )
                for part in topic.partitions
            ],
        )
        for topic in topics
    ]

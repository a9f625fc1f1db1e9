"""Produce: one batch for each partition, in the order of the request."""

from collections.abc import Sequence
from typing import Any

from onelog.broker.broker import Append, AppendResult, ProduceRules, Topic
from onelog.errors import InvalidRecord, OnelogError
from onelog.protocols.contract import Later, Outcome, ProtocolError, Reply
from onelog.protocols.kafka import recordset
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.protocols.kafka.handlers.context import TRANSACTIONS_REFUSED, Context, Refused, all_done
from onelog.protocols.kafka.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from onelog.ticket import Ticket

ACKS_NONE = 0
ACKS = (-1, 0, 1)
# Kafka keeps its own state in topics of these names. Ours is elsewhere, but a tool that tries
# to write there has to hear the same.
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
ADMIN_CLIENT_ID = "__admin_client"


def produce(context: Context, request: Request) -> Outcome:
    """The order of all batches is fixed when this returns."""
    return _Produce(context, request).outcome()


class _Produce:
    """One request on its way: its answer is filled as its appends become true."""

    __slots__ = ("_answers", "_appends", "_body", "_context", "_refused", "_request", "_response")

    def __init__(self, context: Context, request: Request) -> None:
        self._context = context
        self._request = request
        self._body: ProduceRequest = request.body
        self._response = ProduceResponse(responses=[])
        self._appends: list[Append] = []
        self._answers: list[PartitionProduceResponse] = []
        self._refused: str | None = None

    def outcome(self) -> Outcome:
        for topic_data in self._body.topic_data:
            self._take_topic(topic_data)
        if self._forbids_transaction():
            return self._finished()
        broker = self._context.broker
        rules = ProduceRules(
            dialect=self._context.session.dialect,
            batch_bytes_max=broker.settings.message_bytes_max,
            kafka_rules=True,
        )
        tickets = broker.produce(self._appends, rules=rules)
        if not tickets:
            return self._finished()
        together: Ticket[Any] = tickets[0] if len(tickets) == 1 else all_done(tickets)
        return Later(together, answer=lambda _: self._answer(tickets))

    def _take_topic(self, data: TopicProduceData) -> None:
        answer = TopicProduceResponse(name=data.name, topic_id=data.topic_id, partition_responses=[])
        self._response.responses.append(answer)
        topic: Topic | None = None
        refusal: Refused | None = None
        try:
            topic = self._topic(data)
        except (OnelogError, KafkaRefusal) as error:
            refusal = error
        for part in data.partition_data:
            partition = PartitionProduceResponse(
                index=part.index, error_code=0, base_offset=-1, log_append_time_ms=-1, log_start_offset=-1
            )
            answer.partition_responses.append(partition)
            if topic is None:
                assert refusal is not None
                self._refuse(partition, refusal)
            else:
                self._take_partition(topic, part, partition)

    def _topic(self, data: TopicProduceData) -> Topic:
        is_admin = self._request.client_id == ADMIN_CLIENT_ID
        if data.name in INTERNAL_TOPICS and not is_admin:
            raise KafkaRefusal(
                Code.INVALID_TOPIC_EXCEPTION, f"{data.name} is kept for Kafka's own use; choose another name"
            )
        topic = self._context.topic(data.name, data.topic_id)
        if self._body.acks not in ACKS:
            raise KafkaRefusal(
                Code.INVALID_REQUIRED_ACKS, f"acks = {self._body.acks}; expected one of {ACKS}"
            )
        return topic

    def _take_partition(
        self, topic: Topic, part: PartitionProduceData, answer: PartitionProduceResponse
    ) -> None:
        try:
            batch = recordset.produced(
                part.records, version=self._request.version, where=f"{topic.name}/{part.index}"
            )
        except (OnelogError, KafkaRefusal) as error:
            self._refuse(answer, error)
            return
        self._appends.append(Append(topic=topic.name, partition=part.index, batches=(batch,)))
        self._answers.append(answer)

    def _forbids_transaction(self) -> bool:
        """Part of a transaction that does not exist: the whole request is refused, nothing appended."""
        if not any(batch.is_transactional for append in self._appends for batch in append.batches):
            return False
        refusal = KafkaRefusal(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TRANSACTIONS_REFUSED)
        for topic in self._response.responses:
            for partition in topic.partition_responses:
                self._refuse(partition, refusal)
        return True

    def _answer(self, tickets: Sequence[Ticket[AppendResult]]) -> ProduceResponse | None:
        for ticket, answer in zip(tickets, self._answers, strict=True):
            error = ticket.error
            if error is not None:
                self._refuse(answer, error)
                continue
            result = ticket.result()
            answer.base_offset = result.first
            answer.log_append_time_ms = result.timestamp_ms
            answer.log_start_offset = result.log_start
        return self._response_or_none()

    def _finished(self) -> Outcome:
        response = self._response_or_none()
        return None if response is None else Reply(response)

    def _response_or_none(self) -> ProduceResponse | None:
        if self._body.acks != ACKS_NONE:
            return self._response
        # A producer that wants no answers learns of a failure by losing its connection.
        if self._refused is not None:
            raise ProtocolError(f"Produce with acks = 0 was refused: {self._refused}")
        return None

    def _refuse(self, answer: PartitionProduceResponse, error: BaseException) -> None:
        answer.error_code = self._context.refuse(error)
        answer.error_message = self._refused = str(error)
        if isinstance(error, InvalidRecord) and error.index is not None:
            answer.record_errors = [
                BatchIndexAndErrorMessage(batch_index=error.index, batch_index_error_message=error.reason)
            ]

"""Produce, with and without numbers: each bundle becomes a batch, in the order of the request."""

from typing import Final

from onelog.broker.broker import Append, AppendResult, Topic
from onelog.errors import OnelogError, UnknownTopic
from onelog.protocols.contract import Outcome
from onelog.protocols.tank.errors import Code, produce_code
from onelog.protocols.tank.handlers.context import Context, later
from onelog.protocols.tank.messages.bundle import MESSAGES_MAX
from onelog.protocols.tank.messages.produce import (
    ProduceEntry,
    ProduceRequest,
    ProduceResponse,
    ProduceTopic,
)
from onelog.protocols.tank.recordset import batch_of
from onelog.ticket import Ticket, all_done

_FOR_THE_WHOLE_TOPIC: Final = frozenset((Code.UNKNOWN_TOPIC, Code.READ_ONLY))


def produce(context: Context, request: ProduceRequest) -> Outcome:
    """The order of all bundles is fixed when this returns."""
    context.session.client_id = request.client_id.decode("latin-1")
    return _Produce(context, request).outcome()


class _Produce:
    """One request on its way: a list of tickets for each of its topics."""

    __slots__ = ("_context", "_messages_left", "_request", "_topics")

    def __init__(self, context: Context, request: ProduceRequest) -> None:
        self._context = context
        self._request = request
        self._messages_left = MESSAGES_MAX
        self._topics: list[list[Ticket[AppendResult]]] = []

    def outcome(self) -> Outcome:
        for topic in self._request.topics:
            self._topics.append(self._appended(topic))
        tickets = [ticket for topic in self._topics for ticket in topic]
        together = tickets[0].then(lambda _: None) if len(tickets) == 1 else all_done(tickets)
        self._context.appending(together)
        return later(together, lambda _: self._response())

    def _appended(self, topic: ProduceTopic) -> list[Ticket[AppendResult]]:
        try:
            known = self._context.topic(topic.name)
        except UnknownTopic as error:
            return [Ticket.refused(error)] if topic.entries else []
        return [self._append(known, entry) for entry in topic.entries]

    def _append(self, topic: Topic, entry: ProduceEntry) -> Ticket[AppendResult]:
        broker = self._context.broker
        try:
            # Numbers are judged by what was appended, also before it is durable: the order is fixed.
            offset_next = broker.describe_partition(topic.name, entry.partition).offset_next
            batch = batch_of(
                entry.bundle,
                base_sequence=entry.base_sequence,
                offset_next=offset_next,
                where=f"{topic.name}/{entry.partition}",
                messages_max=self._messages_left,
            )
        except OnelogError as error:
            return Ticket.refused(error)
        self._messages_left -= batch.record_count
        [ticket] = broker.produce([Append(topic.name, entry.partition, [batch])], rules=self._context.rules)
        return ticket

    def _response(self) -> ProduceResponse:
        codes = bytearray()
        for topic in self._topics:
            found = [self._code(ticket) for ticket in topic]
            whole = next((code for code in found if code in _FOR_THE_WHOLE_TOPIC), None)
            codes += bytes(found if whole is None else (whole,))
        return ProduceResponse(self._request.request_id, bytes(codes))

    def _code(self, ticket: Ticket[AppendResult]) -> Code:
        if ticket.error is None:
            return Code.STORED
        self._context.refused(ticket.error)
        return produce_code(ticket.error, version=self._request.version)

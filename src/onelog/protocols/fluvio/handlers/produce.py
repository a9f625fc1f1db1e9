"""Produce: each entry is recoded and appended, in the order of the request, and answered in that order."""

from collections.abc import Sequence
from typing import Final

from onelog.binary.compression import Codec
from onelog.broker.broker import Append, AppendResult, ProduceRules, Topic
from onelog.errors import ErrorCode, OnelogError, TimedOut, Unsupported
from onelog.model import TopicName
from onelog.protocols.contract import Outcome
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.errors import FluvioRefusal
from onelog.protocols.fluvio.handlers.context import DIALECT, Context, later
from onelog.protocols.fluvio.handlers.objects import refuse_system_topic
from onelog.protocols.fluvio.handlers.patience import within
from onelog.protocols.fluvio.handlers.smartmodules import refuse_smartmodules
from onelog.protocols.fluvio.messages.error import Code, Fault
from onelog.protocols.fluvio.messages.objects import Compression
from onelog.protocols.fluvio.messages.produce import (
    ProducedEntry,
    ProducedTopic,
    ProduceEntry,
    ProduceRequest,
    ProduceResponse,
    produced,
)
from onelog.protocols.fluvio.options import compression_of
from onelog.protocols.fluvio.recordset import Intake
from onelog.records.batch import Batch
from onelog.ticket import Ticket, all_done

# Fluvio's own bound on a batch.
BATCH_BYTES_MAX: Final = 32 << 20
RULES: Final = ProduceRules(dialect=DIALECT, batch_bytes_max=BATCH_BYTES_MAX)
# What is not here may be elsewhere, says Fluvio.
_NOT_HERE: Final = frozenset(
    (ErrorCode.UNKNOWN_TOPIC, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_PARTITION)
)
_COMPRESSIONS: Final = {codec: Compression[codec.name] for codec in Codec}


def produce(context: Context, request: Request) -> Outcome:
    """The order of all entries is fixed when this returns."""
    return _Produce(context, request.body).outcome()


class _Produce:
    """One request on its way: a list of tickets for each of its topics."""

    __slots__ = ("_context", "_intake", "_request", "_topics")

    def __init__(self, context: Context, request: ProduceRequest) -> None:
        self._context = context
        self._request = request
        self._intake = Intake()
        self._topics: list[list[Ticket[AppendResult | None]]] = []

    def outcome(self) -> Outcome:
        for topic in self._request.topics:
            self._topics.append([self._entry(topic.name, entry) for entry in topic.entries])
        appended = all_done([ticket for tickets in self._topics for ticket in tickets])
        self._context.appending(appended)
        # Fluvio waits for copies, and not for long, when records are to be committed; else it does not wait.
        # Here all answers wait for the disk, and those may still be over before.
        if self._request.isolation < 0 and self._request.timeout_ms:
            appended = within(appended, self._request.timeout_ms, self._late)
        return later(appended, lambda _: self._response())

    def _entry(self, name: str, entry: ProduceEntry) -> Ticket[AppendResult | None]:
        try:
            return self._append(TopicName(name), entry)
        except (OnelogError, FluvioRefusal) as error:
            return Ticket.refused(error)

    def _append(self, topic: TopicName, entry: ProduceEntry) -> Ticket[AppendResult | None]:
        if self._request.transactional_id is not None:
            raise Unsupported(
                f"transactional id {self._request.transactional_id!r:.80}: Fluvio's transactions"
            )
        refuse_system_topic(topic)
        known = self._context.broker.topic(topic)
        self._context.broker.describe_partition(topic, entry.partition)
        refuse_smartmodules(self._request.smartmodules)
        batches = self._intake.batches(entry.records or b"", where=f"{topic}/{entry.partition}")
        if not batches:
            return Ticket.resolved(None)
        _check_compression(known, batches)
        [ticket] = self._context.broker.produce([Append(topic, entry.partition, batches)], rules=RULES)
        return ticket.then(lambda result: result)

    def _response(self) -> ProduceResponse:
        topics = []
        for topic, tickets in zip(self._request.topics, self._topics, strict=True):
            said = [self._said(e, ticket) for e, ticket in zip(topic.entries, tickets, strict=True)]
            topics.append(ProducedTopic(name=topic.name, entries=said))
        return ProduceResponse(topics=topics)

    def _said(self, entry: ProduceEntry, ticket: Ticket[AppendResult | None]) -> ProducedEntry:
        if not ticket.done:
            return produced(entry.partition, self._context.refuse(self._late()))
        if ticket.error is not None:
            return produced(entry.partition, self._fault(ticket.error))
        result = ticket.result()
        if result is None:
            return produced(entry.partition)
        return produced(
            entry.partition,
            base_offset=result.first,
            append_time_ms=max(result.timestamp_ms, 0),
            log_start=result.log_start,
        )

    def _late(self) -> TimedOut:
        return TimedOut("a produce", self._request.timeout_ms)

    def _fault(self, error: BaseException) -> Fault:
        fault = self._context.refuse(error)
        is_elsewhere = isinstance(error, OnelogError) and error.code in _NOT_HERE
        return Code.NOT_LEADER_FOR_PARTITION if is_elsewhere else fault


def _check_compression(topic: Topic, batches: Sequence[Batch]) -> None:
    """Whether Fluvio's producers may use these codecs in this topic."""
    allowed = compression_of(topic)
    for batch in batches:
        if allowed is not Compression.ANY and _COMPRESSIONS[batch.codec] is not allowed:
            found = f"{topic.name}: a batch compressed by {batch.codec.name}; expected {allowed.name}"
            raise FluvioRefusal(Code.COMPRESSION_ERROR, found)

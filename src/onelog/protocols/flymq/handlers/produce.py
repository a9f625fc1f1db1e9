"""PRODUCE: one record, in the partition that was asked for or that the broker chooses."""

from typing import Final

from onelog.broker.broker import Append, AppendResult, ProduceRules, Topic
from onelog.errors import RecordTooLarge, UnknownTopic
from onelog.protocols.contract import Outcome
from onelog.protocols.flymq.framing import PAYLOAD_BYTES_MAX
from onelog.protocols.flymq.handlers.context import DIALECT, Context, follow
from onelog.protocols.flymq.messages.produce import AUTO, NO_KEY, Produce, Produced
from onelog.protocols.flymq.names import spelled
from onelog.protocols.flymq.recordset import RECORD_BYTES_MAX, batch_of
from onelog.ticket import Ticket

# What a batch has beside the key and value of its one record.
BATCH_BYTES: Final = 128
RULES: Final = ProduceRules(dialect=DIALECT, batch_bytes_max=PAYLOAD_BYTES_MAX + BATCH_BYTES)


def produce(context: Context, request: Produce) -> Outcome:
    """Append it; answered when it is durable. A topic that is not there is made first."""
    size = len(request.key) + len(request.value)
    if size > RECORD_BYTES_MAX:
        raise RecordTooLarge(
            topic=spelled(request.topic), partition=request.partition, size=size, size_max=RECORD_BYTES_MAX
        )
    try:
        topic = context.topic(request.topic)
    except UnknownTopic:
        return _produce_to_new(context, request)
    appending = _Appending(context, topic, request)
    context.appending(appending.ticket)
    return context.later(appending.ticket, appending.answer)


def _produce_to_new(context: Context, request: Produce) -> Outcome:
    answered: Ticket[Produced] = Ticket()

    def append(topic: Topic) -> Ticket[Produced]:
        appending = _Appending(context, topic, request)
        return appending.ticket.then(appending.answer)

    made = context.broker.ensure_topic(spelled(request.topic))
    made.add_callback(lambda done: follow(lambda: append(done.result()), answered))
    context.appending(answered)
    return context.later(answered, lambda done: done, hold=True)


class _Appending:
    """A record on its way; its order is fixed."""

    __slots__ = ("_partition", "_request", "_time_ms", "ticket")

    def __init__(self, context: Context, topic: Topic, request: Produce) -> None:
        broker = context.broker
        key = request.key or None
        self._request = request
        self._partition = request.partition
        if request.partition == AUTO:
            self._partition = broker.place(topic.name, key)
        self._time_ms = broker.clock.wall_ms()
        batch = batch_of(key, request.value, timestamp_ms=self._time_ms)
        self.ticket: Ticket[AppendResult]
        [self.ticket] = broker.produce([Append(topic.name, self._partition, [batch])], rules=RULES)

    def answer(self, done: AppendResult) -> Produced:
        request = self._request
        return Produced(
            topic=request.topic,
            partition=self._partition,
            offset=done.first,
            timestamp_ms=self._time_ms if done.timestamp_ms < 0 else done.timestamp_ms,
            key_size=len(request.key) or NO_KEY,
            value_size=len(request.value),
        )

"""One connection as the handlers of both forms see it, and the order that they keep on it.

RustLog serves the requests of a connection one after the other. Appends may overlap all the
same, since their order is fixed at once; what looks at a log waits until the appends before it
on its connection are visible, and the creation of a topic holds whatever comes behind it. A
form gives the words for a refusal; what is refused is counted here.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from onelog import metrics as m
from onelog.broker.broker import Append, Broker, NewTopic, ProduceRules, Topic
from onelog.errors import InvalidName, InvalidPartitions, InvalidRequest, OnelogError
from onelog.model import TopicName
from onelog.protocols.contract import Later, Outcome, Reply
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.recordset import batch_of
from onelog.ticket import Ticket, both

T = TypeVar("T")
Refuse = Callable[[OnelogError], Any]

DIALECT: Final = "rustlog"
PARTITIONS_MAX: Final = 1000
RULES: Final = ProduceRules(dialect=DIALECT, batch_bytes_max=FRAME_BYTES_MAX)

# What RustLog can say of a name, of the 249 characters that the product allows.
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,249}")
_NAME_RULE: Final = "expected 1 to 249 of a-z A-Z 0-9 _ -"


class Context:
    """One connection. Owned by its handler."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._appends: Ticket[Any] | None = None

    def closed(self) -> None:
        """Nothing of a connection outlives it."""
        self._appends = None

    def refused(self, error: OnelogError) -> None:
        """Count a refusal."""
        self.broker.metrics.series(m.REFUSALS, DIALECT, error.code.value).add()

    # ---- what both forms ask of the broker in the same way

    def append(self, topic: str, partition: int, records: list[bytes], *, records_max: int) -> Ticket[Any]:
        """All of them in one batch."""
        if len(records) > records_max:
            raise InvalidRequest(f"{len(records)} records in one Produce; at most {records_max} are allowed")
        batch = batch_of(records, timestamp_ms=self.broker.clock.wall_ms())
        [ticket] = self.broker.produce([Append(TopicName(topic), partition, [batch])], rules=RULES)
        self._appends = both(self._appends, ticket)  # the one before may be slower, in another partition
        return ticket

    def create_topic(self, name: str, partition_count: int) -> "Ticket[list[Topic | OnelogError]]":
        """A topic with a name that RustLog can say."""
        if _NAME.fullmatch(name) is None:
            raise InvalidName(name, _NAME_RULE)
        if not 1 <= partition_count <= PARTITIONS_MAX:
            raise InvalidPartitions(name, found=partition_count, expected=f"1 to {PARTITIONS_MAX}")
        return self.broker.create_topics([NewTopic(name, partition_count)])

    # ---- answers

    def later(
        self, ticket: Ticket[T], say: Callable[[T], Any], refuse: Refuse, *, hold: bool = False
    ) -> Outcome:
        """What is said of a ticket's result, now or when it is there."""

        def answer(done: Ticket[T]) -> Any:
            try:
                return say(done.result())
            except OnelogError as error:
                return refuse(error)

        return Reply(answer(ticket)) if ticket.done else Later(ticket, hold=hold, answer=answer)

    def behind_appends(self, look: Callable[[], Any], refuse: Refuse) -> Outcome:
        """Look when this connection's own appends are visible, whatever became of them."""
        appends = self._appends
        if appends is None or appends.done:
            return Reply(look())

        def answer(_: Ticket[Any]) -> Any:
            try:
                return look()
            except OnelogError as error:
                return refuse(error)

        return Later(appends, answer=answer)

    def behind_everything(self, look: Callable[[], Any], refuse: Refuse) -> Outcome:
        """The same, and when all changes of topics and positions so far are durable."""
        durable = self.broker.barrier()
        appends = self._appends
        if appends is None or appends.done:
            return self.later(durable, lambda _: look(), refuse)
        seen: Ticket[None] = Ticket()
        appends.add_callback(lambda _: durable.add_callback(lambda done: _pass_on(done, seen)))
        return self.later(seen, lambda _: look(), refuse)


def made(result: Topic | OnelogError) -> Topic:
    """The topic that was made, or why it was not."""
    if isinstance(result, OnelogError):
        raise result
    return result


def _pass_on(done: Ticket[None], waiting: Ticket[None]) -> None:
    if done.error is not None:
        waiting.fail(done.error)
    else:
        waiting.resolve(None)

"""What every handler of a connection may use, and how their answers wait for each other.

FlyMQ serves the requests of a connection one after the other. Appends may overlap all the
same, since their order is fixed at once; what looks at a log waits until the appends before
it on its connection are visible, and what changes topics or positions holds what comes behind.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from onelog import metrics as m
from onelog.broker.broker import Broker, Subscriber, Topic
from onelog.errors import OnelogError, UnknownTopic
from onelog.model import Address
from onelog.protocols.contract import Later, Outcome, Reply, Session
from onelog.protocols.flymq.errors import Error, refusal
from onelog.protocols.flymq.names import shown, spelled
from onelog.ticket import Ticket, both

T = TypeVar("T")

DIALECT: Final = "flymq"


class Context:
    """One connection, seen from its handlers. Owned by its handler."""

    def __init__(self, broker: Broker, session: Session) -> None:
        self.broker = broker
        self.session = session
        self.subscriber = Subscriber(session.peer)
        self._appends: Ticket[Any] | None = None

    @property
    def address(self) -> Address:
        """Where this client finds us: through the listener that it came through."""
        return self.session.advertised[self.session.listener]

    def topic(self, name: str) -> Topic:
        """The topic that FlyMQ knows by this name, or UnknownTopic."""
        stored = spelled(name)
        try:
            return self.broker.topic(stored)
        except UnknownTopic:
            # A name of another dialect may look like a spelling and be none: it is shown as it is.
            if stored == name or shown(name) != name:
                raise
        try:
            return self.broker.topic(name)
        except UnknownTopic:
            raise UnknownTopic(topic=stored) from None

    def appending(self, ticket: Ticket[Any]) -> None:
        """An append of this connection is on its way. One before it, to another partition, may be slower."""
        self._appends = both(self._appends, ticket)

    def has_appends(self) -> bool:
        """Whether an append of this connection is not visible yet."""
        return self._appends is not None and not self._appends.done

    def later(self, ticket: Ticket[T], say: Callable[[T], Any], *, hold: bool = False) -> Outcome:
        """The answer when the ticket is done."""

        def answer(done: Ticket[T]) -> Any:
            try:
                return say(done.result())
            except OnelogError as error:
                return self.refuse(error)

        return Reply(answer(ticket)) if ticket.done else Later(ticket, hold=hold, answer=answer)

    def behind_appends(self, look: Callable[[], Any]) -> Outcome:
        """Look when this connection's own appends are visible, whatever became of them."""
        if not self.has_appends():
            return Reply(look())
        assert self._appends is not None

        def answer(_: Ticket[Any]) -> Any:
            try:
                return look()
            except OnelogError as error:
                return self.refuse(error)

        return Later(self._appends, answer=answer)

    def in_turn(
        self, start: Callable[[], Ticket[T]], say: Callable[[T], Any], *, hold: bool = False
    ) -> Outcome:
        """Begin when this connection's own appends are visible; until then nothing behind it begins."""
        if not self.has_appends():
            return self.later(start(), say, hold=hold)
        assert self._appends is not None
        begun: Ticket[T] = Ticket()
        self._appends.add_callback(lambda _: follow(start, begun))
        return self.later(begun, say, hold=True)

    def refuse(self, error: OnelogError) -> Error:
        """A refusal in FlyMQ's words, counted."""
        self.broker.metrics.series(m.REFUSALS, DIALECT, error.code.value).add()
        return refusal(error)


def follow(start: Callable[[], Ticket[T]], waiting: Ticket[T]) -> None:
    """Begin, and let the waiting ticket be what comes of it."""
    try:
        start().add_callback(lambda done: pass_on(done, waiting))
    except OnelogError as error:
        waiting.fail(error)


def pass_on(done: Ticket[T], waiting: Ticket[T]) -> None:
    """The waiting ticket ends as the other one did."""
    if done.error is not None:
        waiting.fail(done.error)
    else:
        waiting.resolve(done.result())

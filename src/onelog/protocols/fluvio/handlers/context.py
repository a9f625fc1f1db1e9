"""What every handler of a connection may use, and the few steps that they share."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from onelog.broker.broker import Broker
from onelog.errors import OnelogError
from onelog.metrics import LOSSES, REFUSALS
from onelog.protocols.contract import Address, Later, Outcome, Reply, Session
from onelog.protocols.fluvio.errors import fault_of
from onelog.protocols.fluvio.messages.error import Fault, code_of
from onelog.ticket import Ticket, both

T = TypeVar("T")

DIALECT: Final = "fluvio"
CONTROLLER: Final = "fluvio-sc"
UNIT: Final = "fluvio-spu"


class Numbered(Protocol):
    """A stream that has a number."""

    stream_id: int


S = TypeVar("S", bound=Numbered)


class Sessions(Generic[S]):
    """The streams of records of one connection, by the numbers that acknowledgements name."""

    def __init__(self) -> None:
        self._streams: dict[int, S] = {}
        self._last_id = 0

    def next_id(self) -> int:
        """A number that no stream of this connection had."""
        self._last_id += 1
        return self._last_id

    def add(self, stream: S) -> None:
        """It is open."""
        self._streams[stream.stream_id] = stream

    def remove(self, stream: S) -> None:
        """It is not, or never was."""
        self._streams.pop(stream.stream_id, None)

    def find(self, stream_id: int) -> S | None:
        """The stream of this number, if it is open."""
        return self._streams.get(stream_id)


class Context:
    """One connection, seen from its handlers. Owned by its handler."""

    def __init__(self, broker: Broker, session: Session) -> None:
        self.broker = broker
        self.session = session
        self.tails: Sessions[Any] = Sessions()
        self._appends: Ticket[Any] | None = None

    @property
    def unit_address(self) -> Address | None:
        """Where this client finds the records; None while that door is not open."""
        return self.session.advertised.get(UNIT)

    def appending(self, ticket: Ticket[Any]) -> None:
        """An append of this connection is on its way to the disk. One before it, to another partition, may be slower."""
        self._appends = both(self._appends, ticket)

    def behind_appends(self, look: Callable[[], Any]) -> Outcome:
        """Look when what this connection appended is visible, or failed: requests are served in their order."""
        if self._appends is None or self._appends.done:
            return Reply(look())
        return Later(self._appends, answer=lambda _: look())

    def refuse(self, error: BaseException) -> Fault:
        """A refusal as an answer says it, counted."""
        fault = fault_of(error)
        reason = error.code.value if isinstance(error, OnelogError) else code_of(fault).name.lower()
        self.broker.metrics.series(REFUSALS, DIALECT, reason).add()
        return fault

    def lost(self, losses: Counter[str]) -> None:
        """Count what of records could not be said."""
        for reason, count in losses.items():
            if count:
                self.broker.metrics.series(LOSSES, DIALECT, reason).add(count)


def later(ticket: Ticket[T], say: Callable[[Ticket[T]], Any], *, hold: bool = False) -> Outcome:
    """The answer that is made of a finished ticket, now or when it is."""
    return Reply(say(ticket)) if ticket.done else Later(ticket, hold=hold, answer=say)

"""What every handler of a connection may use, and the few steps that they share."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeVar

from onelog.broker.broker import Broker
from onelog.errors import OnelogError
from onelog.metrics import LOSSES, REFUSALS
from onelog.protocols.contract import Address, Later, Outcome, Reply, Session
from onelog.protocols.fluvio.errors import fault_of
from onelog.protocols.fluvio.messages.error import Fault, code_of
from onelog.ticket import Ticket

T = TypeVar("T")

DIALECT: Final = "fluvio"
CONTROLLER: Final = "fluvio-sc"
UNIT: Final = "fluvio-spu"


class Context:
    """One connection, seen from its handlers. Owned by its handler."""

    def __init__(self, broker: Broker, session: Session) -> None:
        self.broker = broker
        self.session = session

    @property
    def unit_address(self) -> Address | None:
        """Where this client finds the records; None while that door is not open."""
        return self.session.advertised.get(UNIT)

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

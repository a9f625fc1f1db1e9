"""What every handler of a connection may use, and the few steps that they share."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeVar
from uuid import UUID

from onelog.broker.broker import Broker, PartitionInfo, ProduceRules, Spot, Topic
from onelog.errors import OnelogError
from onelog.metrics import LOSSES, REFUSALS
from onelog.model import Isolation
from onelog.protocols.contract import Later, Outcome, Reply, Session
from onelog.protocols.tank.settings import TankSettings
from onelog.ticket import Ticket, all_done

T = TypeVar("T")

DIALECT: Final = "tank"
# Readers without the notion of transactions get what is committed.
ISOLATION: Final = Isolation.READ_COMMITTED
_FIRSTS_KEPT: Final = 1024


class Context:
    """One connection, seen from its handlers. Owned by its handler."""

    def __init__(self, broker: Broker, session: Session, settings: TankSettings) -> None:
        self.broker = broker
        self.session = session
        self.rules = ProduceRules(dialect=DIALECT, batch_bytes_max=settings.frame_bytes_max)
        self._appends: set[Ticket[Any]] = set()
        self._firsts: dict[tuple[UUID, int], tuple[int, int]] = {}

    def topic(self, name: bytes) -> Topic:
        """The topic that a client calls so, or UnknownTopic."""
        return self.broker.topic(name.decode("latin-1"))

    def refused(self, error: BaseException) -> None:
        """Count a refusal."""
        reason = error.code.value if isinstance(error, OnelogError) else "internal"
        self.broker.metrics.series(REFUSALS, DIALECT, reason).add()

    def lost(self, losses: Counter[str]) -> None:
        """Count what of records could not be said."""
        for reason, count in losses.items():
            if count:
                self.broker.metrics.series(LOSSES, DIALECT, reason).add(count)

    def first_sequence(self, topic: Topic, partition: int, info: PartitionInfo) -> int:
        """Of the first message that can be read; behind the last one if all are gone, 0 if none ever was."""
        if info.start == info.stable:
            return info.start + 1 if info.start else 0
        key = (topic.id, partition)
        start, first = self._firsts.get(key, (-1, 0))
        if start != info.start:
            found = self.broker.list_offset(
                topic.name, partition, at=Spot.FIRST_RECORD, isolation=ISOLATION
            ).offset
            first = (info.start if found < 0 else found) + 1
            if len(self._firsts) >= _FIRSTS_KEPT:
                self._firsts.clear()
            if found >= 0:
                self._firsts[key] = (info.start, first)
        return first

    # ---- order on one connection: what is asked behind an append sees it

    def appending(self, ticket: Ticket[Any]) -> None:
        """An append of this connection is on its way to the disk."""
        if not ticket.done:
            self._appends.add(ticket)
            ticket.add_callback(self._appends.discard)

    @property
    def is_appending(self) -> bool:
        """Whether something that this connection appended is not visible yet."""
        return bool(self._appends)

    def appended(self) -> Ticket[None]:
        """Done when everything that this connection appended so far is visible, or failed."""
        return all_done(list(self._appends))

    def behind_everything(self, look: Callable[[], Any]) -> Outcome:
        """Look when what this connection appended is visible, and changes of topics so far are durable."""
        return later(all_done([self.appended(), self.broker.barrier()]), lambda _: look())


def later(ticket: Ticket[T], say: Callable[[Ticket[T]], Any], *, hold: bool = False) -> Outcome:
    """The answer that is made of a finished ticket, now or when it is."""
    return Reply(say(ticket)) if ticket.done else Later(ticket, hold=hold, answer=say)

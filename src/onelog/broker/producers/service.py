"""Giving out producer ids: none before the block that it is from is durably reserved."""

from onelog.broker.catalog import Catalog, Statement
from onelog.broker.producers import rows
from onelog.broker.producers.state import ProducersState, apply, decide
from onelog.model import ProducerId
from onelog.ticket import Ticket

FIRST_EPOCH = 0


class ProducersService:
    """Owns which producer ids are taken. Lives in the loop's thread."""

    def __init__(self, loaded: ProducersState, *, catalog: Catalog) -> None:
        self._state = loaded
        self._catalog = catalog
        self._reserved: Ticket[None] = Ticket.resolved(None)

    def init_producer(self) -> Ticket[tuple[ProducerId, int]]:
        """An id that nobody had before, and its first epoch."""
        changes, producer_id = decide(self._state)
        statements: list[Statement] = []
        for change in changes:
            apply(self._state, change)
            statements.extend(rows.statements(change))
        if statements:
            self._reserved = self._catalog.write(statements)
        return self._reserved.then(lambda _: (producer_id, FIRST_EPOCH))

"""Everything that is not a record, made durable: a turn's changes in one transaction.

The caller applies its change to memory in the same breath; nobody hears of it before its
ticket. Transactions run in order in a thread of their own, one at a time. One that finds no
room is held in its order and tried again; its answers wait. This module knows no single
change's meaning; the parts' rows.py have the statements.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from onelog import metrics as m
from onelog.broker import directory
from onelog.broker.groups import rows as groups
from onelog.broker.positions import rows as positions
from onelog.broker.producers import rows as producers
from onelog.broker.topics import rows as topics
from onelog.errors import DiskFailed, DiskFull, OnelogError
from onelog.metrics import Metrics
from onelog.storage.catalog import CatalogFile
from onelog.ticket import Ticket

LOG = logging.getLogger("onelog")
AGAIN_S = 1.0

Statement = tuple[str, tuple[Any, ...]]

_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"

# One entry for each version of the file; entries are never changed once released.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (_META, *topics.TABLES, *positions.TABLES, *producers.TABLES),
    (*positions.TIMES, *groups.TABLES),
    topics.NOTES,
    directory.TABLES,
)


class Catalog:
    """Owns the catalog's file while the broker runs. Lives in the loop's thread."""

    def __init__(
        self, file: CatalogFile, *, metrics: Metrics, on_failure: Callable[[OnelogError], None]
    ) -> None:
        self.failed: OnelogError | None = None
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="onelog-catalog")
        self._on_failure = on_failure
        self._transactions = metrics.series(m.CATALOG_TRANSACTIONS)
        self._statements: list[Statement] = []
        self._sent: list[Statement] = []
        self._waiting: list[Ticket[None]] = []
        self._in_flight: list[Ticket[None]] | None = None
        self._is_scheduled = False
        self.transaction = directory.load(self.rows).transaction

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What is there, for the start: while serving, memory is read instead."""
        return self._file.rows(sql)

    def write(self, statements: Sequence[Statement]) -> Ticket[None]:
        """All of these or none, behind everything that was written before."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        ticket: Ticket[None] = Ticket()
        self._statements.extend(statements)
        self._waiting.append(ticket)
        self._schedule()
        return ticket

    def write_now(self, statements: Sequence[Statement]) -> None:
        """All of these, durable on return. For the start: nobody is served yet, and nothing is pending."""
        assert self._in_flight is None
        assert not self._waiting
        try:
            self._file.write([*statements, directory.counted(self.transaction + 1)])
        except OnelogError as error:
            self.fail(error)
            raise
        self.transaction += 1

    def barrier(self) -> Ticket[None]:
        """Done when every change so far is durable; at once when none is pending."""
        if self.failed is not None:
            return Ticket.refused(self.failed)
        if self._waiting:
            pending = self._waiting
        elif self._in_flight is not None:
            pending = self._in_flight
        else:
            return Ticket.resolved(None)
        ticket: Ticket[None] = Ticket()
        pending.append(ticket)
        return ticket

    def fail(self, error: OnelogError) -> None:
        """The end, as with a failed sync: the owner is told, then every ticket."""
        if self.failed is not None:
            return
        self.failed = error
        pending = [*(self._in_flight or ()), *self._waiting]
        self._waiting, self._statements = [], []
        try:
            self._on_failure(error)
        except Exception as fault:  # the owner's; the tickets are to hear of it all the same
            self._loop.call_exception_handler({"message": "on_failure failed", "exception": fault})
        for ticket in pending:
            ticket.fail(error)

    async def close(self) -> None:
        """Write what is pending, then let the thread go. The file is its store's to close."""
        with suppress(OnelogError):  # whoever waits for the change is told
            while self.failed is None and (self._waiting or self._in_flight is not None):
                await self.barrier()
        self._thread.shutdown(wait=True)

    def _schedule(self) -> None:
        if self._in_flight is None and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_scheduled = False
        if not self._waiting:
            return
        self._sent, self._statements = self._statements, []
        statements = [*self._sent, directory.counted(self.transaction + 1)]
        self._in_flight, self._waiting = self._waiting, []
        try:
            future = self._thread.submit(self._file.write, statements)
        except RuntimeError as error:  # no thread to be had, or closed already
            self._transaction_done(error)
        else:
            future.add_done_callback(self._tell)

    def _tell(self, future: "Future[None]") -> None:
        # In the catalog's thread.
        self._loop.call_soon_threadsafe(self._transaction_done, future.exception())

    def _transaction_done(self, error: BaseException | None) -> None:
        if isinstance(error, DiskFull) and self.failed is None:
            self._hold(error)
            return
        if error is not None:
            self.fail(_as_failure(error))
        done, self._in_flight = self._in_flight or [], None
        if self.failed is not None:
            return  # every ticket has been told
        self._transactions.add()
        self.transaction += 1
        for ticket in done:
            ticket.resolve(None)
        if self._waiting:
            self._schedule()

    def _hold(self, error: DiskFull) -> None:
        """There was no room, and nothing of it happened: the same again, in its order."""
        LOG.warning("%s The transaction is tried again.", error)
        self._statements = [*self._sent, *self._statements]
        self._waiting = [*(self._in_flight or ()), *self._waiting]
        self._in_flight = None
        self._is_scheduled = True
        self._loop.call_later(AGAIN_S, self._flush)


def _as_failure(error: BaseException) -> OnelogError:
    if isinstance(error, OnelogError):
        return error
    return DiskFailed(path="the catalog", doing="writing a transaction", found=repr(error))

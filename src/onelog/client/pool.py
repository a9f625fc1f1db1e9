"""Open connections, by address: taken for one exchange, given back, dropped when they broke.

Safe to use from several threads; each exchange has its connection to itself, so that a
fetch that waits for data holds up nobody else.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from onelog.client.errors import ClientError
from onelog.client.retry import Deadline
from onelog.model import Address

IDLE_MAX = 8


class Poolable(Protocol):
    """What the pool has to know of a connection."""

    def is_stale(self) -> bool:
        """Whether it must not be used again."""
        ...

    def close(self) -> None:
        """End it."""
        ...


C = TypeVar("C", bound=Poolable)


class Pool(Generic[C]):
    """The idle connections of one client. Owns them; a borrower owns what it borrowed."""

    def __init__(self, connect: Callable[[Address, Deadline], C]) -> None:
        self._connect = connect
        self._idle: dict[Address, list[C]] = {}
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def borrow(self, address: Address, deadline: Deadline) -> Iterator[C]:
        """A connection for one exchange. An error inside closes it: its bytes are out of step."""
        connection = self._take(address) or self._connect(address, deadline)
        in_step = False
        try:
            yield connection
            in_step = True
        finally:
            if in_step:
                self._give_back(address, connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close what is idle; what is borrowed is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle = [connection for some in self._idle.values() for connection in some]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _take(self, address: Address) -> C | None:
        while True:
            with self._lock:
                if self._closed:
                    raise ClientError("the client is closed.")
                idle = self._idle.get(address)
                if not idle:
                    return None
                connection = idle.pop()
            if not connection.is_stale():
                return connection
            connection.close()

    def _give_back(self, address: Address, connection: C) -> None:
        with self._lock:
            idle = self._idle.setdefault(address, [])
            kept = not self._closed and len(idle) < IDLE_MAX
            if kept:
                idle.append(connection)
        if not kept:
            connection.close()

"""Who waits for records: one waiter over many partitions, woken when there may be enough.

A waiter counts the bytes that became visible since it last looked, which costs a produce one
subtraction a waiter; only when they could suffice, or on an error, a deletion, a start that
was raised or its deadline, does it look again (the reading is the caller's).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from onelog.ticket import Ticket

T = TypeVar("T")


class Watched(Protocol):
    """What a waiter can stand at: a partition."""

    def watch(self, waiter: "Waiter") -> None:
        """Tell the waiter what becomes visible, until unwatched."""
        ...

    def unwatch(self, waiter: "Waiter") -> None:
        """No more."""
        ...


class Waiter(Protocol):
    """What a partition tells."""

    def seen(self, size: int) -> None:
        """So many more bytes are visible."""
        ...

    def wake(self) -> None:
        """Something other than bytes has changed: look again."""
        ...


class FetchTicket(Ticket[T]):
    """The answer to a waiting fetch; cancelled, it takes its waiter along."""

    __slots__ = ("_on_cancel",)

    def __init__(self, on_cancel: Callable[[], None]) -> None:
        super().__init__()
        self._on_cancel = on_cancel

    def cancel(self) -> None:
        """Drop the answer and what waits for it."""
        super().cancel()
        self._on_cancel()


class FetchWaiter(Generic[T]):
    """One waiting fetch. look(is_last) reads and gives the answer, or the bytes still missing."""

    def __init__(
        self,
        places: Sequence[Watched],
        look: Callable[[bool], T | int],
        *,
        missing: int,
        wait_ms: int,
    ) -> None:
        self.ticket: FetchTicket[T] = FetchTicket(self._leave)
        self._places = places
        self._look = look
        self._missing = missing
        self._is_woken = False
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.call_later(wait_ms / 1000, self._expire)
        for place in places:
            place.watch(self)

    def seen(self, size: int) -> None:
        """Count; look again once they could suffice."""
        self._missing -= size
        if self._missing <= 0:
            self.wake()

    def wake(self) -> None:
        """Look again, once, after all that happens in this breath has happened."""
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._look_again)

    def _look_again(self) -> None:
        self._is_woken = False
        if self.ticket.done or self.ticket.cancelled:
            return
        self._finish(is_last=False)

    def _expire(self) -> None:
        self._finish(is_last=True)

    def _finish(self, *, is_last: bool) -> None:
        """Unless bytes are still missing."""
        try:
            answer = self._look(is_last)
            assert not (is_last and isinstance(answer, int))
        except Exception as error:  # a bug of ours: who waits hears it, rather than nothing for ever
            self._leave()
            self.ticket.fail(error)
            return
        if isinstance(answer, int):
            self._missing = answer
            return
        self._leave()
        self.ticket.resolve(answer)

    def _leave(self) -> None:
        self._deadline.cancel()
        for place in self._places:
            place.unwatch(self)

"""An answer that will be true later: known when it is on disk, and not before.

A ticket is what `append` and a change of the catalog return at once. It costs no future
and no task as long as nobody awaits it, which is how thousands of small requests a second
share one sync. It belongs to the loop's thread; other threads hand over to it first.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from onelog.errors import OnelogError

T = TypeVar("T")
U = TypeVar("U")


class Ticket(Generic[T]):
    """Resolved once, with a result or an error; cancelled at most once, before that.

    What a callback raises is the loop's to report: a broken listener never stops the one that
    resolves, which has others to answer.
    """

    __slots__ = ("_callbacks", "_error", "_result", "cancelled", "done")

    def __init__(self) -> None:
        self.done = False
        self.cancelled = False
        self._callbacks: list[Callable[[Ticket[T]], None]] = []
        self._error: BaseException | None = None
        self._result: T | None = None

    @classmethod
    def resolved(cls, result: T) -> "Ticket[T]":
        """A ticket that is done from the start."""
        ticket = cls()
        ticket.resolve(result)
        return ticket

    @classmethod
    def refused(cls, error: BaseException) -> "Ticket[T]":
        """A ticket that failed from the start."""
        ticket = cls()
        ticket.fail(error)
        return ticket

    def resolve(self, result: T) -> None:
        """The answer is true now; who waits hears it, in the order of asking."""
        assert not self.done
        self._result = result
        self._finish()

    def fail(self, error: BaseException) -> None:
        """There is no answer but this error."""
        assert not self.done
        self._error = error
        self._finish()

    def result(self) -> T:
        """The result, or the error raised."""
        assert self.done
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # resolve() gave a T

    @property
    def error(self) -> BaseException | None:
        """The error, if it failed."""
        return self._error

    def add_callback(self, fn: "Callable[[Ticket[T]], None]") -> None:
        """Call fn with this ticket when it is done; at once if it is."""
        if self.done:
            fn(self)
        else:
            self._callbacks.append(fn)

    def then(self, fn: "Callable[[T], U]") -> "Ticket[U]":
        """A ticket for what fn makes of the result; it fails where this one does, or where fn refuses."""
        following: Ticket[U] = Ticket()
        self.add_callback(lambda done: _follow(done, fn, following))
        return following

    def cancel(self) -> None:
        """Drop the answer. What was ordered happens all the same."""
        self.cancelled = True
        self._callbacks.clear()

    def __await__(self) -> Generator[object, None, T]:
        if not self.done:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.add_callback(lambda _: None if waiter.done() else waiter.set_result(None))
            yield from waiter
        return self.result()

    def _finish(self) -> None:
        self.done = True
        callbacks, self._callbacks = self._callbacks, []
        for fn in callbacks:
            try:
                fn(self)
            except Exception as error:  # that listener's fault, and nobody else's
                asyncio.get_running_loop().call_exception_handler(
                    {"message": "a callback of a ticket failed", "exception": error}
                )


def all_done(tickets: Sequence[Ticket[Any]]) -> Ticket[None]:
    """Done when all of them are, however they ended. Costs no future."""
    together: Ticket[None] = Ticket()
    pending = len(tickets)

    def one_done(_: Ticket[Any]) -> None:
        nonlocal pending
        pending -= 1
        if pending == 0:
            together.resolve(None)

    if not tickets:
        together.resolve(None)
    for ticket in tickets:
        ticket.add_callback(one_done)
    return together


def both(first: "Ticket[Any] | None", second: Ticket[Any]) -> Ticket[Any]:
    """Done when the second is, and the first if there is one; costs nothing when that is done already."""
    return second if first is None or first.done else all_done([first, second])


def _follow(done: "Ticket[T]", fn: "Callable[[T], U]", following: "Ticket[U]") -> None:
    if done.error is not None:
        following.fail(done.error)
        return
    try:
        result = fn(done.result())
    except OnelogError as error:
        following.fail(error)
    except BaseException as error:
        following.fail(error)  # a bug: who waits hears it too, rather than nothing for ever
        raise
    else:
        following.resolve(result)

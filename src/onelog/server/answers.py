"""The answers of one connection that cannot leave yet, in the order in which they will.

No socket and no dialect: a slot is opened when a call is put off, filled when its answer is
there, and comes out together with all that waited behind it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from onelog.protocols.contract import Buffer, Later
from onelog.ticket import Ticket


class Slot:
    """One answer to come: whose it is, what it waits for, and its bytes once they are there."""

    __slots__ = ("_finished", "buffers", "later", "request_bytes", "size", "tag", "task")

    def __init__(
        self, tag: Any, later: Later | None, request_bytes: int, finished: "Callable[[Slot], None]"
    ) -> None:
        self.tag = tag
        self.later = later
        self.request_bytes = request_bytes
        self.buffers: Sequence[Buffer] | None = None
        self.size = 0
        self.task: asyncio.Future[Any] | None = None
        self._finished = finished

    def wait(self) -> None:
        """Begin to wait. A ticket costs no task; anything else gets one, owned by this slot."""
        assert self.later is not None
        awaitable = self.later.awaitable
        if isinstance(awaitable, Ticket):
            awaitable.add_callback(self._on_done)
        else:
            self.task = asyncio.ensure_future(awaitable)
            self.task.add_done_callback(self._on_done)

    def message(self) -> Any:
        """The answer that was waited for; what went wrong with it is raised here."""
        assert self.later is not None
        if self.task is not None:
            return self.task.result()
        ticket = self.later.awaitable
        assert isinstance(ticket, Ticket)
        return ticket.result() if self.later.answer is None else self.later.answer(ticket)

    def cancel(self) -> None:
        """Nobody is left to hear the answer."""
        if self.task is not None:
            self.task.cancel()
        elif self.later is not None:
            assert isinstance(self.later.awaitable, Ticket)
            self.later.awaitable.cancel()

    def _on_done(self, _: object) -> None:
        self._finished(self)


class Answers:
    """The open slots of a connection, and how much they hold."""

    __slots__ = ("_in_order", "_queue", "_unordered", "request_bytes", "waiting_bytes")

    def __init__(self, *, in_order: bool) -> None:
        self._in_order = in_order
        self._queue: deque[Slot] = deque()
        self._unordered: set[Slot] = set()
        self.request_bytes = 0
        self.waiting_bytes = 0

    def __len__(self) -> int:
        return len(self._queue) + len(self._unordered)

    @property
    def is_blocking(self) -> bool:
        """Whether an answer that is there now has to wait for one before it."""
        return bool(self._queue)

    def open(self, slot: Slot) -> None:
        """One more answer is owed."""
        self.request_bytes += slot.request_bytes
        if self._in_order:
            self._queue.append(slot)
        else:
            self._unordered.add(slot)

    def fill(self, slot: Slot, buffers: Sequence[Buffer]) -> list[Buffer]:
        """The answer of a slot is there (empty: there is none after all). What may leave now."""
        self.request_bytes -= slot.request_bytes
        if not self._in_order:
            self._unordered.discard(slot)
            return list(buffers)
        slot.buffers = buffers
        slot.size = sum(map(len, buffers))
        self.waiting_bytes += slot.size
        ready: list[Buffer] = []
        queue = self._queue
        while queue and queue[0].buffers is not None:
            first = queue.popleft()
            self.waiting_bytes -= first.size
            ready.extend(first.buffers or ())
        return ready

    def cut(self, slot: Slot) -> None:
        """Drop the answers asked for after this one."""
        while self._queue and self._queue[-1] is not slot:
            dropped = self._queue.pop()
            self.waiting_bytes -= dropped.size
            if dropped.buffers is None:
                self.request_bytes -= dropped.request_bytes
                dropped.cancel()

    def cancel(self) -> None:
        """The connection is gone; nothing of this is awaited any more."""
        slots = [*self._queue, *self._unordered]
        self._queue.clear()
        self._unordered.clear()
        for slot in slots:
            if slot.buffers is None:
                slot.cancel()

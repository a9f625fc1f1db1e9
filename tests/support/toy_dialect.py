"""A dialect for tests of the server: lines in, lines out, and a word for everything a pump must bear.

echo X      answered at once with X            later X    answered when the test says so
hold X      the same, and holds later calls    task X     answered by a coroutine
mute        no answer at all                   bug        the handler raises
broken      breaks the protocol                big N      N bytes at once
close       the handler closes by raising ProtocolError
open X      a stream, which sends what the test puts into it, each line begun with X
endless N   a stream that always has N bytes more
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from onelog.protocols.contract import (
    Buffer,
    Call,
    Capabilities,
    Claim,
    Connection,
    FrameLimits,
    Handler,
    InternalError,
    Later,
    Outcome,
    ProtocolError,
    Push,
    Reply,
    Session,
)
from onelog.ticket import Ticket


@dataclass
class LineRequest:
    """One line."""

    text: str


class ToyConnection:
    """Lines <-> calls."""

    def __init__(self, *, replies_in_order: bool = True, greeting: bytes = b"", room: int = 64) -> None:
        self.replies_in_order = replies_in_order
        self._greeting = greeting
        self._room = room
        self._lent = bytearray()
        self._waiting = bytearray()

    def opening(self) -> Sequence[Buffer]:
        return [self._greeting] if self._greeting else []

    def lend(self, size_hint: int) -> memoryview:
        self._lent = bytearray(self._room)
        return memoryview(self._lent)

    def received(self, count: int) -> list[Call]:
        self._waiting += self._lent[:count]
        *lines, rest = bytes(self._waiting).split(b"\n")
        self._waiting = bytearray(rest)
        calls: list[Call] = []
        for line in lines:
            if line == b"broken":
                raise ProtocolError("a line that says broken; expected anything else", calls=calls)
            calls.append(Call(tag=len(calls), message=LineRequest(line.decode())))
        return calls

    def send(self, tag: Any, message: Any) -> Sequence[Buffer]:
        if message == "unsayable":
            raise ValueError("this dialect has no words for it")
        return [str(message).encode(), b"\n"]

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        return [b"our fault\n" if isinstance(error, InternalError) else b"goodbye\n"]


class ToyStream:
    """Sends what it is told to, and remembers how often it was asked and what was taken."""

    def __init__(self, name: str, *, endless: int = 0) -> None:
        self.name = name
        self.waiting: deque[str] = deque()
        self.taken = 0
        self.is_over = False
        self.is_closed = False
        self._endless = endless
        self._wake: Callable[[], None] = lambda: None

    def opened(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        if self._endless:
            wake()

    def say(self, *texts: str) -> None:
        """Have these sent."""
        self.waiting.extend(texts)
        self._wake()

    def finish(self, text: str) -> None:
        """Have this sent as the last of it."""
        self.waiting.append(text)
        self.is_over = True
        self._wake()

    def next(self) -> str | None:
        if self._endless:
            self.taken += 1
            return f"{self.name}{self.taken} {'x' * self._endless}"
        if not self.waiting:
            return None
        text = self.waiting.popleft()
        if text == "bug":
            raise RuntimeError("a bug of the stream")
        self.taken += 1
        return f"{self.name} {text}"

    def closed(self) -> None:
        self.is_closed = True


@dataclass
class ToyHandler:
    """Does what the line says."""

    session: Session
    tickets: dict[str, Ticket[str]] = field(default_factory=dict)
    streams: dict[str, ToyStream] = field(default_factory=dict)
    handled: list[str] = field(default_factory=list)
    is_closed: bool = False

    def handle(self, message: LineRequest) -> Outcome:
        word, _, rest = message.text.partition(" ")
        self.handled.append(message.text)
        match word:
            case "later" | "hold":
                ticket = self.tickets[rest] = Ticket[str]()
                return Later(ticket, hold=word == "hold", answer=lambda done: f"answered {done.result()}")
            case "ready":
                return Later(Ticket.resolved(rest), hold=True)
            case "task":
                return Later(self._soon(rest))
            case "mute":
                return None
            case "bug":
                raise RuntimeError("a bug of the handler")
            case "close":
                raise ProtocolError("the handler has no other answer than closing")
            case "open":
                stream = self.streams[rest] = ToyStream(rest)
                return Push(stream)
            case "endless":
                stream = self.streams[rest] = ToyStream("", endless=int(rest))
                return Push(stream)
            case "big":
                return Reply("x" * int(rest))
            case _:
                return Reply(rest)

    def closed(self) -> None:
        self.is_closed = True

    async def _soon(self, text: str) -> str:
        await asyncio.sleep(0)
        return text


class ToyEndpoint:
    """Speaks lines that begin with its first letter, or any line if it has none."""

    listener = "toy"
    port = 0
    shared = True
    capabilities = Capabilities()

    def __init__(
        self,
        name: str = "toy",
        *,
        first: bytes = b"",
        in_order: bool = True,
        greeting: bytes = b"",
        first_call_timeout_ms: int | None = None,
        may_be_silent: bool = False,
    ) -> None:
        self.name = name
        self.first = first
        self.in_order = in_order
        self.greeting = greeting
        self.first_call_timeout_ms = first_call_timeout_ms
        self.may_be_silent = may_be_silent
        self.handlers: list[ToyHandler] = []

    def claims(self, prefix: bytes) -> Claim:
        if prefix.startswith(self.first):
            return Claim.YES
        return Claim.MORE if self.first.startswith(prefix) else Claim.NO

    def connection(self, limits: FrameLimits) -> Connection:
        return ToyConnection(replies_in_order=self.in_order, greeting=self.greeting)

    def handler(self, broker: Any, session: Session) -> Handler:
        session.first_call_timeout_ms = self.first_call_timeout_ms
        session.may_be_silent = self.may_be_silent
        handler = ToyHandler(session)
        self.handlers.append(handler)
        return handler

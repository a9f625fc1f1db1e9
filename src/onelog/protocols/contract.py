"""What a dialect and the server agree on. It names no dialect.

    socket -> lend/received -> Call -> Handler.handle -> Reply | Later | None -> send -> socket

A Connection turns bytes into calls and answers into bytes; it does no I/O and knows no time.
A Handler turns a call into words of the broker; it fixes the order before it returns. The
pump moves bytes between a socket and these two and decides nothing of the dialect.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from onelog.model import ANONYMOUS, Principal
from onelog.model import Address as Address
from onelog.ticket import Ticket

if TYPE_CHECKING:
    from onelog.broker.broker import Broker

Buffer = bytes | bytearray | memoryview


class ProtocolError(Exception):
    """The peer broke its protocol: where, what was found, what was expected.

    The connection says farewell, if its dialect has words for it, and is closed. The calls
    that came whole before the break are still owed an answer; received() hands them over here.
    A handler raises it as well, where the dialect answers by closing (Kafka's acks = 0).
    """

    def __init__(self, message: str, *, calls: "Sequence[Call]" = ()) -> None:
        super().__init__(message)
        self.calls = calls


class InternalError(ProtocolError):
    """Not the peer's fault after all: ours. Only the pump makes one, for farewell()."""


class Claim(Enum):
    """What an endpoint says of the first bytes of a connection."""

    YES = "yes"
    NO = "no"
    MORE = "more"


@dataclass(slots=True)
class Call:
    """One request. The tag is what its connection needs again to encode the answer."""

    tag: Any
    message: Any


@dataclass(slots=True)
class Reply:
    """An answer that is there at once."""

    message: Any


@dataclass(slots=True)
class Later:
    """An answer that comes when the awaitable is done; its result is the message.

    A Ticket costs no task. None as its result means: nothing is sent after all.
    hold: no later call of this connection is handled before it.
    answer: makes the message of the finished Ticket, whether it was resolved or failed; it
    runs in the pump, behind its last line of defence, so no handler needs a task to translate.
    """

    awaitable: Ticket[Any] | Awaitable[Any]
    hold: bool = False
    answer: Callable[[Ticket[Any]], Any] | None = None


Outcome = Reply | Later | None


@dataclass(frozen=True)
class Capabilities:
    """What a dialect can say of a record, and of a topic's name; the docs' matrix is made of it."""

    keys: bool = True
    null_keys: bool = True
    empty_keys: bool = True
    null_values: bool = True
    headers: bool = True
    timestamps: bool = True
    key_bytes_max: int | None = None
    creates_topics: bool = True
    commits_positions: bool = True
    waits: bool = True


@dataclass
class Session:
    """One connection as its handler may know it. Owned by the pump."""

    dialect: str
    listener: str
    peer: str
    advertised: Mapping[str, Address]
    principal: Principal = ANONYMOUS
    client_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    first_call_timeout_ms: int | None = None
    """How long the peer may connect and ask for nothing; set by an endpoint whose dialect has such a rule."""


@dataclass(frozen=True)
class FrameLimits:
    """The bounds on what a peer can make a connection hold."""

    frame_bytes_max: int


class Connection(Protocol):
    """Bytes <-> calls of one connection. One owner, no I/O, no time."""

    replies_in_order: bool

    def opening(self) -> Sequence[Buffer]:
        """What the server says first; mostly nothing."""
        ...

    def lend(self, size_hint: int) -> memoryview:
        """Room for at least one byte, valid until received(). Never a region in use."""
        ...

    def received(self, count: int) -> list[Call]:
        """So many bytes have come. Calls may hold views into the lent buffer, which stay valid."""
        ...

    def send(self, tag: Any, message: Any) -> Sequence[Buffer]:
        """The bytes of an answer."""
        ...

    def farewell(self, error: ProtocolError) -> Sequence[Buffer]:
        """The last words before closing, if the dialect has any."""
        ...


class Handler(Protocol):
    """Calls -> the broker -> answers, for one connection."""

    def handle(self, message: Any) -> Outcome:
        """Returns as soon as the order is fixed. OnelogErrors that escape are our fault."""
        ...

    def closed(self) -> None:
        """The connection is gone; drop what waits for it."""
        ...


class Endpoint(Protocol):
    """One dialect at one kind of door."""

    name: str
    listener: str
    port: int
    shared: bool
    capabilities: Capabilities

    def claims(self, prefix: bytes) -> Claim:
        """Whether a connection that begins like this speaks this dialect."""
        ...

    def connection(self, limits: FrameLimits) -> Connection:
        """The bytes side of a new connection."""
        ...

    def handler(self, broker: "Broker", session: Session) -> Handler:
        """The meaning side of a new connection."""
        ...

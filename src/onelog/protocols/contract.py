"""What a dialect and the server agree on. It names no dialect.

    socket -> lend/received -> Call -> Handler.handle -> Reply | Later | Push | None -> send -> socket

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


class Stream(Protocol):
    """What keeps sending on one request, seen by the pump: it makes a message when it is asked for one.

    It is asked only while the peer takes what is sent, and with the call the message is taken:
    so a stream holds its place and not what it would send, and may skip or join what has piled up.
    """

    @property
    def is_over(self) -> bool:
        """Nothing more will come, ever; the pump forgets it. Looked at after each next()."""
        ...

    def opened(self, wake: Callable[[], None]) -> None:
        """From now on wake() says that next() may have something. It may be called at any time."""
        ...

    def next(self) -> Any | None:
        """The next message; None: nothing now, and wake() will tell."""
        ...

    def closed(self) -> None:
        """The connection ends; nothing will be asked for any more. Not called on one that is over."""
        ...


@dataclass(slots=True)
class Push:
    """An open stream: its messages leave under the tag of this call when they are there.

    They take no place among the replies, so a dialect whose replies come in order has to tell
    the two apart in its bytes.
    """

    stream: Stream


Outcome = Reply | Later | Push | None


@dataclass(frozen=True)
class Capabilities:
    """What a dialect can say of a record, and what it has words for; the docs' matrix is made of it.

    timestamps: whether its producers say when; a record of one that does not gets the broker's time.
    """

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

    @property
    def losses(self) -> tuple[str, ...]:
        """The reasons under which `onelog_losses_total` counts what is left out of others' records."""
        reasons = {
            "key": not self.keys,
            "empty_key": self.keys and not self.empty_keys,
            "long_key": self.keys and self.key_bytes_max is not None,
            "null_value": not self.null_values,
            "headers": not self.headers,
        }
        return tuple(reason for reason, is_lost in reasons.items() if is_lost)


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
    may_be_silent: bool = False
    """Not closed for being idle; set by an endpoint whose peers keep connections that they do not use."""


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

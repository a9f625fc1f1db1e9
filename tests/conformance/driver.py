"""What the conformance suite asks of every dialect, and how a dialect says what it cannot.

A driver is a thin hand on somebody's client: a real library, or a client of tests/support that was
written without a look at the product. It translates and judges nothing. What it cannot express is
left away by `Expression`, so that the suite knows what it may expect of a reader.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Protocol

# Listener to HOST:PORT.
Addresses = Mapping[str, str]


class Feature(Enum):
    """What not every dialect has."""

    POSITIONS = "positions of groups"
    POSITION_ANYWHERE = "a position where no record was read"
    END_BEHIND_HOLES = "an end that is found behind numbers that nobody has"
    WAITING = "waiting for records"
    REFUSAL_PAST_END = "a refusal beyond the end"
    TOPIC_BY_PRODUCING = "a topic made by writing to it"


class Refusal(Enum):
    """Why something was refused."""

    UNKNOWN_TOPIC = auto()
    UNKNOWN_PARTITION = auto()
    OUT_OF_RANGE = auto()
    TOO_LARGE = auto()


class Refused(Exception):
    """A refusal, and all that it may mean: some dialects have one word for several."""

    def __init__(self, meanings: set[Refusal], said: object) -> None:
        super().__init__(f"{said}")
        self.meanings = meanings


@dataclass(frozen=True)
class Never:
    """A dialect will not have this, because."""

    because: str


@dataclass(frozen=True)
class Message:
    """What a producer says."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True)
class Read:
    """A message as a consumer sees it; its offset where the dialect tells it."""

    message: Message
    offset: int | None = None


@dataclass(frozen=True)
class Expression:
    """How much of a message a dialect's bytes can hold."""

    keys: bool = True
    empty_keys: bool = True
    key_bytes_max: int = 1 << 31
    null_values: bool = True
    headers: bool = True
    # A library's writer alone may miss these; its reader sees them.
    null_headers: bool = True
    null_keys: bool = True
    nothing_at_all: bool = True

    def of(self, message: Message) -> Message:
        """What is left of it."""
        key = message.key
        if key is not None and (not self.keys or len(key) > self.key_bytes_max):
            key = None
        if key == b"" and not self.empty_keys:
            key = None
        value = message.value if message.value is not None or self.null_values else b""
        return Message(value, key, message.headers if self.headers else ())

    def holds(self, message: Message) -> bool:
        """Whether it can be written so that nothing is lost."""
        has_null_headers = any(value is None for _, value in message.headers)
        is_nothing = message.key is None and message.value is None
        return (
            self.of(message) == message
            and (self.null_headers or not has_null_headers)
            and (self.null_keys or message.key is not None)
            and (self.nothing_at_all or not is_nothing)
        )


@dataclass(frozen=True)
class Hostility:
    """Bytes for a listener of this dialect's own, to be sent on a bare socket."""

    listener: str
    request: bytes
    oversize: bytes
    unknown: bytes
    greeting: bytes = b""


class Driver(Protocol):
    """One dialect through one client. Every call waits for its answer; a refusal is raised as Refused."""

    @property
    def name(self) -> str: ...

    def create_topic(self, topic: str, partition_count: int = 1) -> None: ...

    def topics(self) -> Sequence[str]: ...

    def produce(
        self, topic: str, messages: Sequence[Message], *, partition: int = 0, codec: str = "none"
    ) -> Sequence[int] | None:
        """The offsets, where the dialect tells them."""
        ...

    def produce_pipelined(self, topic: str, values: Sequence[bytes]) -> None:
        """All under way before the first answer is read; each a request of its own."""
        ...

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]:
        """Everything from there to the end; at the end, nothing, at once."""
        ...

    def wait(self, topic: str, offset: int) -> list[Read]:
        """What is there, or else what comes first within some seconds."""
        ...

    def commit(self, group: str, topic: str, offset: int) -> None: ...

    def position(self, group: str, topic: str) -> int | None: ...

    def prove_never(self, feature: Feature) -> None:
        """Show on the wire that what `never` says is so."""
        ...

    def close(self) -> None: ...


class Open(Protocol):
    """Makes a driver that speaks to these addresses."""

    def __call__(self, addresses: Addresses) -> Driver: ...


@dataclass(frozen=True, eq=False)
class Kind:
    """One driver, as the suite knows it before it is opened."""

    name: str
    dialect: str
    open: Open
    expression: Expression
    hostility: Hostility
    codecs: tuple[str, ...] = ("none",)
    never: Mapping[Feature, Never] = field(default_factory=dict)
    # Why there is nothing to be driven, and the listener whose coming ends that.
    not_yet: str = ""
    # The largest record that an answer holds.
    answer_bytes_max: int = 1 << 31
    # Whether the client closes what it has open when its broker dies.
    outlives_its_broker: bool = True
    # Whether it sends again what was not answered, with nothing that would tell a repetition.
    repeats_itself: bool = False


# Hands out the driver of a kind, opened once.
Opened = Callable[[Kind], Driver]


def texts(found: Sequence[Read]) -> list[str]:
    """The values alone."""
    return [(read.message.value or b"").decode() for read in found]


def told(found: Sequence[Read]) -> list[Message]:
    """The messages alone."""
    return [replace(read.message) for read in found]

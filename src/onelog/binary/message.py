"""The one way to declare a wire layout: a class of fields, turned into encode and decode functions.

    @message(byte_order=BIG)
    class CommitOffset:
        \"\"\"Remember how far a group has read.\"\"\"

        group: str = text16()
        partition: int = i32()
        offset: int = i64()
        note: str | None = text16(nullable=True, since=2)

    commit, end = codec(CommitOffset, 2).decode(view, pos)
    buffers = codec(CommitOffset, 2).encode(commit)

The class becomes a plain mutable one with slots, a constructor of keywords that are all
optional, equality and a repr. Order, lengths and flexibility are those of the message that is
decoded; a struct inside follows them, whatever it was declared with (`@message()` will do).

Decoding checks every length and count against the bytes that are left, skips tagged fields
that it does not know, and leaves the bytes behind the message to the caller. The functions
are made when a class and version are first asked for.
"""

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import Any, Generic, TypeVar, dataclass_transform

from onelog.binary.decoding import decoder
from onelog.binary.encoding import Buffer, encoder
from onelog.binary.fields import Field, Lengths, Order
from onelog.binary.layout import Declaration, declaration_of, form_of

T = TypeVar("T")

BIG = Order.BIG
LITTLE = Order.LITTLE
UNSIGNED = Lengths.UNSIGNED
SIGNED = Lengths.SIGNED
LENIENT = Lengths.LENIENT

# All elements of all arrays of one message. An element can take many times the memory that it
# takes bytes on the wire, so the size of the frame alone is no bound.
ELEMENTS_MAX = 1 << 20


class MessageCodec(Generic[T]):
    """Encode and decode functions of one class in one version; each is made when it is first used."""

    def __init__(self, cls: type[T], version: int) -> None:
        self.cls = cls
        self.version = version
        self._declaration = declaration_of(cls)
        self._form = form_of(self._declaration, version)

    @cached_property
    def decode(self) -> Callable[..., tuple[T, int]]:
        """`(view, pos=0) -> (object, where it ends)`."""
        return decoder(self._declaration, self._form)

    @cached_property
    def encode(self) -> Callable[[T], list[Buffer]]:
        """`(object) -> buffers` in order, large ones as they were given."""
        return encoder(self._declaration, self._form)

    def encode_bytes(self, value: T) -> bytes:
        """The message as one piece."""
        return b"".join(self.encode(value))


@dataclass_transform(kw_only_default=True)
def message(
    *,
    byte_order: Order = BIG,
    flexible: int | None = None,
    lengths: Lengths = UNSIGNED,
    elements_max: int = ELEMENTS_MAX,
) -> Callable[[type[T]], type[T]]:
    """Declares a class as a message or a part of one.

    byte_order is not called order, because type checkers take that word for dataclasses' own.
    flexible is the first version with compact lengths and tagged fields; None: there is none.
    lengths tells how lengths and counts that cannot be null are read.
    """

    def declare(cls: type[T]) -> type[T]:
        fields = {name: field for name, field in vars(cls).items() if isinstance(field, Field)}
        made = _with_slots(cls, fields)
        made.__declaration__ = Declaration(made, fields, byte_order, flexible, lengths, elements_max)  # type: ignore[attr-defined]  # ours alone
        return made

    return declare


def codec(cls: type[T], version: int = 0) -> MessageCodec[T]:
    """The functions of a class in a version; made once."""
    made = _CODECS.get((cls, version))
    if made is None:
        made = _CODECS[cls, version] = MessageCodec(cls, version)
    return made


_CODECS: dict[tuple[type[Any], int], MessageCodec[Any]] = {}


def _with_slots(cls: type[T], fields: dict[str, Field]) -> type[T]:
    """The class with its fields as slots, and what a value needs."""
    names = tuple(fields)
    dropped = {*names, "__dict__", "__weakref__"}
    body: dict[str, Any] = {name: value for name, value in vars(cls).items() if name not in dropped}
    values = attrgetter(*names) if names else _nothing

    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def shown(self: object) -> str:
        return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    body.update(__slots__=names, __init__=_constructor(cls, fields), __eq__=equal, __repr__=shown)
    body.setdefault("__match_args__", names)
    return type(cls.__name__, cls.__bases__, body)


def _constructor(cls: type[Any], fields: dict[str, Field]) -> Callable[..., None]:
    """A constructor of keywords, with the zero of each field where nothing is said."""
    names: dict[str, Any] = {"FRESH": _FRESH}
    parameters, lines = [], []
    for name, field in fields.items():
        zero = field.zero()
        is_shared = zero.__hash__ is not None
        names[f"zero_{name}"] = zero if is_shared else field.zero
        parameters.append(f"{name}={f'zero_{name}' if is_shared else 'FRESH'}")
        lines.append(
            f"self.{name} = {name}" + ("" if is_shared else f" if {name} is not FRESH else zero_{name}()")
        )
    head = f"def __init__(self{', *, ' if fields else ''}{', '.join(parameters)}):"
    source = "\n    ".join([head, *(lines or ["pass"])])
    exec(compile(source, f"<{cls.__qualname__}>", "exec"), names)  # made of names alone
    made: Callable[..., None] = names["__init__"]
    return made


def _nothing(_: object) -> tuple[()]:
    return ()


_FRESH = object()

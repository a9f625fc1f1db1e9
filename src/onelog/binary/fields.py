"""The kinds of fields that a wire layout is declared with.

    class CommitOffset:
        group: str = text16()
        offset: int = i64()
        note: str | None = text16(nullable=True, since=2)

A kind says how a value lies in the bytes, a Field adds in which versions it does. What they
become in one version is for layout; message turns a class of them into functions.

The number in a name is the width of the length or count before the value, in bits; uvarint
means one of variable length. In a flexible version of a message all of them are compact:
uvarint n + 1, with 0 for null, unless the field says `compact=False`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypedDict, Unpack
from uuid import UUID


class Order(Enum):
    """Which byte of a number comes first; the value is the struct module's sign for it."""

    BIG = ">"
    LITTLE = "<"


class Lengths(Enum):
    """How lengths and counts of 8, 16 and 32 bits are read where they cannot be null."""

    UNSIGNED = "unsigned"
    SIGNED = "signed, a negative one is refused"
    LENIENT = "signed, a negative one means empty"


class _Zero(Enum):
    ZERO = "the zero of the kind, or None where null is allowed"


ZERO: Final = _Zero.ZERO


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number or truth of fixed size; code is the struct module's letter."""

    code: str
    zero: int | float | bool


@dataclass(frozen=True, slots=True)
class Uuid:
    """16 bytes, all zero for none."""


@dataclass(frozen=True, slots=True)
class Varint:
    """A number of variable length: uvarint, varint or varlong, as binary.varint has them."""

    form: str


@dataclass(frozen=True, slots=True)
class Text:
    """UTF-8 behind its length. A width of 0 is a uvarint, here and below."""

    width: int


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes behind their length. A view points into what was decoded, instead of a copy;
    spliced ones may be given as a list of buffers and are never copied into one.
    """

    width: int
    view: bool = False
    spliced: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one layout behind their count."""

    width: int
    element: "Field"


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of another declared class, in place."""

    cls: type[Any]


@dataclass(frozen=True, slots=True)
class Option:
    """A byte 0 for None, or 1 and a value."""

    inner: "Field"


@dataclass(frozen=True, slots=True)
class Choice:
    """A number, and the fields of the declared class that it stands for. A number that stands for
    none is its own value; is_closed: there is no such number.
    """

    code: str
    cases: Mapping[int, type[Any]]
    is_closed: bool


Kind = Fixed | Uuid | Varint | Text | Bytes | Array | Struct | Option | Choice


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its kind, and the versions in which it exists, is null, or is tagged.

    until is the last version, inclusive. nullable is True or the first version that may hold
    null. A tagged field lives in the section at the end of its struct, from version tag_since
    on, and is written only when it differs from its default. A tagged field whose default is
    None is not there when it is None, whatever its kind.
    """

    kind: Kind
    since: int = 0
    until: int | None = None
    nullable: bool | int = False
    default: Any = ZERO
    tag: int | None = None
    tag_since: int = 0
    compact: bool = True

    def is_in(self, version: int) -> bool:
        """Whether the field exists in a version."""
        return self.since <= version and (self.until is None or version <= self.until)

    def is_nullable_in(self, version: int) -> bool:
        """Whether it may be null in a version. (`True` is not the version 1.)"""
        if isinstance(self.nullable, bool):
            return self.nullable
        return version >= self.nullable

    def is_tagged_in(self, version: int) -> bool:
        """Whether it lives in the tagged section in a version."""
        return self.tag is not None and version >= self.tag_since

    def zero(self) -> Any:
        """What the field is where nothing was said: a fresh one, if it can change."""
        if self.default is not ZERO:
            return list(self.default) if isinstance(self.default, list) else self.default
        if self.nullable is not False:
            return None
        match self.kind:
            case Fixed(zero=zero):
                return zero
            case Varint() | Choice():
                return 0
            case Uuid():
                return NO_UUID
            case Text():
                return ""
            case Bytes():
                return b""
            case Array():
                return []
            case Struct(cls=cls):
                return cls()
            case Option():
                return None


NO_UUID = UUID(int=0)

# Of a records32 field: a memoryview or None when decoded; to encode it, one buffer, several in
# a list, or None.
Records = Any


class Versions(TypedDict, total=False):
    """The options of every kind; see Field."""

    since: int
    until: int | None
    default: Any
    tag: int | None
    tag_since: int


class Sized(Versions, total=False):
    """The options of the kinds with a length or count."""

    nullable: bool | int
    compact: bool


def i8(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("b", 0), **options)


def i16(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("h", 0), **options)


def i32(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("i", 0), **options)


def i64(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("q", 0), **options)


def u8(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("B", 0), **options)


def u16(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("H", 0), **options)


def u32(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("I", 0), **options)


def u64(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("Q", 0), **options)


def f64(**options: Unpack[Versions]) -> Any:
    return Field(Fixed("d", 0.0), **options)


def boolean(**options: Unpack[Versions]) -> Any:
    """One byte; anything but 0 is true."""
    return Field(Fixed("?", False), **options)


def uuid(**options: Unpack[Versions]) -> Any:
    return Field(Uuid(), **options)


def uvarint(**options: Unpack[Versions]) -> Any:
    """Unsigned, up to 32 bits."""
    return Field(Varint("uvarint"), **options)


def varint(**options: Unpack[Versions]) -> Any:
    """Signed, zig-zag, up to 32 bits."""
    return Field(Varint("varint"), **options)


def varlong(**options: Unpack[Versions]) -> Any:
    """Signed, zig-zag, up to 64 bits."""
    return Field(Varint("varlong"), **options)


def text8(**options: Unpack[Sized]) -> Any:
    return Field(Text(8), **options)


def text16(**options: Unpack[Sized]) -> Any:
    return Field(Text(16), **options)


def text32(**options: Unpack[Sized]) -> Any:
    return Field(Text(32), **options)


def text_uvarint(**options: Unpack[Sized]) -> Any:
    return Field(Text(0), **options)


def bytes8(*, view: bool = False, **options: Unpack[Sized]) -> Any:
    return Field(Bytes(8, view), **options)


def bytes16(*, view: bool = False, **options: Unpack[Sized]) -> Any:
    return Field(Bytes(16, view), **options)


def bytes32(*, view: bool = False, **options: Unpack[Sized]) -> Any:
    return Field(Bytes(32, view), **options)


def bytes_uvarint(*, view: bool = False, **options: Unpack[Sized]) -> Any:
    return Field(Bytes(0, view), **options)


def records32(**options: Unpack[Sized]) -> Any:
    """Nullable bytes that nobody copies: a view when decoded; encoded from one buffer or several."""
    options.setdefault("nullable", True)
    return Field(Bytes(32, view=True, spliced=True), **options)


def array8(element: Any, **options: Unpack[Sized]) -> Any:
    return Field(Array(8, as_field(element)), **options)


def array16(element: Any, **options: Unpack[Sized]) -> Any:
    return Field(Array(16, as_field(element)), **options)


def array32(element: Any, **options: Unpack[Sized]) -> Any:
    """Elements are a declared class or a field: `array32(TopicData)`, `array32(i32())`."""
    return Field(Array(32, as_field(element)), **options)


def array_uvarint(element: Any, **options: Unpack[Sized]) -> Any:
    return Field(Array(0, as_field(element)), **options)


def struct(cls: type[Any], *, nullable: bool | int = False, **options: Unpack[Versions]) -> Any:
    """A nested struct. Where it may be null, a byte goes before it: -1 for null, else 1."""
    return Field(Struct(cls), nullable=nullable, **options)


def option(element: Any, **options: Unpack[Versions]) -> Any:
    """A byte 0 for None, or 1 and the value: `option(text16())`."""
    return Field(Option(as_field(element)), **options)


def choice8(cases: Mapping[int, type[Any]], *, is_closed: bool = False, **options: Unpack[Versions]) -> Any:
    """One byte and what it stands for: an object of a class in cases, or else the number itself."""
    return Field(Choice("B", cases, is_closed), **options)


def choice16(cases: Mapping[int, type[Any]], *, is_closed: bool = False, **options: Unpack[Versions]) -> Any:
    """The same with a signed number of 16 bits, as error codes have it."""
    return Field(Choice("h", cases, is_closed), **options)


def as_field(element: Any) -> Field:
    """An element as a field: a declared class stands for a struct of it."""
    return element if isinstance(element, Field) else Field(Struct(element))

"""What a declaration comes to in one version: which fields lie there, in which order and size."""

from dataclasses import dataclass
from struct import calcsize
from typing import Any

from onelog.binary.fields import (
    Array,
    Bytes,
    Choice,
    Field,
    Fixed,
    Lengths,
    Option,
    Order,
    Struct,
    Text,
    Uuid,
    Varint,
)

UUID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared class: its fields in order, and what the message as a whole obeys."""

    cls: type[Any]
    fields: dict[str, Field]
    order: Order
    flexible: int | None
    lengths: Lengths
    elements_max: int


@dataclass(frozen=True, slots=True)
class Form:
    """What holds everywhere inside one version of a message, nested structs included."""

    version: int
    order: Order
    flexible: bool
    lengths: Lengths
    elements_max: int


@dataclass(frozen=True, slots=True)
class Placed:
    """The fields of a struct in one version: in order, in the tagged section, and not there."""

    plain: dict[str, Field]
    tagged: dict[str, Field]
    absent: dict[str, Field]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The length or count before a value. code: the struct module's letter, or "" for a uvarint."""

    code: str
    compact: bool

    @property
    def least_bytes(self) -> int:
        """The fewest bytes that it takes."""
        return calcsize(f"={self.code}") if self.code else 1

    @property
    def may_be_negative(self) -> bool:
        """Whether the number that is read can be below zero (a compact 0 is read as -1)."""
        return self.compact or self.code.islower()


def declaration_of(cls: type[Any]) -> Declaration:
    """The declaration of a class made by `message`."""
    found = cls.__dict__.get("__declaration__")
    if not isinstance(found, Declaration):
        raise TypeError(f"{cls.__name__} is not declared with @message")
    return found


def form_of(declaration: Declaration, version: int) -> Form:
    """What a message obeys in one version."""
    flexible = declaration.flexible is not None and version >= declaration.flexible
    return Form(version, declaration.order, flexible, declaration.lengths, declaration.elements_max)


def placed(declaration: Declaration, form: Form) -> Placed:
    """Where each field of a struct is in this version."""
    plain: dict[str, Field] = {}
    tagged: dict[str, Field] = {}
    absent: dict[str, Field] = {}
    for name, field in declaration.fields.items():
        is_tagged = field.is_tagged_in(form.version)
        if not field.is_in(form.version) or (is_tagged and not form.flexible):
            absent[name] = field
        elif is_tagged:
            assert field.tag not in {other.tag for other in tagged.values()}, f"{name}: tag {field.tag} twice"
            tagged[name] = field
        else:
            plain[name] = field
    return Placed(plain, dict(sorted(tagged.items(), key=lambda item: item[1].tag or 0)), absent)


def prefix_of(field: Field, form: Form) -> Prefix:
    """How the length of a sized field is written in this version."""
    assert isinstance(field.kind, Text | Bytes | Array)
    width = field.kind.width
    if form.flexible and field.compact:
        return Prefix("", compact=True)
    if width == 0:
        return Prefix("", compact=field.is_nullable_in(form.version))
    code = {8: "b", 16: "h", 32: "i"}[width]
    signed = field.is_nullable_in(form.version) or form.lengths is not Lengths.UNSIGNED
    return Prefix(code if signed else code.upper(), compact=False)


def least_bytes(field: Field, form: Form) -> int:
    """The fewest bytes that a field takes in this version: what makes a count a lie."""
    match field.kind:
        case Fixed(code=code) | Choice(code=code):
            return calcsize(f"={code}")
        case Uuid():
            return UUID_BYTES
        case Varint() | Option():
            return 1
        case Text() | Bytes() | Array():
            return prefix_of(field, form).least_bytes
        case Struct(cls=cls):
            return 1 if field.is_nullable_in(form.version) else least_bytes_of(declaration_of(cls), form)


def least_bytes_of(declaration: Declaration, form: Form) -> int:
    """The fewest bytes that a struct takes in this version."""
    plain = placed(declaration, form).plain.values()
    return sum(least_bytes(field, form) for field in plain) + (1 if form.flexible else 0)

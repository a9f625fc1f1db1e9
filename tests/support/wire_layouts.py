"""Random declarations with random values, for what holds of every wire layout."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from onelog.binary import fields as f
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
from onelog.binary.layout import declaration_of
from onelog.binary.message import MessageCodec, message

VERSION_MAX = 4

RANGES = {"b": 8, "h": 16, "i": 32, "q": 64}
FIXED = [f.i8, f.i16, f.i32, f.i64, f.u8, f.u16, f.u32, f.u64, f.boolean, f.f64, f.uuid]
VARINTS = [f.uvarint, f.varint, f.varlong]
TEXTS = [f.text8, f.text16, f.text32, f.text_uvarint]
BYTES = [f.bytes8, f.bytes16, f.bytes32, f.bytes_uvarint]
ARRAYS = [f.array8, f.array16, f.array32, f.array_uvarint]


@dataclass(frozen=True)
class Case:
    """One declaration in one version, and a value that it can carry there."""

    codec: MessageCodec[Any]
    value: Any


@st.composite
def cases(draw: st.DrawFn, *, spliced: bool = True) -> Case:
    """Declarations of every kind of field, up to two structs deep."""
    version = draw(st.integers(0, VERSION_MAX))
    flexible = draw(st.none() | st.integers(0, VERSION_MAX))
    made = message(
        byte_order=draw(st.sampled_from(Order)),
        flexible=flexible,
        lengths=draw(st.sampled_from(Lengths)),
    )(_class(draw, "Outer", depth=2, spliced=spliced))
    value = draw(
        values(Field(Struct(made)), version, is_flexible=flexible is not None and version >= flexible)
    )
    return Case(MessageCodec(made, version), value)


def _class(draw: st.DrawFn, name: str, *, depth: int, spliced: bool) -> type[Any]:
    count = draw(st.integers(1, 5))
    tags = draw(st.permutations([0, 1, 5, 127, 200]))
    body = {
        f"f{index}": _field(draw, depth=depth, spliced=spliced, tag=tags[index]) for index in range(count)
    }
    # A struct of which some version has no bytes cannot be counted; the first field is always there.
    body["f0"] = f.u8()
    return type(name, (), body)


def _field(draw: st.DrawFn, *, depth: int, spliced: bool, tag: int = 0) -> Field:
    options: dict[str, Any] = {"since": draw(st.integers(0, VERSION_MAX))}
    if draw(st.booleans()):
        options["until"] = draw(st.integers(options["since"], VERSION_MAX))
    if draw(st.integers(0, 3)) == 0:
        options["tag"] = tag
        spliced = False
    sized = dict(
        options, nullable=draw(st.booleans() | st.integers(0, VERSION_MAX)), compact=draw(st.booleans())
    )
    kind = draw(st.integers(0, 8 if depth else 3))
    if kind == 0:
        return as_field(draw(st.sampled_from([*FIXED, *VARINTS]))(**options))
    if kind == 1:
        return as_field(draw(st.sampled_from(TEXTS))(**sized))
    if kind == 2:
        return as_field(draw(st.sampled_from(BYTES))(view=draw(st.booleans()), **sized))
    if kind == 3:
        return as_field((f.records32 if spliced else f.bytes32)(**sized))
    if kind == 4:
        return as_field(f.option(_plain(draw, depth=depth - 1, spliced=spliced), **options))
    inner = _plain(draw, depth=depth - 1, spliced=spliced)
    if kind == 5:
        return as_field(draw(st.sampled_from(ARRAYS))(inner, **sized))
    made = message()(_class(draw, "Inner", depth=depth - 1, spliced=spliced))
    if kind == 8:
        return as_field(
            draw(st.sampled_from([f.choice8, f.choice16]))({draw(st.integers(0, 127)): made}, **options)
        )
    if kind == 6:
        return as_field(f.struct(made, nullable=sized["nullable"], **options))
    return as_field(draw(st.sampled_from(ARRAYS))(made, **sized))


def _plain(draw: st.DrawFn, *, depth: int, spliced: bool) -> Field:
    """A field as an element: it exists wherever what holds it does, and has no tag."""
    made = _field(draw, depth=depth, spliced=spliced)
    return Field(made.kind, nullable=made.nullable, compact=made.compact)


def as_field(made: Any) -> Field:
    assert isinstance(made, Field)
    return made


def values(field: Field, version: int, *, is_flexible: bool) -> st.SearchStrategy[Any]:
    """What a field can carry in a version."""
    made = _values(field, version, is_flexible)
    if isinstance(field.kind, Option) or (
        field.is_nullable_in(version) and not isinstance(field.kind, Fixed)
    ):
        return st.none() | made
    return made


def _values(field: Field, version: int, is_flexible: bool) -> st.SearchStrategy[Any]:
    match field.kind:
        case Fixed(code="?"):
            return st.booleans()
        case Fixed(code="d"):
            return st.floats(allow_nan=False)
        case Fixed(code=code):
            bits = RANGES[code.lower()]
            return (
                st.integers(0, (1 << bits) - 1)
                if code.isupper()
                else st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
            )
        case Varint(form="uvarint"):
            return st.integers(0, (1 << 32) - 1)
        case Varint(form=form):
            bits = 32 if form == "varint" else 64
            return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        case Uuid():
            return st.builds(UUID, int=st.integers(0, (1 << 128) - 1))
        case Text():
            return st.text(max_size=20)
        case Bytes():
            return st.binary(max_size=140 if is_flexible else 20)
        case Array(element=element):
            return st.lists(values(element, version, is_flexible=is_flexible), max_size=3)
        case Option(inner=inner):
            return values(inner, version, is_flexible=is_flexible)
        case Struct(cls=cls):
            return _structs(cls, version, is_flexible)
        case Choice(cases=cases):
            bare = st.integers(0, 127).filter(lambda number: number not in cases)
            return st.one_of(bare, *(_structs(cls, version, is_flexible) for cls in cases.values()))


def _structs(cls: type[Any], version: int, is_flexible: bool) -> st.SearchStrategy[Any]:
    fields = declaration_of(cls).fields
    there = {
        name: values(field, version, is_flexible=is_flexible)
        for name, field in fields.items()
        if field.is_in(version) and (is_flexible or not field.is_tagged_in(version))
    }
    return st.fixed_dictionaries(there).map(lambda chosen: cls(**chosen))

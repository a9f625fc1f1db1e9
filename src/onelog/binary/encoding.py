"""Writes the function that encodes one version of a message.

It appends to one bytearray; where large bytes are spliced in, that one is put aside and a new
one begun, so that they are never copied. What cannot be written (a null where none may be, a
text that is too long) is the caller's fault and a ValueError that names the field.
"""

import struct
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from onelog.binary.fields import Array, Bytes, Choice, Field, Fixed, Option, Struct, Text, Uuid, Varint
from onelog.binary.layout import UUID_BYTES, Declaration, Form, Prefix, declaration_of, placed, prefix_of
from onelog.binary.source import Source, field_at_fault
from onelog.binary.varint import write_uvarint, write_varint, write_varlong

WRITERS = {"uvarint": write_uvarint, "varint": write_varint, "varlong": write_varlong}

Buffer = bytes | bytearray | memoryview
Encode = Callable[[Any], list[Buffer]]


def encoder(declaration: Declaration, form: Form) -> Encode:
    """encode(object) -> buffers, in order"""
    title = f"encode {declaration.cls.__name__} {form.version}"
    return _Encoding(declaration, form).source.function("encode", title)


class _Encoding:
    """One function in the making. A run is what waits to be packed by one call; out is the
    variable that it goes to, another one inside a tagged field.
    """

    def __init__(self, declaration: Declaration, form: Form) -> None:
        self.form = form
        self.source = Source(declaration.cls.__name__)
        self.run: list[tuple[str, str, str]] = []
        self.out = "out"
        constant = self.source.constants
        constant.update(unwritable=_unwritable, FAULTS=_FAULTS, pack=struct.pack, spliced=_spliced)
        constant.update(write_uvarint=write_uvarint)
        with self.source.block("def encode(o)"):
            with self.source.block("try"):
                self.source.line("parts = []")
                self.source.line("out = bytearray()")
                self.fields("o", declaration)
                self.flush()
            with self.source.block("except FAULTS as error"):
                self.source.line("raise unwritable(error, fields) from error")
            self.source.line("if out: parts.append(out)")
            self.source.line("return parts")

    def fields(self, origin: str, declaration: Declaration) -> None:
        """All fields of a struct."""
        places = placed(declaration, self.form)
        for name, field in places.plain.items():
            with self.source.inside(f".{name}"):
                self.field(f"{origin}.{name}", field)
        if self.form.flexible and places.tagged:
            self.tags(origin, places.tagged)
        elif self.form.flexible:
            self.write("B", "0")

    def field(self, value: str, field: Field) -> None:
        """One field, whose value is an expression that is cheap to repeat or a name."""
        match field.kind:
            case Fixed(code=code):
                self.write(code, value)
            case Uuid():
                self.write(f"{UUID_BYTES}s", f"{value}.bytes")
            case Varint(form=form):
                self.flush()
                self.source.line(f"{self.source.constant('write_', WRITERS[form])}({self.out}, {value})")
            case Text():
                self.sized(value, field, is_text=True)
            case Bytes(spliced=True):
                self.spliced(value, field)
            case Bytes():
                self.sized(value, field, is_text=False)
            case Array(element=element):
                self.array(value, field, element)
            case Struct(cls=cls):
                self.struct(value, field, declaration_of(cls))
            case Option(inner=inner):
                self.option(value, inner)
            case Choice() as choice:
                self.choice(value, choice)

    def sized(self, value: str, field: Field, *, is_text: bool) -> None:
        """A length, and as many bytes."""
        item = self.taken(value)
        with self.null_first(item, field):
            if is_text:
                self.source.line(f"{item} = {item}.encode()")
            self.prefix(f"len({item})", field)
            self.source.line(f"{self.out} += {item}")

    def spliced(self, value: str, field: Field) -> None:
        """A length, and buffers that stay what they are."""
        assert self.out == "out", f"{self.source.field}: nothing is spliced into a tagged field"
        item, size = self.taken(value), self.source.fresh("n")
        with self.null_first(item, field):
            self.source.line(f"{item}, {size} = spliced({item})")
            self.prefix(size, field)
            self.source.line("parts.append(out)")
            self.source.line(f"parts.extend({item})")
            self.source.line("out = bytearray()")

    def array(self, value: str, field: Field, element: Field) -> None:
        """A count, and as many elements."""
        items = self.taken(value)
        with self.null_first(items, field):
            self.prefix(f"len({items})", field)
            if isinstance(element.kind, Fixed):
                layout = f'f"{self.form.order.value}{{len({items})}}{element.kind.code}"'
                self.source.line(f"{self.out} += pack({layout}, *{items})")
                return
            item = self.source.fresh("o")
            with self.source.inside("[]"), self.source.block(f"for {item} in {items}"):
                self.field(item, element)
                self.flush()

    def struct(self, value: str, field: Field, declaration: Declaration) -> None:
        """A struct in place, behind a byte where it may be null."""
        item = self.taken(value)
        if not field.is_nullable_in(self.form.version):
            self.fields(item, declaration)
            return
        with self.either(f"{item} is None", "b", "-1"):
            self.write("b", "1")
            self.fields(item, declaration)
            self.flush()

    def option(self, value: str, inner: Field) -> None:
        """A byte that says whether a value follows."""
        item = self.taken(value)
        with self.either(f"{item} is None", "B", "0"):
            self.write("B", "1")
            self.field(item, inner)
            self.flush()

    def choice(self, value: str, choice: Choice) -> None:
        """A number, and the struct that it stands for."""
        item, cls = self.taken(value), self.source.fresh("cls")
        self.flush()
        self.source.line(f"{cls} = type({item})")
        word = "if"
        for number, case in choice.cases.items():
            with self.source.block(f"{word} {cls} is {self.source.constant('C', case)}"):
                self.write(choice.code, str(number))
                self.fields(item, declaration_of(case))
                self.flush()
            word = "elif"
        with self.source.block("else" if choice.cases else "if True"):
            self.write(choice.code, item)
            self.flush()

    def tags(self, origin: str, tagged: dict[str, Field]) -> None:
        """The section at the end of a struct: those that differ from their default, tags ascending."""
        self.flush()
        count, section = self.source.fresh("n"), self.source.fresh("tags")
        self.source.line(f"{count} = 0")
        self.source.line(f"{section} = bytearray()")
        for name, field in tagged.items():
            with self.source.inside(f".{name}"), self.source.block(self.if_said(f"{origin}.{name}", field)):
                self.tag(f"{origin}.{name}", field, section)
                self.source.line(f"{count} += 1")
        # Mostly none says anything.
        self.source.line(f"if not {count}: {self.out}.append(0)")
        with self.source.block("else"):
            self.source.line(f"write_uvarint({self.out}, {count})")
            self.source.line(f"{self.out} += {section}")

    def tag(self, value: str, field: Field, section: str) -> None:
        """One tagged field: its number, its size, and as many bytes."""
        outer, self.out = self.out, self.source.fresh("body")
        self.source.line(f"{self.out} = bytearray()")
        self.field(value, field)
        self.flush()
        self.source.line(f"write_uvarint({section}, {field.tag})")
        self.source.line(f"write_uvarint({section}, len({self.out}))")
        self.source.line(f"{section} += {self.out}")
        self.out = outer

    def if_said(self, value: str, field: Field) -> str:
        """The head of the block for a tagged field that differs from its default."""
        zero = field.zero()
        if zero is None:
            return f"if {value} is not None"
        if zero == []:
            return f"if {value} is None or len({value})"
        return f"if {value} != {self.source.constant('d', zero)}"

    def prefix(self, size: str, field: Field) -> None:
        """The length or count before a value."""
        prefix = prefix_of(field, self.form)
        if prefix.code:
            self.write(prefix.code, size)
            self.flush()
            return
        self.flush()
        name = self.source.fresh("n")
        self.source.line(f"{name} = {size} + 1" if prefix.compact else f"{name} = {size}")
        # Mostly one byte, for which a call would cost more than the writing.
        self.source.line(f"if {name} < 128: {self.out}.append({name})")
        self.source.line(f"else: write_uvarint({self.out}, {name})")

    def null_first(self, item: str, field: Field) -> AbstractContextManager[None]:
        """Writes the length that means null; what is written inside is for a value that is there."""
        if not field.is_nullable_in(self.form.version):
            return nullcontext()
        prefix: Prefix = prefix_of(field, self.form)
        return self.either(f"{item} is None", prefix.code or "B", "-1" if prefix.code else "0")

    def either(self, condition: str, code: str, value: str) -> AbstractContextManager[None]:
        """Writes a value if the condition holds; what is written inside is for the other case."""
        self.flush()
        with self.source.block(f"if {condition}"):
            self.write(code, value)
            self.flush()
        return self.source.block("else")

    def taken(self, value: str) -> str:
        """A name for the value, which is then looked up once."""
        if "." not in value:
            return value
        name = self.source.fresh("v")
        self.source.line(f"{name} = {value}")
        return name

    def write(self, code: str, value: str) -> None:
        """A value of fixed size, packed together with its neighbours."""
        self.run.append((code, value, self.source.field))

    def flush(self) -> None:
        """One call for all values that wait."""
        if not self.run:
            return
        packed = struct.Struct(self.form.order.value + "".join(code for code, _, _ in self.run))
        first, last = self.run[0][2], self.run[-1][2]
        about = first if first == last else f"{first} to {last}"
        values = ", ".join(value for _, value, _ in self.run)
        pack = self.source.constant("pack", packed.pack)
        self.source.line(f"{self.out} += {pack}({values})", about=about)
        self.run.clear()


_FAULTS = (struct.error, AttributeError, TypeError, ValueError)


def _unwritable(error: Exception, fields: tuple[str, ...]) -> ValueError:
    """The failure of a generated line, with the field that it was about."""
    return ValueError(f"{field_at_fault(fields, error.__traceback__)} cannot be written: {error}")


def _spliced(value: Buffer | Iterable[Buffer]) -> tuple[Iterable[Buffer], int]:
    """One buffer or several as several, and how many bytes they have."""
    if isinstance(value, Buffer):
        return (value,), len(value)
    buffers = list(value)
    return buffers, sum(map(len, buffers))

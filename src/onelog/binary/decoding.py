"""Writes the function that decodes one version of a message.

What has a fixed size and lies side by side is read by one call; lengths and counts count as
such, so most fields cost an assignment. The generated code never allocates for a length or a
count before it has compared it with the bytes that are left.
"""

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any
from uuid import UUID

from onelog.binary.errors import BinaryError, missing
from onelog.binary.fields import (
    Array,
    Bytes,
    Choice,
    Field,
    Fixed,
    Lengths,
    Option,
    Struct,
    Text,
    Uuid,
    Varint,
)
from onelog.binary.layout import (
    UUID_BYTES,
    Declaration,
    Form,
    Prefix,
    declaration_of,
    least_bytes,
    placed,
    prefix_of,
)
from onelog.binary.source import Source, field_at_fault
from onelog.binary.varint import Readable, read_uvarint, read_varint, read_varlong

READERS = {"uvarint": read_uvarint, "varint": read_varint, "varlong": read_varlong}

Decode = Callable[..., tuple[Any, int]]


def decoder(declaration: Declaration, form: Form) -> Decode:
    """decode(view, pos=0) -> (object, where it ends)"""
    title = f"decode {declaration.cls.__name__} {form.version}"
    return _Decoding(declaration, form).source.function("decode", title)


class _Decoding:
    """One function in the making. A run is what waits to be read by one call."""

    def __init__(self, declaration: Declaration, form: Form) -> None:
        self.form = form
        self.source = Source(declaration.cls.__name__)
        self.run: list[tuple[str, str, str]] = []
        self.after_run: list[str] = []
        constant = self.source.constants
        constant.update(new=object.__new__, faulty=_faulty, wrong_size=_wrong_size, FAULTS=_FAULTS)
        constant.update(read_uvarint=read_uvarint, skip_tags=_skip_tags, uuid_of=_uuid_of)
        constant.update(wrong_count=_wrong_count, wrong_byte=_wrong_byte, unpack_from=struct.unpack_from)
        with self.source.block("def decode(view, pos=0)"):
            self.source.line("end = len(view)")
            self.source.line(f"left = {form.elements_max}")
            with self.source.block("try"):
                self.make("o", declaration)
                self.fields("o", declaration)
                self.flush()
                self.source.line("return o, pos")
            with self.source.block("except FAULTS as error"):
                self.source.line("raise faulty(error, fields, pos, end) from None")

    def make(self, target: str, declaration: Declaration) -> None:
        """An object without its fields; they follow one by one."""
        self.source.line(f"{target} = new({self.source.constant('C', declaration.cls)})")

    def fields(self, target: str, declaration: Declaration) -> None:
        """All fields of a struct, into an object that is there."""
        places = placed(declaration, self.form)
        for name, field in (places.absent | places.tagged).items():
            self.source.line(f"{target}.{name} = {self.zero(field)}")
        for name, field in places.plain.items():
            with self.source.inside(f".{name}"):
                self.field(f"{target}.{name}", field)
        if self.form.flexible:
            self.tags(target, places.tagged)

    def field(self, target: str, field: Field) -> None:
        """One field, assigned to the target."""
        match field.kind:
            case Fixed(code=code):
                self.read(code, target)
            case Uuid():
                raw = self.source.fresh("u")
                self.read(f"{UUID_BYTES}s", raw)
                self.after_run.append(f"{target} = uuid_of({raw})")
            case Varint(form=form):
                self.flush()
                reader = self.source.constant("read_", READERS[form])
                self.source.line(f"{target}, pos = {reader}(view, pos)")
            case Text():
                self.sized(target, field, 'str(view[pos:stop], "utf-8")')
            case Bytes(view=view):
                self.sized(target, field, "memoryview(view)[pos:stop]" if view else "bytes(view[pos:stop])")
            case Array(element=element):
                self.array(target, field, element)
            case Struct(cls=cls):
                self.struct(target, field, declaration_of(cls))
            case Option(inner=inner):
                self.option(target, inner)
            case Choice() as choice:
                self.choice(target, choice)

    def sized(self, target: str, field: Field, value: str) -> None:
        """A length, and the value made of as many bytes."""
        size = self.prefix(prefix_of(field, self.form))
        with self.unless_null(target, field, size):
            self.check(
                prefix_of(field, self.form), f"{size} > end - pos", f"wrong_size({size}, pos, end)", size
            )
            self.source.line(f"stop = pos + {size}")
            self.source.line(f"{target} = {value}")
            self.source.line("pos = stop")

    def array(self, target: str, field: Field, element: Field) -> None:
        """A count, and a list of as many elements."""
        count = self.prefix(prefix_of(field, self.form))
        least = least_bytes(element, self.form)
        assert least > 0, f"{self.source.field}: elements without bytes could be counted without end"
        with self.unless_null(target, field, count):
            too_many = f"{count} * {least} > end - pos or {count} > left"
            error = f"wrong_count({count}, {least}, pos, end, left)"
            self.check(prefix_of(field, self.form), too_many, error, count)
            self.source.line(f"left -= {count}")
            if isinstance(element.kind, Fixed):
                order, code = self.form.order.value, element.kind.code
                self.source.line(f'{target} = list(unpack_from(f"{order}{{{count}}}{code}", view, pos))')
                self.source.line(f"pos += {count} * {least}")
            else:
                self.elements(target, element, count)

    def elements(self, target: str, element: Field, count: str) -> None:
        """As many elements as were counted, one by one."""
        items, item = self.source.fresh("items"), self.source.fresh("o")
        self.source.line(f"{target} = {items} = []")
        with self.source.inside("[]"), self.source.block(f"for _ in range({count})"):
            self.field(item, element)
            self.flush()
            self.source.line(f"{items}.append({item})")

    def struct(self, target: str, field: Field, declaration: Declaration) -> None:
        """A struct in place, behind a byte where it may be null."""
        item = self.source.fresh("o") if "." in target else target
        if not field.is_nullable_in(self.form.version):
            self.make(item, declaration)
            if item != target:
                self.source.line(f"{target} = {item}")
            self.fields(item, declaration)
            return
        presence = self.presence("b")
        with self.source.block(f"if {presence} == -1"):
            self.source.line(f"{target} = None")
        with self.source.block(f"elif {presence} == 1"):
            self.make(item, declaration)
            if item != target:
                self.source.line(f"{target} = {item}")
            self.fields(item, declaration)
            self.flush()
        with self.source.block("else"):
            self.source.line(f'raise wrong_byte({presence}, pos - 1, "-1 or 1")')

    def option(self, target: str, inner: Field) -> None:
        """A byte that says whether a value follows."""
        presence = self.presence("B")
        with self.source.block(f"if {presence} == 0"):
            self.source.line(f"{target} = None")
        with self.source.block(f"elif {presence} == 1"):
            self.field(target, inner)
            self.flush()
        with self.source.block("else"):
            self.source.line(f'raise wrong_byte({presence}, pos - 1, "0 or 1")')

    def choice(self, target: str, choice: Choice) -> None:
        """A number, and the struct that it stands for."""
        tag = self.source.fresh("tag")
        self.read(choice.code, tag)
        self.flush()
        for number, cls in choice.cases.items():
            item = self.source.fresh("o")
            with self.source.block(f"if {tag} == {number}"):
                self.make(item, declaration_of(cls))
                self.fields(item, declaration_of(cls))
                self.flush()
                self.source.line(f"{target} = {item}")
        known = tuple(choice.cases)
        with self.source.block(f"if {tag} not in {known!r}"):
            if choice.is_closed:
                size = struct.calcsize(choice.code)
                self.source.line(f"raise wrong_byte({tag}, pos - {size}, {_listed(known)!r})")
            else:
                self.source.line(f"{target} = {tag}")

    def tags(self, target: str, tagged: dict[str, Field]) -> None:
        """The section at the end of a struct. Unknown tags are skipped: newer peers have more."""
        count = self.source.fresh("n")
        with self.source.inside(".<tags>"):
            self.read("B", count)
            self.flush()
            if not tagged:
                self.source.line(f"if {count}: pos = skip_tags(view, pos - 1, end)")
                return
            with self.source.block(f"if {count}"):
                self.source.line(f"{count}, pos = read_uvarint(view, pos - 1)")
        with self.source.block(f"for _ in range({count})"):
            self.tag(target, tagged)

    def tag(self, target: str, tagged: dict[str, Field]) -> None:
        """One tagged field: its number, its size, and as many bytes."""
        tag, size, stop = (self.source.fresh(stem) for stem in ("tag", "size", "stop"))
        with self.source.inside(".<tags>"):
            self.source.line(f"{tag}, pos = read_uvarint(view, pos)")
            self.source.line(f"{size}, pos = read_uvarint(view, pos)")
            self.source.line(f"if {size} > end - pos: raise wrong_size({size}, pos, end)")
            self.source.line(f"{stop} = pos + {size}")
        for name, field in tagged.items():
            with self.source.inside(f".{name}"), self.source.block(f"if {tag} == {field.tag}"):
                self.field(f"{target}.{name}", field)
                self.flush()
                self.source.line(f"if pos != {stop}: raise wrong_size({size}, {stop} - {size}, pos)")
        self.source.line(f"pos = {stop}")

    def prefix(self, prefix: Prefix) -> str:
        """Reads a length or count; returns the name of it, in which null is -1."""
        size = self.source.fresh("n")
        self.read(prefix.code or "B", size)
        self.flush()
        if not prefix.code:
            self.source.line(f"if {size} > 127: {size}, pos = read_uvarint(view, pos - 1)")
        if prefix.compact:
            self.source.line(f"{size} -= 1")
        return size

    def presence(self, code: str) -> str:
        """Reads the byte that says whether a value follows; returns the name of it."""
        name = self.source.fresh("is_there")
        self.read(code, name)
        self.flush()
        return name

    def unless_null(self, target: str, field: Field, size: str) -> AbstractContextManager[None]:
        """Writes what null comes to; what is written inside is for a value that is there."""
        if not field.is_nullable_in(self.form.version):
            return nullcontext()
        with self.source.block(f"if {size} == -1"):
            self.source.line(f"{target} = None")
        return self.source.block("else")

    def check(self, prefix: Prefix, too_large: str, error: str, size: str) -> None:
        """Refuses a length or count that the bytes cannot hold."""
        if prefix.code and prefix.may_be_negative and self.form.lengths is Lengths.LENIENT:
            self.source.line(f"if {size} < 0: {size} = 0")
        elif prefix.may_be_negative:
            too_large = f"{size} < 0 or {too_large}"
        self.source.line(f"if {too_large}: raise {error}")

    def read(self, code: str, target: str) -> None:
        """A value of fixed size, read together with its neighbours."""
        self.run.append((code, target, self.source.field))

    def flush(self) -> None:
        """One call for all values that wait."""
        if not self.run:
            return
        packed = struct.Struct(self.form.order.value + "".join(code for code, _, _ in self.run))
        first, last = self.run[0][2], self.run[-1][2]
        about = first if first == last else f"{first} to {last}"
        if packed.size == 1 and self.run[0][0] == "B":
            self.source.line(f"{self.run[0][1]} = view[pos]", about=about)
        else:
            targets = ", ".join(target for _, target, _ in self.run)
            unpack = self.source.constant("unpack", packed.unpack_from)
            self.source.line(f"{targets}, = {unpack}(view, pos)", about=about)
        self.source.line(f"pos += {packed.size}")
        for line in self.after_run:
            self.source.line(line)
        self.run.clear()
        self.after_run.clear()

    def zero(self, field: Field) -> str:
        """What a field is where it is not in the bytes, as an expression."""
        value = field.zero()
        if isinstance(value, list):
            return "[]" if not value else f"list({self.source.constant('d', field.default)})"
        if isinstance(field.kind, Struct) and value is not None:
            return f"{self.source.constant('C', field.kind.cls)}()"
        if value is None or isinstance(value, int | str | bytes):
            return repr(value)
        return self.source.constant("d", value)


_FAULTS = (BinaryError, struct.error, IndexError, UnicodeDecodeError)


def _faulty(error: Exception, fields: tuple[str, ...], position: int, end: int) -> BinaryError:
    """The failure of a generated line as what it says about the bytes."""
    field = field_at_fault(fields, error.__traceback__)
    match error:
        case BinaryError():
            return BinaryError(field, error.position, error.found, error.expected)
        case UnicodeDecodeError():
            return BinaryError(field, position + error.start, error.reason, "UTF-8")
    return BinaryError(field, position, f"{max(end - position, 0)} bytes", "more")


def _wrong_size(size: int, position: int, end: int) -> BinaryError:
    return BinaryError("", position, f"a length of {size}", f"0 to {end - position}")


def _wrong_count(count: int, least: int, position: int, end: int, left: int) -> BinaryError:
    return BinaryError("", position, f"a count of {count}", f"0 to {min((end - position) // least, left)}")


def _listed(numbers: tuple[int, ...]) -> str:
    return " or ".join(map(str, sorted(numbers)))


def _wrong_byte(found: int, position: int, expected: str) -> BinaryError:
    return BinaryError("", position, f"the byte {found}", expected)


def _skip_tags(view: Readable, pos: int, end: int) -> int:
    """Past a section of tagged fields, none of which is known."""
    count, pos = read_uvarint(view, pos)
    for _ in range(count):
        _, pos = read_uvarint(view, pos)
        size, pos = read_uvarint(view, pos)
        if size > end - pos:
            raise missing("", pos, needed=size, there=end - pos)
        pos += size
    return pos


@lru_cache(maxsize=1024)
def _uuid_of(raw: bytes) -> UUID:
    """Making one costs more than reading all fields around it, and the same ids come again and again."""
    return UUID(bytes=raw)

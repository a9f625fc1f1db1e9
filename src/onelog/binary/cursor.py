"""Reading and writing by hand, for layouts that depend on what was read before.

A Reader stays inside its bytes and names the field that they end in; a Writer keeps large
buffers as they are. What can be declared is declared (message) and costs a fraction of this.
"""

from collections.abc import Callable
from struct import Struct

from onelog.binary.errors import BinaryError, missing
from onelog.binary.fields import Order
from onelog.binary.varint import (
    Readable,
    read_uvarint,
    read_varint,
    read_varlong,
    write_uvarint,
    write_varint,
    write_varlong,
)

_NUMBERS = {order: {code: Struct(order.value + code) for code in "bBhHiIqQd"} for order in Order}


class Reader:
    """A position in bytes that moves forward as fields are read. Views that it gives are not copies."""

    __slots__ = ("_end", "_numbers", "_view", "pos")

    def __init__(self, data: Readable, *, order: Order = Order.BIG, pos: int = 0) -> None:
        self._view = memoryview(data)
        self._end = len(self._view)
        self._numbers = _NUMBERS[order]
        self.pos = pos

    @property
    def left(self) -> int:
        """How many bytes were not read yet."""
        return self._end - self.pos

    def i8(self, field: str) -> int:
        return self._number("b", field)

    def i16(self, field: str) -> int:
        return self._number("h", field)

    def i32(self, field: str) -> int:
        return self._number("i", field)

    def i64(self, field: str) -> int:
        return self._number("q", field)

    def u8(self, field: str) -> int:
        return self._number("B", field)

    def u16(self, field: str) -> int:
        return self._number("H", field)

    def u32(self, field: str) -> int:
        return self._number("I", field)

    def u64(self, field: str) -> int:
        return self._number("Q", field)

    def uvarint(self, field: str) -> int:
        value, self.pos = self._named(field, read_uvarint)
        return value

    def varint(self, field: str) -> int:
        value, self.pos = self._named(field, read_varint)
        return value

    def varlong(self, field: str) -> int:
        value, self.pos = self._named(field, read_varlong)
        return value

    def take(self, count: int, field: str) -> memoryview:
        """So many bytes."""
        if not 0 <= count <= self.left:
            raise missing(field, self.pos, needed=count, there=self.left)
        taken = self._view[self.pos : self.pos + count]
        self.pos += count
        return taken

    def text(self, count: int, field: str) -> str:
        """So many bytes of UTF-8."""
        start = self.pos
        try:
            return str(self.take(count, field), "utf-8")
        except UnicodeDecodeError as error:
            raise BinaryError(field, start + error.start, error.reason, "UTF-8") from None

    def part(self, count: int, field: str) -> "Reader":
        """A reader of so many bytes, which cannot leave them; this one goes on behind."""
        made = Reader(self.take(count, field))
        made._numbers = self._numbers
        return made

    def count(self, count: int, field: str, *, least_bytes: int) -> int:
        """The count, if that many elements of at least so many bytes can be there."""
        if not 0 <= count * least_bytes <= self.left:
            raise BinaryError(field, self.pos, f"a count of {count}", f"0 to {self.left // least_bytes}")
        return count

    def _number(self, code: str, field: str) -> int:
        number = self._numbers[code]
        if number.size > self.left:
            raise missing(field, self.pos, needed=number.size, there=self.left)
        (value,) = number.unpack_from(self._view, self.pos)
        self.pos += number.size
        found: int = value
        return found

    def _named(self, field: str, read: Callable[[Readable, int], tuple[int, int]]) -> tuple[int, int]:
        try:
            return read(self._view, self.pos)
        except BinaryError as error:
            raise BinaryError(field, error.position, error.found, error.expected) from None


class Writer:
    """Bytes in the making. Large ones are kept as they were given, between the others."""

    __slots__ = ("_numbers", "_out", "_parts")

    def __init__(self, *, order: Order = Order.BIG) -> None:
        self._numbers = _NUMBERS[order]
        self._parts: list[Readable] = []
        self._out = bytearray()

    def i8(self, value: int) -> None:
        self._out += self._numbers["b"].pack(value)

    def i16(self, value: int) -> None:
        self._out += self._numbers["h"].pack(value)

    def i32(self, value: int) -> None:
        self._out += self._numbers["i"].pack(value)

    def i64(self, value: int) -> None:
        self._out += self._numbers["q"].pack(value)

    def u8(self, value: int) -> None:
        self._out += self._numbers["B"].pack(value)

    def u16(self, value: int) -> None:
        self._out += self._numbers["H"].pack(value)

    def u32(self, value: int) -> None:
        self._out += self._numbers["I"].pack(value)

    def u64(self, value: int) -> None:
        self._out += self._numbers["Q"].pack(value)

    def uvarint(self, value: int) -> None:
        write_uvarint(self._out, value)

    def varint(self, value: int) -> None:
        write_varint(self._out, value)

    def varlong(self, value: int) -> None:
        write_varlong(self._out, value)

    def put(self, data: Readable) -> None:
        """Bytes, copied."""
        self._out += data

    def splice(self, data: Readable) -> None:
        """Bytes, kept as they are: they must not change before they are sent."""
        if self._out:
            self._parts.append(self._out)
            self._out = bytearray()
        self._parts.append(data)

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return sum(map(len, self._parts)) + len(self._out)

    def buffers(self) -> list[Readable]:
        """All that was written, in order."""
        return [*self._parts, self._out] if self._out else list(self._parts)

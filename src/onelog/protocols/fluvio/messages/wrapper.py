"""What goes around an object at the controller: what it is, and how long.

+---------------+--------------+-----------------+
| label text16  | length u32   | inner           |
+---------------+--------------+-----------------+
                  from version 11 on; before it, inner follows at once
"""

import struct
from typing import Final, NamedTuple

from onelog.binary.cursor import Reader
from onelog.protocols.fluvio.messages.form import Buffer

LENGTH_SINCE: Final = 11

_LENGTH = struct.Struct(">I")


class Wrapped(NamedTuple):
    """A label, the bytes that are inside, and where they end."""

    label: str
    inner: memoryview
    end: int


def unwrap(view: memoryview, pos: int, version: int) -> Wrapped:
    """What stands at pos."""
    reader = Reader(view, pos=pos)
    label = reader.text(max(reader.i16("label"), 0), "label")
    size = reader.u32("inner length") if version >= LENGTH_SINCE else reader.left
    return Wrapped(label, reader.take(size, "inner"), reader.pos)


def wrap(label: str, inner: list[Buffer], version: int) -> list[Buffer]:
    """The same, written."""
    name = label.encode()
    head = struct.pack(">H", len(name)) + name
    if version >= LENGTH_SINCE:
        head += _LENGTH.pack(sum(map(len, inner)))
    return [head, *inner]

"""How a message is read and written: what a table of requests needs to know of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from onelog.binary.message import codec

Buffer = bytes | bytearray | memoryview


class Form(NamedTuple):
    """One message in all its versions.

    decode(view, pos, version) -> (message, where it ends); encode(message, version) -> buffers.
    """

    decode: Callable[[memoryview, int, int], tuple[Any, int]]
    encode: Callable[[Any, int], list[Buffer]]


def declared(cls: type[Any]) -> Form:
    """The form of a class made by @message."""
    return Form(
        lambda view, pos, version: codec(cls, version).decode(view, pos),
        lambda message, version: codec(cls, version).encode(message),
    )

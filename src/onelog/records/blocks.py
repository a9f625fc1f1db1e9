"""The two steps of the kernels that C does with pointers: where bytes begin, and copying a block.

`blocks.pxd` beside it has the same two for the compiled kernels; this module itself is never
compiled. Callers have checked that both blocks are inside of their buffers.
"""

from typing import TypeVar

from onelog.records.record import Buffer

T = TypeVar("T", bytes, bytearray, memoryview, Buffer)


def start(data: T) -> T:
    """Where the bytes begin: a pointer in C, the buffer itself here."""
    return data


def copy(target: Buffer, to: int, source: Buffer, at: int, length: int) -> None:
    """Copy length bytes; the two do not overlap."""
    target[to : to + length] = source[at : at + length]  # type: ignore[index]  # targets are writable

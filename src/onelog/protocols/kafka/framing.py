"""Frames: a length, then so many bytes. What is in them is for connection.py and the client.

length i32 | header | message
"""

from collections.abc import Sequence

from onelog.binary.errors import BinaryError

Buffer = bytes | bytearray | memoryview

LENGTH_BYTES = 4
# Kafka's socket.request.max.bytes.
FRAME_BYTES_MAX = 100 * 1024 * 1024


def frame_size(waiting: Buffer, *, bytes_max: int = FRAME_BYTES_MAX) -> int:
    """The bytes of the frame that begins here, its length included; 0 while that is not known.

    A length that is negative or above bytes_max is a BinaryError, as soon as it is there.
    """
    if len(waiting) < LENGTH_BYTES:
        return 0
    length = int.from_bytes(waiting[:LENGTH_BYTES], "big", signed=True)
    if not 0 <= length <= bytes_max:
        raise BinaryError("frame", 0, f"a length of {length}", f"0 to {bytes_max}")
    return LENGTH_BYTES + length


def frames(data: Buffer, *, bytes_max: int = FRAME_BYTES_MAX) -> tuple[list[memoryview], int]:
    """What is in the whole frames at the front, as views, and how many bytes they take."""
    view = memoryview(data)
    found = []
    pos = 0
    while (size := frame_size(view[pos : pos + LENGTH_BYTES], bytes_max=bytes_max)) and size <= len(
        view
    ) - pos:
        found.append(view[pos + LENGTH_BYTES : pos + size])
        pos += size
    return found, pos


def framed(buffers: Sequence[Buffer]) -> list[Buffer]:
    """The buffers as one frame."""
    return [sum(map(len, buffers)).to_bytes(LENGTH_BYTES, "big"), *buffers]

"""RustLog's frame, in both directions and both forms.

0        4
+--------+----------------------+
| length | payload              |
+--------+----------------------+
u32 BE    1 to 10 485 760 bytes
"""

import struct
from typing import Final

from onelog.binary.errors import BinaryError

FRAME_BYTES_MAX: Final = 10_485_760
HEADER_BYTES: Final = 4

_LENGTH = struct.Struct(">I")


def payload_size(header: bytes | bytearray | memoryview, *, size_max: int = FRAME_BYTES_MAX) -> int:
    """How long the payload behind this header is; BinaryError if no frame is that long."""
    (size,) = _LENGTH.unpack_from(header)
    if not 0 < size <= size_max:
        raise BinaryError("frame length", 0, str(size), f"1 to {size_max}")
    return int(size)


def header(size: int) -> bytes:
    """What stands before a payload of this size."""
    return _LENGTH.pack(size)


def framed(payload: bytearray) -> bytearray:
    """A payload that was written behind HEADER_BYTES of room, with its length in front."""
    _LENGTH.pack_into(payload, 0, len(payload) - HEADER_BYTES)
    return payload

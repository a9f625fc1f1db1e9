"""TANK's frame, in both directions.

0        1        5
+--------+--------+----------------------+
| kind   | length | payload              |
+--------+--------+----------------------+
u8        u32 LE   0 to 64 MiB, unless the settings say otherwise

An answer is of its request's kind, but for ProduceNumbered, which is answered as Produce is.
A ping has no payload.
"""

import struct
from enum import IntEnum
from typing import Final

from onelog.binary.errors import BinaryError

HEADER_BYTES: Final = 5
# Unless the settings say otherwise. TANK's own bound is 256 MiB; a frame is held in memory until
# it is whole, so ours is smaller.
FRAME_BYTES_MAX: Final = 64 << 20

_HEADER = struct.Struct("<BI")


class Kind(IntEnum):
    """What a frame is."""

    PRODUCE = 0x01
    FETCH = 0x02
    PING = 0x03
    REGISTER_REPLICA = 0x04
    PRODUCE_NUMBERED = 0x05
    DISCOVER_PARTITIONS = 0x06
    CREATE_TOPIC = 0x07
    RELOAD_CONFIG = 0x08
    FETCH_AS_PEER = 0x09
    STATUS = 0x0A
    DISCOVER_TOPICS = 0x0B
    DISCOVER_TOPOLOGY = 0x0C


PING_FRAME: Final = _HEADER.pack(Kind.PING, 0)


def read_header(view: memoryview | bytes | bytearray, *, size_max: int = FRAME_BYTES_MAX) -> tuple[int, int]:
    """The kind of a frame, known or not, and the length of its payload; BinaryError if none is that long."""
    kind, size = _HEADER.unpack_from(view)
    if size > size_max:
        raise BinaryError("frame length", 1, str(size), f"0 to {size_max}")
    return kind, size


def header(kind: Kind, size: int) -> bytes:
    """What stands before a payload of this size."""
    return _HEADER.pack(kind, size)

"""Fluvio's frame, in both directions. Nothing is said of it: no magic, no checksum.

0        4
+--------+--------------------+
| length | header and body    |
+--------+--------------------+
i32        10 bytes or more in a request, 4 or more in an answer

request   key u16 | version i16 | correlation_id i32 | client_id text16 | body
answer    correlation_id i32 | body

The first request of a connection and the first of those after it both have the correlation
id 1: clients begin to count when they have learnt our versions.
"""

import struct
from typing import Final

LENGTH_BYTES: Final = 4
# Key, version, correlation id, and the length of the client id.
REQUEST_BYTES_MIN: Final = 10
# Twice what a batch may have: one that is too large is still read whole, and answered.
FRAME_BYTES_MAX: Final = 64 << 20

_LENGTH = struct.Struct(">i")
_ANSWER = struct.Struct(">ii")


def frame_length(view: bytes | bytearray | memoryview) -> int:
    """What stands in the first four bytes; it may be anything."""
    (length,) = _LENGTH.unpack_from(view)
    found: int = length
    return found


def request_head(request_bytes: int) -> bytes:
    """What stands before a request, header and body."""
    return _LENGTH.pack(request_bytes)


def answer_head(correlation_id: int, body_bytes: int) -> bytes:
    """What stands before the body of an answer."""
    return _ANSWER.pack(LENGTH_BYTES + body_bytes, correlation_id)

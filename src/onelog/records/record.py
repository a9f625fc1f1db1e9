"""A record and its headers, as everyone above the bytes knows them.

Plain values. Where a record stands (its offset) belongs to the batch it came in, not to it.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

Buffer = bytes | bytearray | memoryview


class TimestampType(Enum):
    """Who said when: the producer, or the log when it took the batch."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Header(NamedTuple):
    """A name and a value that travel beside a record. Names may repeat."""

    key: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """What was said, under which key, and when (milliseconds since 1970, any 64 bits)."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[Header, ...] = ()

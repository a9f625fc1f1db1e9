"""PRODUCE: a record, and where it went."""

from typing import Final

from onelog.binary.fields import bytes32, i32, i64, text16, u64
from onelog.binary.message import BIG, message
from onelog.protocols.flymq.messages.versions import PROGRAMS

AUTO: Final = -1
NO_KEY: Final = -1


@message(byte_order=BIG)
class Produce:
    """One record. An empty key is none. The document's own example leaves the partition outside."""

    topic: str = text16()
    key: bytes = bytes32()
    value: bytes = bytes32()
    partition: int = i32(since=PROGRAMS, default=AUTO)


@message(byte_order=BIG)
class Produced:
    """Where a record is, and what of it arrived."""

    topic: str = text16()
    partition: int = i32()
    offset: int = u64()
    timestamp_ms: int = i64()
    key_size: int = i32()
    value_size: int = i32()

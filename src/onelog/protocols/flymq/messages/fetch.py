"""FETCH and CONSUME. The records of an answer to FETCH are recordset.py's."""

from onelog.binary.fields import bytes32, i32, text16, u64
from onelog.binary.message import BIG, message
from onelog.protocols.flymq.messages.versions import PROGRAMS


@message(byte_order=BIG)
class Consume:
    """The one record at an offset."""

    topic: str = text16()
    partition: int = i32()
    offset: int = u64()


@message(byte_order=BIG)
class Fetch:
    """Records from an offset on. The document knows no filter."""

    topic: str = text16()
    partition: int = i32()
    offset: int = u64()
    count_max: int = i32()
    filter: str = text16(since=PROGRAMS)


@message(byte_order=BIG)
class Consumed:
    """A record."""

    key: bytes = bytes32()
    value: bytes = bytes32()

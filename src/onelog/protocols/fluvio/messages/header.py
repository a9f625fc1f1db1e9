"""What stands before every request."""

from onelog.binary.fields import i16, i32, text16, u16
from onelog.binary.message import LENIENT, message


@message(lengths=LENIENT)
class RequestHeader:
    """Always in this one form, whatever the version of what follows."""

    key: int = u16()
    version: int = i16()
    correlation_id: int = i32()
    client_id: str = text16()

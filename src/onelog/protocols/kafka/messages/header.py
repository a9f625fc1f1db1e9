"""What goes before every request and response.

Which version of a header goes with which version of a message is in versions.py.
"""

from onelog.binary.fields import i16, i32, text16
from onelog.binary.message import SIGNED, message


@message(flexible=2, lengths=SIGNED)
class RequestHeader:
    """Versions 1 and 2. The client id keeps its classic length even where all else is compact."""

    request_api_key: int = i16()
    request_api_version: int = i16()
    correlation_id: int = i32()
    client_id: str | None = text16(nullable=True, compact=False)


@message(flexible=1, lengths=SIGNED)
class ResponseHeader:
    """Versions 0 and 1."""

    correlation_id: int = i32()

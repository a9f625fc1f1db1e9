"""A RustLog broker's Error: its code, its name, what it says, and the facts it adds."""

from collections.abc import Mapping
from typing import Any

from onelog.client.errors import ClientError
from onelog.protocols.rustlog.errors import BinaryCode, Code
from onelog.protocols.rustlog.messages import binary, json

_UNKNOWN_PLACE = (
    BinaryCode.UNKNOWN_PARTITION,
    BinaryCode.TOPIC_NOT_DESCRIBED,
    BinaryCode.PARTITION_NOT_DESCRIBED,
)


class RustLogError(ClientError):
    """What a broker said no to. 500 and above: it may do it later. Facts are told in JSON only."""

    def __init__(self, error: json.Error | binary.Error) -> None:
        self.code = error.code
        codes = Code if isinstance(error, json.Error) else BinaryCode
        self.name = next((code.name for code in codes if code == error.code), f"ERROR_{error.code}")
        self.message = error.message
        details = error.details if isinstance(error, json.Error) else None
        self.details: Mapping[str, Any] = details or {}
        super().__init__(
            f"{self.name} ({self.code}): {self.message.rstrip('.')}.", retriable=error.code >= 500
        )
        self.is_unknown_place = codes is BinaryCode and error.code in _UNKNOWN_PLACE

"""A RustLog broker's Error: its code, its name, what it says, and the facts it adds."""

from collections.abc import Mapping
from typing import Any

from onelog.client.errors import ClientError
from onelog.protocols.rustlog.errors import Code
from onelog.protocols.rustlog.messages.json import Error


class RustLogError(ClientError):
    """What a broker said no to. 4xx: mend the request; 5xx: the broker may do it later."""

    def __init__(self, error: Error) -> None:
        self.code = error.code
        self.name = next((code.name for code in Code if code == error.code), f"ERROR_{error.code}")
        self.message = error.message
        self.details: Mapping[str, Any] = error.details or {}
        super().__init__(
            f"{self.name} ({self.code}): {self.message.rstrip('.')}.", retriable=error.code >= 500
        )

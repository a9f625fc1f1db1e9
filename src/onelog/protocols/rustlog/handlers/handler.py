"""One connection's calls, each served in the form that it came in."""

from typing import TYPE_CHECKING, Any

from onelog.protocols.contract import Outcome, Session
from onelog.protocols.rustlog.handlers.binary_form import BINARY, BinaryHandler
from onelog.protocols.rustlog.handlers.context import Context
from onelog.protocols.rustlog.handlers.json_form import JsonHandler

if TYPE_CHECKING:
    from onelog.broker.broker import Broker


class RustLogHandler:
    """Both forms on one connection. Owned by its pump."""

    def __init__(self, broker: "Broker", session: Session) -> None:
        self._context = Context(broker)
        self._json = JsonHandler(self._context)
        self._binary = BinaryHandler(self._context)

    def handle(self, message: Any) -> Outcome:
        """One request."""
        form = self._binary if type(message) in BINARY else self._json
        return form.handle(message)

    def closed(self) -> None:
        """Nothing of a connection outlives it."""
        self._context.closed()

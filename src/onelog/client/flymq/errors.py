"""A FlyMQ broker's ERROR: a text, and nothing else to go by."""

import re

from onelog.client.errors import ClientError

_UNKNOWN_PLACE = re.compile(r"topic not found|partition \d+ (not found|out of range)")


class FlyMQError(ClientError):
    """What a broker said no to."""

    def __init__(self, text: str) -> None:
        self.text = text
        # A cluster that has no leader yet will have one.
        super().__init__(f"{text.rstrip('.')}.", retriable="not leader" in text.lower())
        self.is_unknown_place = _UNKNOWN_PLACE.match(text) is not None

    @property
    def is_unknown_group(self) -> bool:
        """No such group in that topic."""
        return self.text.startswith("consumer group not found")

    @property
    def is_unknown_opcode(self) -> bool:
        """The broker does not serve this request at all."""
        return self.text.startswith("unknown opcode")

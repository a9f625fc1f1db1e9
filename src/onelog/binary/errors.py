"""The one complaint about bytes: they say something that cannot be true.

Whose fault that is, and what to answer, is decided by whoever read them from somewhere.
"""


class BinaryError(ValueError):
    """Bytes that lie: which field, where, what was found, what was expected there."""

    def __init__(self, field: str, position: int, found: str, expected: str) -> None:
        super().__init__(field, position, found, expected)
        self.field = field
        self.position = position
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.field} at byte {self.position}: {self.found}; expected {self.expected}"


class TooLarge(BinaryError):
    """There is more of it than the reader allows."""


def missing(field: str, position: int, *, needed: int, there: int) -> BinaryError:
    """The bytes end before the field does."""
    return BinaryError(field, position, f"{max(there, 0)} bytes", f"{needed} bytes")

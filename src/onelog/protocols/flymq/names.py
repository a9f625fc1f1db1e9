"""How FlyMQ's topic names, any UTF-8, are spelled as the product's, and back.

    orders/eu  ->  orders.-2Feu       .-  ->  .-2E-        ..  ->  .-2E.-2E

Percent-encoding with `.-` for the percent sign: bytes outside the alphabet, and a dot that
would be taken for such a sign. A stored name that is no such spelling is shown as it is.
"""

import re
from typing import Final

_OUTSIDE: Final = re.compile(rb"[^a-zA-Z0-9._-]|\.(?=-)")
_SPELLED: Final = re.compile(r"\.-([0-9A-F]{2})")
# Kafka's directories cannot have these names.
_DOTS: Final = frozenset((".", ".."))
_HIDDEN: Final = "__"


def spelled(name: str) -> str:
    """The name under which the product stores it; whether it may have it is judged there."""
    if name in _DOTS:
        return _sign(b".").join([""] * (len(name) + 1))
    return _OUTSIDE.sub(lambda found: _sign(found[0]).encode(), name.encode()).decode()


def shown(stored: str) -> str:
    """The name that FlyMQ sees."""
    if ".-" not in stored:
        return stored
    raw = _SPELLED.sub(lambda found: chr(int(found[1], 16)), stored).encode("latin-1")
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        return stored
    return name if spelled(name) == stored else stored


def is_hidden(name: str) -> bool:
    """Whether a list of topics leaves it out."""
    return name.startswith(_HIDDEN)


def _sign(byte: bytes) -> str:
    return f".-{byte[0]:02X}"

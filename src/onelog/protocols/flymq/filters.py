"""The filter of a FETCH: one text that is a path, a part of the record, or a pattern.

In this order, the first that holds: `$.a.b` names a member that the value, a JSON object, has;
the text stands in value or key, in any case; the text, as a regular expression, is found in
one of them. A pattern that is none finds nothing.

Patterns come from peers and meet records of megabytes, so the engine is RE2: its time grows
with the text alone, whatever the pattern, where Python's own would not come back. It is also
the syntax that FlyMQ's broker has.
"""

from functools import lru_cache, partial
from typing import Any, Final

import msgspec
import re2

from onelog.protocols.flymq.recordset import Wanted

# What one pattern may take; a larger one is refused, and finds nothing.
PATTERN_BYTES_MAX: Final = 1 << 20

_PATH: Final = "$."


@lru_cache(maxsize=64)
def wanted(filter: str) -> Wanted | None:
    """What keeps a record, or None: all of them."""
    if not filter:
        return None
    path = filter[len(_PATH) :].split(".") if filter.startswith(_PATH) else None
    return partial(_is_wanted, path, filter.lower().encode(), _pattern(filter))


def _is_wanted(path: list[str] | None, part: bytes, pattern: Any, key: bytes, value: bytes) -> bool:
    if path is not None and value[:1] == b"{" and _has_path(value, path):
        return True
    if part in _lower(value) or part in _lower(key):
        return True
    return pattern is not None and bool(pattern.search(value) or pattern.search(key))


def _has_path(value: bytes, path: list[str]) -> bool:
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return False
    for name in path:
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


def _lower(text: bytes) -> bytes:
    """In lower case, of any script; what is no text, its ASCII letters."""
    if text.isascii():
        return text.lower()
    return text.decode(errors="surrogateescape").lower().encode(errors="surrogateescape")


def _pattern(text: str) -> Any:
    options = re2.Options()
    options.max_mem = PATTERN_BYTES_MAX
    options.log_errors = False
    try:
        return re2.compile(text.encode(), options)
    except re2.error:
        return None

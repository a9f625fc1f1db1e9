"""A topic's settings as TANK says them: lines of `key=value`, `#` begins a comment.

    log.retention.secs=2d        durations: seconds, or sums like 1h+30m of s m h d w
    log.segment.bytes=64mb       sizes: bytes, or b kb mb gb tb, each 1024 times the one before

They become the product's settings, which are Kafka's. What has no effect here may be given its
default only; the rest is refused by its name. Keys are told apart in any case.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from onelog.errors import InvalidConfig, Unsupported

VALUE_CHARS_MAX: Final = 127
CONFIG_BYTES_MAX: Final = 16 << 10

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SIZES: Final = {"": 0, "b": 0, "k": 1, "kb": 1, "m": 2, "mb": 2, "g": 3, "gb": 3, "t": 4, "tb": 4}
_DURATION: Final = re.compile(r"(\d{1,18})\s*([smhdw]?)")
_SIZE: Final = re.compile(r"(\d{1,18})\s*([kmgt]?b?)")


@dataclass(frozen=True, slots=True)
class _Setting:
    """One key: how its value is read, what it is called here, and how it is said."""

    read: Callable[[str, str], int]
    name: str = ""
    scale: int = 1
    least: int = 0
    none: str | None = None  # what TANK's 0, for ever or without limit, is called here
    default: int = 0


def settings(text: bytes) -> dict[str, str]:
    """The settings that the lines ask for, or InvalidConfig, or Unsupported."""
    found: dict[str, str] = {}
    if len(text) > CONFIG_BYTES_MAX:
        raise InvalidConfig(key="config", value=f"{len(text)} bytes", expected=f"at most {CONFIG_BYTES_MAX}")
    try:
        lines = text.decode().splitlines()
    except UnicodeDecodeError as error:
        raise InvalidConfig(key="config", value=repr(text[:40]), expected="UTF-8") from error
    for line in lines:
        key, equals, value = (part.strip() for part in line.partition("#")[0].partition("="))
        if not key and not equals:
            continue
        if not equals or not 0 < len(value) <= VALUE_CHARS_MAX:
            raise InvalidConfig(
                key=key, value=value[:40], expected=f"KEY=VALUE, 1 to {VALUE_CHARS_MAX} characters"
            )
        found.update(_setting(key.lower(), value.lower()))
    return found


def _setting(key: str, value: str) -> dict[str, str]:
    if key == "log.cleanup.policy":
        return _policy(key, value)
    setting = _TABLE.get(key)
    if setting is None:
        raise InvalidConfig(key=key, value=value, expected=f"one of {', '.join(sorted(_TABLE))}")
    number = setting.read(key, value)
    if not setting.name:
        if setting.default not in (number, _ANY):
            raise Unsupported(f"{key} = {value}, other than its default {setting.default},")
        return {}
    if number == 0 and setting.none is not None:
        return {setting.name: setting.none}
    if number < setting.least:
        raise InvalidConfig(key=key, value=value, expected=f"at least {setting.least}")
    return {setting.name: str(number * setting.scale)}


def _policy(key: str, value: str) -> dict[str, str]:
    if value == "delete":
        return {}
    if value == "cleanup":
        raise Unsupported(f"{key} = cleanup, which is compaction,")
    raise InvalidConfig(key=key, value=value, expected="delete or cleanup")


def _duration(key: str, value: str) -> int:
    total = 0
    for term in value.split("+"):
        match = _DURATION.fullmatch(term.strip())
        if match is None:
            raise InvalidConfig(key=key, value=value, expected="a duration, like 120, 2d or 1h+30m")
        total += int(match[1]) * _UNITS[match[2]]
    return total


def _size(key: str, value: str) -> int:
    match = _SIZE.fullmatch(value)
    if match is None:
        raise InvalidConfig(key=key, value=value, expected="a size, like 4096, 64mb or 1gb")
    return int(match[1]) << 10 * _SIZES[match[2]]


def _whole(key: str, value: str) -> int:
    if not re.fullmatch(r"\d{1,18}", value):
        raise InvalidConfig(key=key, value=value, expected="a whole number")
    return int(value)


def _percent(key: str, value: str) -> int:
    """A ratio from 0 to 1, in hundredths."""
    if not re.fullmatch(r"[01]?(\.\d{1,6})?", value) or not 0 <= float(value) <= 1:
        raise InvalidConfig(key=key, value=value, expected="a number from 0 to 1")
    return round(float(value) * 100)


# Flushing more often than asked is no less than asked: every answer is behind its sync.
_ANY: Final = -1
_TABLE: Final[Mapping[str, _Setting]] = {
    "log.retention.secs": _Setting(_duration, "retention.ms", scale=1000, none="-1"),
    "log.retention.bytes": _Setting(_size, "retention.bytes", least=128, none="-1"),
    "log.segment.bytes": _Setting(_size, "segment.bytes", least=64),
    "log.roll.secs": _Setting(_duration, "segment.ms", scale=1000, least=1),
    "log.index.interval.bytes": _Setting(_size, "index.interval.bytes", least=128),
    "log.index.size.max.bytes": _Setting(_size, default=10 << 20),
    "log.roll.jitter.secs": _Setting(_duration),
    "log.cleaner.min.cleanable.ratio": _Setting(_percent, default=50),
    "retention.segments.count": _Setting(_whole),
    "flush.messages": _Setting(_whole, default=_ANY),
    "flush.secs": _Setting(_duration, default=_ANY),
}

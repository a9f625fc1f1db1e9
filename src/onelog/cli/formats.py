"""Records as text and text as records: what `consume` prints and `produce` reads.

    value      the value
    key-value  the key, the separator (TAB unless told), the value
    json       an object: topic, partition, offset, timestamp_ms, key, value, headers
    hex        key and value in hexadecimal with a blank in between; - is null
    raw        (consume) the value, and no line end after it
    full       (consume) for people: place, time, key, value, headers
    whole      (produce) all that comes is one value

A line ends with LF. json and hex lose nothing: what one command prints, the other reads back.
Bytes that are not UTF-8 are {"base64": "..."} in JSON.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from onelog.cli.output import CommandFailed, json_line
from onelog.records.record import Header, Record

SEPARATOR = "\t"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MEMBERS = {"topic", "partition", "offset", "timestamp_ms", "key", "value", "headers"}


@dataclass(frozen=True)
class Placed:
    """A record and where it stands."""

    topic: str
    partition: int
    offset: int
    record: Record


@dataclass(frozen=True)
class Text:
    """How bytes are put beside each other in the formats that leave room for it."""

    separator: str = SEPARATOR
    null: str = ""


def _value(placed: Placed, text: Text) -> bytes:
    return _shown(placed.record.value, text) + b"\n"


def _key_value(placed: Placed, text: Text) -> bytes:
    record = placed.record
    return _shown(record.key, text) + text.separator.encode() + _shown(record.value, text) + b"\n"


def _json(placed: Placed, text: Text) -> bytes:
    record = placed.record
    said = {
        "topic": placed.topic,
        "partition": placed.partition,
        "offset": placed.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": _to_json(record.key),
        "value": _to_json(record.value),
        "headers": [{"key": key, "value": _to_json(value)} for key, value in record.headers],
    }
    return json_line(said).encode() + b"\n"


def _hex(placed: Placed, text: Text) -> bytes:
    return f"{_to_hex(placed.record.key)} {_to_hex(placed.record.value)}\n".encode()


def _raw(placed: Placed, text: Text) -> bytes:
    return placed.record.value or b""


def _full(placed: Placed, text: Text) -> bytes:
    record = placed.record
    parts = [
        f"{placed.topic}/{placed.partition}",
        str(placed.offset),
        time_text(record.timestamp_ms),
        _readable(record.key),
        _readable(record.value),
        *(f"{key}={_readable(value)}" for key, value in record.headers),
    ]
    return "  ".join(parts).encode() + b"\n"


PRINTERS: Mapping[str, Callable[[Placed, Text], bytes]] = {
    "value": _value,
    "key-value": _key_value,
    "json": _json,
    "hex": _hex,
    "raw": _raw,
    "full": _full,
}


@dataclass(frozen=True)
class Wanted:
    """A record that is to be written, and the partition, if its text names one."""

    record: Record
    partition: int | None = None


def _parse_value(line: bytes, text: Text, now_ms: int) -> Wanted:
    return Wanted(Record(None, line, now_ms))


def _parse_key_value(line: bytes, text: Text, now_ms: int) -> Wanted:
    key, separator, value = line.partition(text.separator.encode())
    if not separator:
        raise CommandFailed(f"no {text.separator!r} between key and value; name another with --key-separator")
    return Wanted(Record(key, value, now_ms))


def _parse_json(line: bytes, text: Text, now_ms: int) -> Wanted:
    try:
        said = json.loads(line)
    except ValueError as error:
        raise CommandFailed(f"no JSON: {error}") from error
    if not isinstance(said, dict) or not said.keys() <= _MEMBERS:
        raise CommandFailed(f"expected an object with members among {', '.join(sorted(_MEMBERS))}")
    headers = said.get("headers") or []
    if not isinstance(headers, list):
        raise CommandFailed("headers: expected a list")
    record = Record(
        _from_json("key", said.get("key")),
        _from_json("value", said.get("value")),
        _number("timestamp_ms", said.get("timestamp_ms", now_ms)),
        tuple(map(_header_from_json, headers)),
    )
    partition = said.get("partition")
    return Wanted(record, None if partition is None else _number("partition", partition))


def _parse_hex(line: bytes, text: Text, now_ms: int) -> Wanted:
    words = line.decode(errors="replace").split()
    if not 1 <= len(words) <= 2:
        raise CommandFailed("expected a value in hexadecimal, or key and value with a blank in between")
    key = _from_hex(words[0]) if len(words) == 2 else None
    return Wanted(Record(key, _from_hex(words[-1]), now_ms))


# `whole` is not here: it is a way to read the input, not a line of it.
PARSERS: Mapping[str, Callable[[bytes, Text, int], Wanted]] = {
    "value": _parse_value,
    "key-value": _parse_key_value,
    "json": _parse_json,
    "hex": _parse_hex,
}


def time_text(timestamp_ms: int) -> str:
    """The moment in UTC; the number itself where no calendar reaches, and - where none is known."""
    if timestamp_ms == -1:
        return "-"
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(data: bytes | None, text: Text) -> bytes:
    return text.null.encode() if data is None else data


def _readable(data: bytes | None) -> str:
    return "null" if data is None else data.decode(errors="backslashreplace")


def _to_json(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _from_json(name: str, said: Any) -> bytes | None:
    if said is None:
        return None
    try:
        if isinstance(said, str):
            return said.encode()
        if isinstance(said, dict) and said.keys() == {"base64"}:
            return base64.b64decode(said["base64"], validate=True)
    except (TypeError, ValueError) as error:
        raise CommandFailed(f"{name}: {error}") from error
    raise CommandFailed(f'{name}: expected a text, null or {{"base64": "..."}}')


def _header_from_json(said: Any) -> Header:
    if (
        not isinstance(said, dict)
        or not said.keys() <= {"key", "value"}
        or not isinstance(said.get("key"), str)
    ):
        raise CommandFailed('headers: expected objects with "key" and "value"')
    return Header(said["key"], _from_json("headers", said.get("value")))


def _number(name: str, said: Any) -> int:
    if isinstance(said, bool) or not isinstance(said, int):
        raise CommandFailed(f"{name}: expected a whole number")
    return said


def _to_hex(data: bytes | None) -> str:
    return "-" if data is None else data.hex() or "''"


def _from_hex(word: str) -> bytes | None:
    if word in ("-", "''"):
        return None if word == "-" else b""
    try:
        return binascii.unhexlify(word)
    except ValueError as error:
        raise CommandFailed(f"{word!r:.40} is not hexadecimal: {error}") from error

"""Arguments that several commands share, and how their texts become values.

Pure: a parser says what is wrong with a text, argparse says it to the person, exit code 2.
"""

import argparse
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from onelog.client.address import DEFAULT_BOOTSTRAP, DEFAULT_BOOTSTRAPS, parse_bootstrap
from onelog.client.errors import ClientError
from onelog.client.rustlog.forms import Form

TIMEOUT_S = 10.0
# RustLog's broker and its document speak two forms of one protocol.
RUSTLOG_FORMS: Mapping[str, Form] = {"rustlog": Form.JSON, "rustlog-binary": Form.BINARY}


def add_broker(parser: argparse.ArgumentParser) -> None:
    """--bootstrap and --timeout."""
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT",
        type=bootstrap,
        default=DEFAULT_BOOTSTRAP,
        help="where a broker listens; several are separated by commas "
        f"(default: {DEFAULT_BOOTSTRAP}, or the port of the dialect's own)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=TIMEOUT_S,
        help="how long to try before giving up (default: %(default)s)",
    )


def add_dialect(parser: argparse.ArgumentParser) -> None:
    """--dialect, which --bootstrap goes by where it is not given."""
    parser.add_argument(
        "--dialect",
        choices=("kafka", *RUSTLOG_FORMS, "tank", "flymq", "fluvio"),
        default="kafka",
        help="the protocol to speak (default: %(default)s)",
    )
    parser.set_defaults(bootstrap=None)


def bootstrap_of(args: argparse.Namespace) -> str:
    """Where the broker listens for the dialect, unless told."""
    told: str | None = args.bootstrap
    return told or DEFAULT_BOOTSTRAPS.get(args.dialect, DEFAULT_BOOTSTRAP)


def bootstrap(text: str) -> str:
    """The text, if it is HOST:PORT[,HOST:PORT...]."""
    try:
        parse_bootstrap(text)
    except ClientError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r}: expected seconds, more than 0 and at most a day")
    return value


def whole(least: int) -> Callable[[str], int]:
    """A parser of whole numbers from least on."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, at least {least}")
        return value

    return parse


def pair(text: str) -> tuple[str, str]:
    """K=V."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE")
    return key, value


class Where(Enum):
    """What the number of a Start counts."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"
    FROM_END = "from_end"
    TIME = "time"


class Start(NamedTuple):
    """Where to begin to read a partition."""

    where: Where
    number: int = 0


def start(text: str) -> Start:
    """earliest, latest, an offset, -N for the last N, @ms since 1970, or an ISO time (UTC if it names no zone)."""
    if text in ("earliest", "latest"):
        return Start(Where(text))
    try:
        if text.startswith("@"):
            return Start(Where.TIME, int(text[1:]))
        if text.startswith("-") and text[1:].isdecimal():
            return Start(Where.FROM_END, int(text[1:]))
        if text.isdecimal():
            return Start(Where.OFFSET, int(text))
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected earliest, latest, an offset, -N, @MILLISECONDS or a time like 2026-11-19T12:00:00"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Start(Where.TIME, int(moment.timestamp() * 1000))

"""What commands say to people: failures, tables, JSON lines, progress.

Results go to stdout and nothing else does. Progress goes to stderr, and only when a person
is looking at it; a pipe gets silence.
"""

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, TextIO

from onelog.clock import Clock, SystemClock

PROGRESS_INTERVAL_S = 0.2


class CommandFailed(Exception):
    """A command cannot do what it was asked: where, what was found, what to do; exit code 1.

    For what is a command's own. Refusals of a broker and errors of the clients pass as they are.
    """


def needs_extra(extra: str, *packages: str) -> None:
    """Refuse a command whose packages are not installed, before it imports them."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise CommandFailed(
            f"{', '.join(missing)} not installed; this command needs the extra {extra!r}. "
            f"From a clone: pip install '.[{extra}]'."
        )


def table(rows: Sequence[Sequence[str]], *, header: Sequence[str]) -> str:
    """Columns as wide as what is in them, two spaces apart."""
    everything = [header, *rows]
    widths = [max(len(row[column]) for row in everything) for column in range(len(header))]
    lines = [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in everything
    ]
    return "\n".join(line.rstrip() for line in lines)


def json_line(value: Any) -> str:
    """One line of JSON, as other programs like to read it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Progress:
    """One line on stderr that is written over, a few times a second; nothing in a pipe."""

    def __init__(self, *, stream: TextIO | None = None, clock: Clock | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock or SystemClock()
        self._shown = self._stream.isatty()
        self._width = 0
        self._started_s = self._said_s = self._clock.monotonic_s()

    def elapsed_s(self) -> float:
        """Since it began; never 0, so that a rate can be taken."""
        return max(self._clock.monotonic_s() - self._started_s, 1e-6)

    def say(self, text: str) -> None:
        """Show how far it is, unless that was just shown."""
        now_s = self._clock.monotonic_s()
        if self._shown and now_s - self._said_s >= PROGRESS_INTERVAL_S:
            self._said_s = now_s
            self._write(text)

    def end(self, text: str = "") -> None:
        """The last word: it stays, or with an empty text the line is cleared."""
        if self._shown and (text or self._width):
            self._write(text)
            if text:
                self._stream.write("\n")
                self._stream.flush()

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text:{self._width}}" if text else f"\r{' ' * self._width}\r")
        self._stream.flush()
        self._width = len(text)

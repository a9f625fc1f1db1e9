"""The cross matrix: what each dialect wrote, every other reads, before and after a broker that is killed.

    python -m tests.conformance.matrix            print it
    python -m tests.conformance.matrix --write    put it into docs/protocols/README.md

Each writer writes what it can say of every key, value and header below, with each of its codecs, to a
topic of its own. A reader passes when every record comes with all that its dialect can say of it.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.conformance.driver import Kind, Message, Read, told
from tests.conformance.drivers.all import KINDS, LISTENERS, PRESENT, addresses_of
from tests.support.served import Served
from tests.support.source_tree import ROOT

PAGE = ROOT / "docs" / "protocols" / "README.md"
BEGIN = "<!-- cross matrix: begin (python -m tests.conformance.matrix --write) -->"
END = "<!-- cross matrix: end -->"

KEYS = (None, b"", b"k", b"K" * 255, b"K" * 256)
VALUES = (None, b"", b"v", b"a value that may be compressed " * 100)
HEADERS: tuple[tuple[tuple[str, bytes | None], ...], ...] = (
    (),
    (("trace", b"1"), ("trace", b"")),
    (("none", None),),
)
MESSAGES = [Message(v, k, h) for k, v, h in itertools.product(KEYS, VALUES, HEADERS)]


class Reader(Protocol):
    """As much of a driver as a reader needs."""

    def read(self, topic: str, offset: int = 0, *, partition: int = 0) -> list[Read]: ...


@dataclass
class Row:
    """One writer with one codec, and what each reader made of it."""

    writer: Kind
    codec: str
    written: list[Message]
    # Reader to how many records came as they should, before and after the restart.
    whole: dict[str, list[int]] = field(default_factory=dict)

    @property
    def topic(self) -> str:
        return f"{self.writer.name}-{self.codec}"

    def judge(self, reader: Kind, driver: Reader) -> None:
        """Compare what the reader sees with what it should see."""
        expected = [reader.expression.of(m) for m in self.written]
        found = told(driver.read(self.topic))
        matching = sum(f == e for f, e in zip(found, expected, strict=False))
        # One record too many is as wrong as one too few.
        self.whole.setdefault(reader.name, []).append(matching if len(found) <= len(expected) else -1)

    def is_whole(self) -> bool:
        """Whether every reader saw everything, both times."""
        return all(counts == [len(self.written)] * 2 for counts in self.whole.values())

    def cell(self, reader: Kind) -> str:
        """As it stands in the table."""
        if reader.not_yet:
            return "not yet"
        before, after = self.whole[reader.name]
        if (before, after) != (len(self.written),) * 2:
            return f"**{before}, then {after}, of {len(self.written)}**"
        less = sum(reader.expression.of(m) != m for m in self.written)
        return f"{before}" if not less else f"{before}, {less} in part"


def run() -> list[Row]:
    """Write everything, read it, kill the broker, read it again."""
    rows = [
        Row(kind, codec, [m for m in MESSAGES if kind.expression.holds(m)])
        for kind in PRESENT
        for codec in kind.codecs
    ]
    with (
        tempfile.TemporaryDirectory(prefix="onelog-matrix-") as folder,
        Served(Path(folder) / "data", ports=dict.fromkeys(LISTENERS, 0)) as served,
    ):
        for kind in PRESENT:
            with closing(kind.open(addresses_of(served))) as driver:
                for row in [r for r in rows if r.writer is kind]:
                    driver.create_topic(row.topic)
                    driver.produce(row.topic, row.written, codec=row.codec)
        read(served, rows)
        served.kill()
        served.start()
        read(served, rows)
    return rows


def read(served: Served, rows: Sequence[Row]) -> None:
    """Every row by every reader."""
    with ExitStack() as stack:
        for reader in PRESENT:
            driver = stack.enter_context(closing(reader.open(addresses_of(served))))
            for row in rows:
                row.judge(reader, driver)


def table(rows: Sequence[Row]) -> str:
    """The section of the page, between its markers."""
    lines = [
        BEGIN,
        "",
        "## What each dialect wrote, every other reads",
        "",
        "Each line is a topic: keys that are null, empty, of 1, 255 and 256 bytes, times values that are null,",
        "empty, short and long, times headers and none, as far as the writer can say them, in each codec that it has.",
        "A cell is how many records the reader saw with all that its dialect can say of them, before the broker was",
        "killed and after it; *in part* are those that hold something that it cannot say. The clients are",
        "confluent-kafka, kafka-python, and for the others ones that share no code with onelog.",
        "",
        "| written by | codec | records | " + " | ".join(k.name for k in KINDS) + " |",
        "|---" * (len(KINDS) + 3) + "|",
    ]
    for row in rows:
        cells = " | ".join(row.cell(reader) for reader in KINDS)
        lines.append(f"| {row.writer.name} | {row.codec} | {len(row.written)} | {cells} |")
    lines += [
        f"| {kind.name} | | | " + " | ".join("not yet" for _ in KINDS) + " |"
        for kind in KINDS
        if kind.not_yet
    ]
    return "\n".join([*lines, "", END])


def placed(page: str, section: str) -> str:
    """The page with this section where its markers stand, or at its end."""
    before, begin, rest = page.partition(BEGIN)
    if not begin:
        return f"{page.rstrip()}\n\n{section}\n"
    _, end, after = rest.partition(END)
    assert end, f"{PAGE.name}: the end marker of the cross matrix is missing"
    return before + section + after


def main(argv: list[str] | None = None) -> int:
    """Run, print or write; 0 when every cell is whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.matrix")
    parser.add_argument("--write", action="store_true", help="put it into docs/protocols/README.md")
    args = parser.parse_args(argv)
    rows = run()
    if args.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), table(rows)), encoding="utf-8")
    else:
        sys.stdout.write(table(rows) + "\n")
    return 0 if all(row.is_whole() for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Client x feature: every cell is a program of its own, run against a broker.

    python -m tests.interop.table                          run all cells, print the table
    python -m tests.interop.table --write                  and put it into docs/protocols/interop.md
    python -m tests.interop.table --client java --feature group-join --against kafka

A red cell is run against Apache Kafka as well. Only what is red there, too, is explained; the
run ends with 1 as long as any other cell is red.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop import cache
from tests.interop.clients.harness import NO_SUCH_CALL
from tests.interop.features import FEATURES
from tests.interop.yardstick import apache_kafka
from tests.support.served import Served

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "protocols" / "interop.md"
BEGIN, END = "<!-- made by `python -m tests.interop.table --write` -->", "<!-- end -->"
# Longer than a driver's own patience, so that it can say itself what it waited for.
CELL_TIMEOUT_S = 120


@dataclass(frozen=True)
class Client:
    """A column: its name in the table, and the command that its features are given to."""

    title: str
    command: Callable[[], list[str]]


def _module(name: str) -> Callable[[], list[str]]:
    return lambda: [str(cache.python()), "-m", f"tests.interop.clients.{name}"]


CLIENTS = {
    "kcat": Client("kcat 1.7.1", lambda: [*_module("kcat")(), *cache.kcat()]),
    "confluent": Client(f"confluent-kafka {cache.PYTHON['confluent-kafka']}", _module("confluent")),
    "kafka-python": Client(f"kafka-python {cache.PYTHON['kafka-python']}", _module("kafka_python")),
    "aiokafka": Client(f"aiokafka {cache.PYTHON['aiokafka']}", _module("aiokafka_driver")),
    "java": Client(f"Java {cache.KAFKA}", cache.java_driver),
    "tools": Client(
        f"Kafka's tools {cache.KAFKA}", lambda: [*_module("tools")(), *cache.java(f"{cache.jars()}/*")]
    ),
    "franz": Client(f"franz-go {cache.FRANZ_GO}", cache.franz),
    "kafkajs": Client(f"kafkajs {cache.KAFKAJS}", cache.kafkajs),
}


@dataclass(frozen=True)
class Cell:
    """What came of one feature of one client: "yes", "-" where it has no such call, or "no"."""

    mark: str
    reason: str = ""


def tried(command: Sequence[str], feature: str, bootstrap: str, name: str) -> Cell:
    """Run one cell; a driver that hangs is ended with all that it started."""
    with subprocess.Popen(
        [*command, feature, bootstrap, name],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            _, said = running.communicate(timeout=CELL_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return Cell("no", f"nothing within {CELL_TIMEOUT_S} s")
    if running.returncode == 0:
        return Cell("yes")
    if running.returncode == NO_SUCH_CALL:
        return Cell("-")
    lines = said.strip().splitlines() or [f"exit code {running.returncode}"]
    return Cell("no", lines[-1])


@contextmanager
def onelog(folder: Path) -> Iterator[str]:
    """Our broker, with group timings that a test can wait for."""
    with Served(folder / "data") as served:
        yield served.bootstrap


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, write; 1 when a red cell is green against Apache Kafka."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.table")
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--feature", action="append", choices=FEATURES)
    parser.add_argument("--against", choices=("onelog", "kafka"), default="onelog")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(argv)
    clients, features = args.client or list(CLIENTS), args.feature or list(FEATURES)
    try:
        cells = _run(args.against, [(client, feature) for feature in features for client in clients])
    except cache.Missing as missing:
        print(f"interop: {missing}", file=sys.stderr)
        return 2
    red = [place for place, cell in cells.items() if cell.mark == "no"]
    for client, feature in red:
        print(f"RED  {client} {feature}: {cells[client, feature].reason}")
    if args.against == "kafka":
        return 1 if red else 0
    beside = _run("kafka", red) if red else {}
    unexplained = [place for place in red if beside[place].mark != "no"]
    text = _table(clients, features, cells, beside)
    print(text)
    for client, feature in unexplained:
        print(f"UNEXPLAINED  {client} {feature}: green against Apache Kafka {cache.KAFKA}")
    if args.write:
        _write(text)
    return 1 if unexplained else 0


def _run(against: str, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Cell]:
    commands = {client: CLIENTS[client].command() for client in dict.fromkeys(c for c, _ in places)}
    found = {}
    with tempfile.TemporaryDirectory(prefix="onelog-interop-") as folder:
        broker = onelog if against == "onelog" else apache_kafka
        with broker(Path(folder)) as bootstrap:
            for client, feature in places:
                cell = tried(commands[client], feature, bootstrap, f"{client}-{feature}")
                print(f"{against}: {client} {feature} {cell.mark} {cell.reason}", file=sys.stderr)
                found[client, feature] = cell
    return found


def _table(
    clients: Sequence[str],
    features: Sequence[str],
    cells: dict[tuple[str, str], Cell],
    beside: dict[tuple[str, str], Cell],
) -> str:
    head = ["feature", *(CLIENTS[client].title for client in clients)]
    rows = [head, ["---"] * len(head)]
    notes: list[str] = []
    for feature in features:
        row = [FEATURES[feature]]
        for client in clients:
            cell = cells[client, feature]
            if cell.mark != "no":
                row.append(cell.mark)
                continue
            there = beside[client, feature]
            like = "the same against Apache Kafka" if there.mark == "no" else "works against Apache Kafka"
            notes.append(
                f"{len(notes) + 1}. {CLIENTS[client].title}, {FEATURES[feature]}: {cell.reason} ({like})"
            )
            row.append(f"no ({len(notes)})")
        rows.append(row)
    marks = [cell.mark for cell in cells.values()]
    counts = (
        f"{marks.count('yes')} cells work, {marks.count('-')} are calls that a client does not have, "
        f"{marks.count('no')} do not work."
    )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", counts, *(["", *notes] if notes else [])])


def _write(text: str) -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    raise SystemExit(main())

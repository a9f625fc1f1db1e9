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
from tests.interop.features import FEATURES, WHEEL
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
    listener: str = "shared"


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
    "wheel": Client(f"fluvio {cache.PYTHON['fluvio']} from PyPI", _module("wheel"), "fluvio-sc"),
}
KAFKAS = [name for name, client in CLIENTS.items() if client.listener == "shared"]
PORTS = ("shared", "fluvio-sc", "fluvio-spu", "console")


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
def onelog(folder: Path) -> Iterator[dict[str, str]]:
    """Our broker; where its listeners are."""
    with Served(folder / "data", ports=dict.fromkeys(PORTS, 0)) as served:
        yield {name: f"127.0.0.1:{port}" for name, port in served.ports.items()}


@contextmanager
def kafka(folder: Path) -> Iterator[dict[str, str]]:
    """Apache Kafka."""
    with apache_kafka(folder) as bootstrap:
        yield {"shared": bootstrap}


BROKERS = {"onelog": onelog, "kafka": kafka}


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, write; 1 when a red cell is green against Apache Kafka."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.table")
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--feature", action="append", choices=[*FEATURES, *WHEEL])
    parser.add_argument("--against", choices=BROKERS, default="onelog")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(argv)
    clients = args.client or (list(CLIENTS) if args.against == "onelog" else KAFKAS)
    tables = [
        ([c for c in clients if c in KAFKAS], [f for f in FEATURES if f in (args.feature or FEATURES)]),
        ([c for c in clients if c not in KAFKAS], [f for f in WHEEL if f in (args.feature or WHEEL)]),
    ]
    try:
        cells = _run(args.against, [(c, f) for columns, rows in tables for f in rows for c in columns])
    except cache.Missing as missing:
        print(f"interop: {missing}", file=sys.stderr)
        return 2
    red = [place for place, cell in cells.items() if cell.mark == "no"]
    for client, feature in red:
        print(f"RED  {client} {feature}: {cells[client, feature].reason}")
    if args.against == "kafka":
        return 1 if red else 0
    judged = [place for place in red if place[0] in KAFKAS]
    beside = _run("kafka", judged) if judged else {}
    unexplained = [place for place in red if place not in beside or beside[place].mark != "no"]
    notes: list[str] = []
    text = "\n\n".join(_table(c, f, cells, beside, notes) for c, f in tables if c and f)
    text = "\n\n".join([text, _counts(cells), *(["\n".join(notes)] if notes else [])])
    print(text)
    for client, feature in unexplained:
        print(f"UNEXPLAINED  {client} {feature}: nothing says that the original does not do it either")
    if args.write:
        _write(text)
    return 1 if unexplained else 0


def _run(against: str, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Cell]:
    commands = {client: CLIENTS[client].command() for client in dict.fromkeys(c for c, _ in places)}
    found = {}
    with (
        tempfile.TemporaryDirectory(prefix="onelog-interop-") as folder,
        BROKERS[against](Path(folder)) as addresses,
    ):
        for client, feature in places:
            address = addresses[CLIENTS[client].listener]
            cell = tried(commands[client], feature, address, f"{client}-{feature}")
            print(f"{against}: {client} {feature} {cell.mark} {cell.reason}", file=sys.stderr)
            found[client, feature] = cell
    return found


def _table(
    clients: Sequence[str],
    features: Sequence[str],
    cells: dict[tuple[str, str], Cell],
    beside: dict[tuple[str, str], Cell],
    notes: list[str],
) -> str:
    head = ["feature", *(CLIENTS[client].title for client in clients)]
    rows = [head, ["---"] * len(head)]
    for feature in features:
        row = [(FEATURES | WHEEL)[feature]]
        for client in clients:
            cell = cells[client, feature]
            row.append(cell.mark)
            if cell.mark == "no":
                is_explained = beside.get((client, feature), Cell("yes")).mark == "no"
                like = "the same against Apache Kafka" if is_explained else "not so against the original"
                notes.append(f"{len(notes) + 1}. {CLIENTS[client].title}, {row[0]}: {cell.reason} ({like})")
                row[-1] = f"no ({len(notes)})"
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _counts(cells: dict[tuple[str, str], Cell]) -> str:
    marks = [cell.mark for cell in cells.values()]
    return (
        f"{marks.count('yes')} cells work, {marks.count('-')} are calls that a client does not have, "
        f"{marks.count('no')} do not work."
    )


def _write(text: str) -> None:
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    raise SystemExit(main())

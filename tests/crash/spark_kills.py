"""SIGKILL of Spark's driver, many times, in the middle of landing; nothing may be missing or doubled.

The driver dies while a batch is being written, just after its commit to the table (before Spark
has noted it as done, which is when it comes again), or at any moment. Afterwards our audit has
to be clean, and a check that shares no code with it has to agree: DuckDB over the files that
the table's log names, confluent-kafka over the topic. Then the same again with the check of the
batch number removed, which has to lead to rows that are there twice: otherwise the kills
prove nothing.
"""

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from onelog.pipeline.flow import Pipeline, landing
from onelog.pipeline.ledger import Entry, Verdict
from onelog.pipeline.run import run
from onelog.pipeline.sinks import Sink
from tests.support.served import Served

TOPIC = "landed"
PARTITIONS = 3
RECORDS_PER_S = 300
BATCH_TIMEOUT_S = 90.0
UNCHECKED = "--unchecked-driver"

Row = tuple[int, int, bytes | None, bytes | None]


def main(argv: list[str] | None = None) -> int:
    """Kill, verify, report; 0 when nothing is missing or doubled, and the mutant was caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.spark_kills")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--mutant-kills", type=int, default=10, help="at most so many until a double is found"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(UNCHECKED, nargs=2, metavar=("BOOTSTRAP", "TABLE"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.unchecked_driver:
        return _unchecked(*args.unchecked_driver)
    with tempfile.TemporaryDirectory(prefix="onelog-spark-kills-") as folder:
        served = Served(Path(folder) / "data").start()
        try:
            return _run(Path(folder), served.bootstrap, args, random.Random(args.seed))
        finally:
            if served.process is not None:
                served.kill()


def _run(folder: Path, bootstrap: str, args: argparse.Namespace, rng: random.Random) -> int:
    table, mutant = folder / "table", folder / "mutant"
    load = Load(bootstrap)
    load.start()
    try:
        for number in range(args.kills):
            moment = rng.choice([_while_writing, _just_committed, _just_committed, _anywhen])
            _kill(_land(bootstrap, table), table, moment, rng)
            _say(f"kill {number + 1} of {args.kills}: {moment.__name__.strip('_')}, {len(_rows(table))} rows")
        caught = 0
        for number in range(args.mutant_kills):
            _kill(_driver(bootstrap, mutant), mutant, _just_committed, rng)
            caught = _doubled(mutant)
            _say(f"without the check, kill {number + 1}: {caught} rows are doubled")
            if caught:
                break
    finally:
        load.end()
    _finish(bootstrap, table)
    findings = _findings(bootstrap, table)
    if not caught:
        findings.append("with the check removed no row was doubled: the kills came at harmless moments")
    for finding in findings:
        _say(finding)
    _say(f"{args.kills} kills, {load.sent} records: {'FAILED' if findings else 'each landed once'}")
    return 1 if findings else 0


class Load(threading.Thread):
    """Writes numbered records until told to end. An idempotent producer of somebody else's."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS)]).values():
            future.result()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20}
        )
        self._ended = threading.Event()
        self.sent = 0

    def run(self) -> None:
        for number in itertools.count():
            key = None if number % 7 == 0 else b"k%d" % (number % 50)
            value = None if number % 11 == 0 else b"value %d" % number
            self._producer.produce(TOPIC, key=key, value=value, partition=number % PARTITIONS)
            self._producer.poll(0)
            self.sent = number + 1
            if self._ended.wait(1 / RECORDS_PER_S):
                return

    def end(self) -> None:
        self._ended.set()
        self.join()
        self._producer.flush()


# --- the driver, and the moments at which it dies --------------------------------------


def _land(bootstrap: str, table: Path, *options: str) -> "subprocess.Popen[bytes]":
    words = ["-m", "onelog", "land", TOPIC, f"--to={table}", f"--bootstrap={bootstrap}", "--master=local[2]"]
    return _process([*words, *options])


def _driver(bootstrap: str, table: Path) -> "subprocess.Popen[bytes]":
    return _process(["-m", "tests.crash.spark_kills", UNCHECKED, bootstrap, str(table)])


def _process(words: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, *words], start_new_session=True, stderr=subprocess.DEVNULL)


def _unchecked(bootstrap: str, table: str) -> int:
    """The mutant: every batch counts as new."""

    def anything_goes(sink: Sink, entry: Entry) -> Verdict:
        sink.table.refresh()
        return Verdict.NEW

    Sink.judge = anything_goes  # type: ignore[method-assign, assignment]  # that is the mutation
    run(Pipeline(flows=(landing(TOPIC, table),), bootstrap=bootstrap, master="local[2]"))
    return 0


Moment = Callable[[Path, random.Random], bool]


def _kill(process: "subprocess.Popen[bytes]", table: Path, moment: Moment, rng: random.Random) -> None:
    """Let it land at least one batch of its own, wait for the moment, kill."""
    commits = _commits(table)
    pause = threading.Event()
    for _ in range(int(BATCH_TIMEOUT_S / 0.02)):
        if _commits(table) > commits + 1:
            break
        if process.poll() is not None:
            raise AssertionError(f"the driver ended by itself with {process.returncode}")
        pause.wait(0.02)
    else:
        raise AssertionError(f"no batch within {BATCH_TIMEOUT_S} s")
    moment(table, rng)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # The JVM notices that its driver is gone; half of the time it is not given the time to.
    if rng.random() < 0.5:
        _kill_group(process.pid)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _while_writing(table: Path, rng: random.Random) -> bool:
    staging = table / "_onelog" / "staging"
    return _awaited(lambda: any(staging.iterdir())) and not threading.Event().wait(rng.uniform(0, 0.2))


def _just_committed(table: Path, rng: random.Random) -> bool:
    commits = _commits(table)
    return _awaited(lambda: _commits(table) > commits)


def _anywhen(table: Path, rng: random.Random) -> bool:
    return not threading.Event().wait(rng.uniform(0, 2))


def _awaited(condition: Callable[[], bool]) -> bool:
    pause = threading.Event()
    return any(condition() or pause.wait(0.001) for _ in range(5000))


def _commits(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


# --- afterwards --------------------------------------------------------------------------


def _finish(bootstrap: str, table: Path) -> None:
    """Land the rest."""
    if _land(bootstrap, table, "--once").wait(BATCH_TIMEOUT_S) != 0:
        raise AssertionError("the last run failed")


def _findings(bootstrap: str, table: Path) -> list[str]:
    findings = []
    words = [sys.executable, "-m", "onelog", "audit", str(table), f"--bootstrap={bootstrap}", "--json"]
    audit = subprocess.run(words, capture_output=True, text=True, check=False)
    if audit.returncode != 0:
        findings.append(f"the audit is not clean: {audit.stdout or audit.stderr}")
    landed, logged = _rows(table), _logged(bootstrap)
    if landed != logged:
        findings.append(
            f"DuckDB and confluent-kafka see {len(landed)} rows and {len(logged)} records; "
            f"missing {len(set(logged) - set(landed))}, doubled {_doubled(table)}, other {len(set(landed) - set(logged))}"
        )
    return findings


def _rows(table: Path) -> list[Row]:
    """The table as DuckDB reads the files that are in it, by the table's own log."""
    files: set[str] = set()
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                files.add(str(table / action["add"]["path"]))
            if "remove" in action:
                files.discard(str(table / action["remove"]["path"]))
    if not files:
        return []
    query = 'select "_log_partition", "_offset", key, value from read_parquet($files)'
    return sorted(duckdb.execute(query, {"files": sorted(files)}).fetchall(), key=_place)


def _doubled(table: Path) -> int:
    places = [_place(row) for row in _rows(table)]
    return len(places) - len(set(places))


def _logged(bootstrap: str) -> list[Row]:
    """The topic as confluent-kafka reads it."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "enable.auto.commit": False})
    rows: list[Row] = []
    for partition in range(PARTITIONS):
        _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=10)
        consumer.assign([TopicPartition(TOPIC, partition, 0)])
        offset = -1
        while offset < end - 1:
            for message in consumer.consume(1000, timeout=5):
                offset = _taken(message, partition, rows)
    consumer.close()
    return sorted(rows, key=_place)


def _taken(message: Message, partition: int, rows: list[Row]) -> int:
    offset = message.offset()
    assert message.error() is None
    assert offset is not None
    rows.append((partition, offset, message.key(), message.value()))
    return int(offset)


def _place(row: Row) -> tuple[int, int]:
    return row[0], row[1]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())

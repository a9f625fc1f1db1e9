"""Small produces of 1, 8 and 64 connections, beside real brokers and beside the disk itself.

Each connection has one request in flight: one record of 100 bytes. Everything that is compared
runs within one run, one after the other, round by round. The floor is one thread that writes the
same bytes to a file that is written already and syncs them, again and again.

Expected of the commit log: 2, 3 and 5 times Kafka that syncs every message, and ahead of NATS
and PostgreSQL, which sync as well. Without syncs (`os`): 0.7, 0.7 and 0.8 of Kafka as it comes.
"""

import os
import re
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import frames, load, peers
from benchmarks.measure import median, now_s, spread, table, tree_cpu_s
from onelog.client.kafka.client import KafkaClient

CONNECTIONS = (1, 8, 64)
ROUNDS = 5
SECONDS = 2.0
RECORD_BYTES = 100
TOPIC = "requests"
FLOOR = "raw write + sync"
NATS_OPENING = b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB answers.%d 1\r\n'


@dataclass(frozen=True)
class Taken:
    """What one broker did in one round."""

    requests_per_s: float
    p99_us: float
    cpu_s_per_million: float


Load = Callable[[int], Taken]


def main(only: Sequence[str] = ()) -> None:
    """Rounds alternate between all of them. only: names of those that take part; none: all."""
    print(f"one synchronous record of {RECORD_BYTES} bytes per request, {ROUNDS} rounds")
    taken: dict[tuple[str, int], list[Taken]] = defaultdict(list)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onelog-bench-")))
        loads = _contestants(stack, folder, only)
        for measure in loads.values():
            measure(CONNECTIONS[-1])  # a JVM is slow until it has seen the work
        for _ in range(ROUNDS):
            for connections in CONNECTIONS:
                for name, measure in loads.items():
                    taken[name, connections].append(measure(connections))
    for connections in CONNECTIONS:
        _tell(connections, {name: taken[name, connections] for name in loads})


def _tell(connections: int, taken: dict[str, list[Taken]]) -> None:
    base = median([t.requests_per_s for t in taken[FLOOR]])
    rows = []
    for name, rounds in taken.items():
        rates = [t.requests_per_s for t in rounds]
        rows.append(
            [
                name,
                spread(rates),
                f"{median(rates) / base:.2f}",
                spread([t.p99_us / 1000 for t in rounds]),
                f"{median([t.cpu_s_per_million for t in rounds]):.0f}",
            ]
        )
    head = [
        f"{connections} connections",
        "requests/s: median (p10-p90)",
        "of raw",
        "p99, ms",
        "CPU s/million",
    ]
    table(head, rows)


def _contestants(stack: ExitStack, folder: Path, only: Sequence[str]) -> dict[str, Load]:
    made: dict[str, Callable[[Path], Load]] = {
        "onelog": lambda at: _kafka_load(stack.enter_context(peers.onelog(at))),
        "kafka, synced": lambda at: _kafka_load(
            stack.enter_context(peers.kafka(at, {"log.flush.interval.messages": "1"}))
        ),
        "kafka": lambda at: _kafka_load(stack.enter_context(peers.kafka(at))),
        "nats, synced": lambda at: _nats_load(stack.enter_context(peers.nats(at))),
        "postgres": lambda at: _postgres_load(stack.enter_context(peers.postgres(at)), at),
    }
    loads: dict[str, Load] = {FLOOR: lambda _: _floor(folder / "floor")}
    for name, make in made.items():
        if not only or name in only:
            at = folder / name.replace(", ", "-")
            at.mkdir()
            loads[name] = make(at)
    return loads


def _kafka_load(running: peers.Running) -> Load:
    with KafkaClient(running.bootstrap) as client:
        peers.make_topic(client, TOPIC, 1)
    batch = frames.batch(records=1, value_bytes=RECORD_BYTES, now_ms=time.time_ns() // 1_000_000)
    frame = frames.produce(TOPIC, [0], batch)

    def measure(connections: int) -> Taken:
        before = tree_cpu_s(running.pid)
        found = load.run(
            running.port,
            [load.Peer([frame])] * connections,
            seconds=SECONDS,
            expected=frames.produced(TOPIC),
        )
        return _taken(found, tree_cpu_s(running.pid) - before)

    return measure


def _nats_load(running: peers.Running) -> Load:
    setup = b"$JS.API.STREAM.CREATE.requests answers.0 %d\r\n%s\r\n"
    stream = b'{"name":"requests","subjects":["requests"],"storage":"file"}'
    creation = load.Peer([b"PUB " + setup % (len(stream), stream)], NATS_OPENING % 0)
    load.run(running.port, [creation], once=True, framing=load.Framing(lines=2))
    body = b"x" * RECORD_BYTES

    def measure(connections: int) -> Taken:
        plan = [
            load.Peer([b"PUB requests answers.%d %d\r\n%s\r\n" % (n, len(body), body)], NATS_OPENING % n)
            for n in range(1, connections + 1)
        ]
        before = tree_cpu_s(running.pid)
        found = load.run(running.port, plan, seconds=SECONDS, framing=load.Framing(lines=2))
        return _taken(found, tree_cpu_s(running.pid) - before)

    return measure


def _taken(found: load.Measured, cpu_s: float) -> Taken:
    return Taken(found.requests_per_s, found.p99_us, cpu_s / found.requests * 1e6)


def _postgres_load(running: peers.Running, folder: Path) -> Load:
    address = ["-h", "127.0.0.1", "-p", str(running.port), "-U", "bench"]
    script = folder / "insert.sql"
    script.write_text(f"INSERT INTO requests (value) VALUES (repeat('x', {RECORD_BYTES}));\n")
    create = "CREATE TABLE requests (id bigserial PRIMARY KEY, value text NOT NULL)"
    psql = [str(peers.postgres_tool("psql")), *address, "-q", "-c", create, "postgres"]
    subprocess.run(psql, check=True)
    pgbench = [str(peers.postgres_tool("pgbench")), *address, "-n", "-M", "prepared", "-f", str(script), "-l"]

    def measure(connections: int) -> Taken:
        for old in folder.glob("pgbench_log.*"):
            old.unlink()
        before = tree_cpu_s(running.pid)
        size = ["-c", str(connections), "-j", "1", "-T", str(round(SECONDS))]
        command = [*pgbench, *size, f"--log-prefix={folder}/pgbench_log", "postgres"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        cpu_s = tree_cpu_s(running.pid) - before
        said = re.search(r"tps = ([\d.]+)", done.stdout)
        assert said is not None, done.stdout
        latencies = sorted(
            int(line.split()[2])
            for log in folder.glob("pgbench_log.*")
            for line in log.read_text().splitlines()
        )
        rate = float(said[1])
        return Taken(rate, latencies[int(0.99 * (len(latencies) - 1))], cpu_s / len(latencies) * 1e6)

    return measure


def _floor(path: Path) -> Taken:
    """Blocks of a file that is written already, one write and one sync each."""
    block, blocks = 4096, 4096
    file = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        if os.fstat(file).st_size < block * blocks:
            os.pwrite(file, bytes(block * blocks), 0)
            os.fsync(file)
        times: list[float] = []
        begin, cpu = now_s(), time.process_time()
        while now_s() - begin < SECONDS:
            at = now_s()
            os.pwrite(file, b"x" * block, len(times) % blocks * block)
            os.fdatasync(file)
            times.append(now_s() - at)
        seconds, cpu = now_s() - begin, time.process_time() - cpu
    finally:
        os.close(file)
    p99_us = sorted(times)[int(0.99 * (len(times) - 1))] * 1e6
    return Taken(len(times) / seconds, p99_us, cpu / len(times) * 1e6)


if __name__ == "__main__":
    main()

"""Many topics, many partitions, many connections: what they cost in time and memory.

Expected: 1 000 topics made and usable in under 0.7 s (Apache Kafka on such a machine: 3.6 s),
under 120 MB with 1 000 partitions, opened again in under 1.5 s after a clean stop and under 5 s
after a kill; an idle connection in less than 16 KB.
"""

import os
import resource
import socket
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import frames, load
from benchmarks.measure import now_s, rss_mb, spread, table
from onelog.client.kafka.client import KafkaClient
from onelog.protocols.kafka.messages.topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tests.support.served import Served

ROUNDS = 5
TOPICS = 1000
CONNECTIONS = 10_000
FILES_MAX = 20_000
NAME = "many-%04d"


def main() -> None:
    """Rounds over fresh directories."""
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder:
            _topics(Served(Path(folder) / "data"), found)
        with tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder, _many_files():
            _connections(Served(Path(folder) / "data"), found)
    table(["", "median (p10-p90)"], [[what, spread(values)] for what, values in found.items()])


def _topics(served: Served, found: dict[str, list[float]]) -> None:
    begin = now_s()
    served.start()
    found["start of an empty broker, s"].append(now_s() - begin)
    found["memory when idle, MB"].append(rss_mb(served.pid))
    names = [NAME % n for n in range(TOPICS)]
    now_ms = time.time_ns() // 1_000_000
    batch = frames.batch(records=1, value_bytes=100, now_ms=now_ms)
    first = [load.Peer([frames.produce(name, [0], batch) for name in names])]
    expected = frames.produced(names[0])
    begin = now_s()
    _create(served.bootstrap, names)
    found[f"{TOPICS} topics made, s"].append(now_s() - begin)
    load.run(served.ports["shared"], first, once=True, in_flight=64, expected=expected)
    found[f"{TOPICS} topics made, and a record in each, s"].append(now_s() - begin)
    found[f"memory with {TOPICS} partitions, MB"].append(rss_mb(served.pid))
    served.stop()
    begin = now_s()
    served.start()
    found[f"{TOPICS} partitions opened after a clean stop, s"].append(now_s() - begin)
    load.run(served.ports["shared"], first, once=True, in_flight=64, expected=expected)
    served.kill()
    begin = now_s()
    served.start()
    found[f"{TOPICS} partitions opened after a kill, s"].append(now_s() - begin)
    served.stop()


def _create(bootstrap: str, names: list[str]) -> None:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    request = CreateTopicsRequest(topics=topics, timeout_ms=60_000, validate_only=False)
    with KafkaClient(bootstrap) as client:
        answer = client.run(
            lambda deadline: client.ask_controller(
                request, CreateTopicsResponse, doing="creating topics", deadline=deadline
            )
        )
    assert all(topic.error_code == 0 for topic in answer.topics)


def _connections(served: Served, found: dict[str, list[float]]) -> None:
    with served, ExitStack() as doors:
        before = rss_mb(served.pid)
        for _ in range(CONNECTIONS):
            doors.enter_context(socket.create_connection(("127.0.0.1", served.ports["shared"])))
        with KafkaClient(served.bootstrap) as client:  # behind all of them, so all have been taken
            client.run(lambda deadline: client.refresh(None, deadline))
        found[f"each of {CONNECTIONS} idle connections, KB"].append(
            (rss_mb(served.pid) - before) * 1024 / CONNECTIONS
        )


@contextmanager
def _many_files() -> Iterator[None]:
    """Room for the connections, in this process and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < FILES_MAX and os.geteuid() != 0:
        raise SystemExit(f"benchmarks: {FILES_MAX} open files are needed, {hard} allowed (ulimit -Hn).")
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX, max(hard, FILES_MAX)))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, max(hard, FILES_MAX)))


if __name__ == "__main__":
    main()

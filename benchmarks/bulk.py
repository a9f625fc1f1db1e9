"""Bulk produce and catch-up reads beside Apache Kafka and the raw disk, in one run.

Batches of 1 MB and of 16 KB, records of 1 KB and of 100 B, 1 and 16 partitions; a connection
for each partition with 5 requests in flight, as a producer has. Reads go once through all that
was written, 8 MB a fetch. The raw disk writes the same bytes in the same pieces and syncs each.

Expected: durable 1.5 times Kafka synced, or half of the raw disk if that is less, with no more
CPU seconds per GB; with batches of 16 KB half of Kafka's. Reads as fast as Kafka's.
"""

import os
import socket
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from benchmarks import frames, load, peers
from benchmarks.measure import median, now_s, spread, table, tree_cpu_s
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient

ROUNDS = 5
SECONDS = 2.0
IN_FLIGHT = 5
RECORD_OVERHEAD = 10
READ_BYTES = 8 << 20
# What one round reads: enough to take a second or so.
READ_TOTAL = 1 << 30
FLOOR = "raw disk"


@dataclass(frozen=True)
class Shape:
    """What is written: so many records of so many bytes in a batch, to so many partitions."""

    batch_bytes: int
    record_bytes: int
    partitions: int

    @property
    def records(self) -> int:
        """How many records make a batch of about its bytes."""
        return self.batch_bytes // (self.record_bytes + RECORD_OVERHEAD)

    def __str__(self) -> str:
        return f"{self.batch_bytes // 1000} KB batches of {self.record_bytes} B, {self.partitions} partitions"


SHAPES = [Shape(1_000_000, size, n) for size in (1000, 100) for n in (1, 16)] + [Shape(16_384, 100, 16)]
READ_SHAPE = Shape(1_000_000, 1000, 1)


@dataclass(frozen=True)
class Taken:
    """What one broker did in one round."""

    mb_per_s: float
    cpu_s_per_gb: float


Measure = Callable[[], Taken]


def main(only: Sequence[str] = ()) -> None:
    """Each shape in rounds that alternate between the brokers; then the reads."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onelog-bench-")))
        brokers = _brokers(stack, folder, only)
        for shape in SHAPES:
            contest: dict[str, Measure] = {FLOOR: _floor(folder / "floor", shape)}
            contest |= {broker.name: _writing(broker, shape) for broker in brokers}
            _tell(str(shape), _rounds(contest))
        _tell("catch-up reads, 1 KB records", _rounds({b.name: _reading(b) for b in brokers}))


def _brokers(stack: ExitStack, folder: Path, only: Sequence[str]) -> list[peers.Running]:
    synced = {"log.flush.interval.messages": "1"}
    made: dict[str, Callable[[Path], peers.Running]] = {
        "onelog": lambda at: stack.enter_context(peers.onelog(at)),
        "kafka, synced": lambda at: stack.enter_context(peers.kafka(at, synced, name="kafka, synced")),
        "kafka": lambda at: stack.enter_context(peers.kafka(at)),
    }
    running = []
    for name, make in made.items():
        if not only or name in only:
            at = folder / name.replace(", ", "-")
            at.mkdir()
            running.append(make(at))
    return running


def _rounds(contest: dict[str, Measure]) -> dict[str, list[Taken]]:
    taken: dict[str, list[Taken]] = defaultdict(list)
    for measure in contest.values():
        measure()  # a JVM is slow until it has seen the work
    for _ in range(ROUNDS):
        for name, measure in contest.items():
            taken[name].append(measure())
    return taken


def _tell(title: str, taken: dict[str, list[Taken]]) -> None:
    base = median([t.mb_per_s for t in next(iter(taken.values()))])
    rows = [
        [
            name,
            spread([t.mb_per_s for t in rounds]),
            f"{median([t.mb_per_s for t in rounds]) / base:.2f}",
            spread([t.cpu_s_per_gb for t in rounds]),
        ]
        for name, rounds in taken.items()
    ]
    table([title, "MB/s: median (p10-p90)", "of the first", "CPU s/GB"], rows)


def _writing(broker: peers.Running, shape: Shape) -> Measure:
    batch = _batch(shape)
    numbers = count(10)

    def measure() -> Taken:
        # A topic of its own each time, removed afterwards: a disk full of old rounds measures nothing.
        topic = f"bulk-{shape.batch_bytes}-{shape.record_bytes}-{shape.partitions}-{next(numbers)}"
        plan = [load.Peer([frames.produce(topic, [index], batch)]) for index in range(shape.partitions)]
        with KafkaClient(broker.bootstrap) as client:
            peers.make_topic(client, topic, shape.partitions)
            before = tree_cpu_s(broker.pid)
            found = load.run(
                broker.port, plan, seconds=SECONDS, in_flight=IN_FLIGHT, expected=frames.produced(topic)
            )
            cpu_s = tree_cpu_s(broker.pid) - before
            Admin(client).delete_topic(topic)
        return _taken(found.bytes_out, found.seconds, cpu_s)

    return measure


def _reading(broker: peers.Running) -> Measure:
    topic, batch = "reads", _batch(READ_SHAPE)
    batches = READ_TOTAL // len(batch)
    with KafkaClient(broker.bootstrap) as client:
        peers.make_topic(client, topic, 1)
    load.run(
        broker.port,
        [load.Peer([frames.produce(topic, [0], batch)] * batches)],
        once=True,
        in_flight=IN_FLIGHT,
        expected=frames.produced(topic),
    )
    # Where each fetch begins is where the one before it ended, as it is for a consumer.
    with socket.create_connection(("127.0.0.1", broker.port)) as door:
        plan = list(frames.fetches_to(batches * READ_SHAPE.records, door, topic, bytes_max=READ_BYTES))

    def measure() -> Taken:
        before = tree_cpu_s(broker.pid)
        found = load.run(broker.port, [load.Peer(plan)], once=True, expected=frames.FETCHED)
        assert found.bytes_in >= batches * len(batch), "the broker gave less than it has"
        return _taken(found.bytes_in, found.seconds, tree_cpu_s(broker.pid) - before)

    return measure


def _batch(shape: Shape) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    return frames.batch(records=shape.records, value_bytes=shape.record_bytes, now_ms=now_ms)


def _floor(path: Path, shape: Shape) -> Measure:
    piece = _batch(shape)
    pieces = max(1, (256 << 20) // len(piece))

    def measure() -> Taken:
        file = os.open(path, os.O_CREAT | os.O_RDWR)
        try:
            if os.fstat(file).st_size < pieces * len(piece):
                for at in range(pieces):
                    os.pwrite(file, piece, at * len(piece))
                os.fsync(file)
            done, begin, cpu = 0, now_s(), time.process_time()
            while now_s() - begin < SECONDS:
                os.pwrite(file, piece, done % pieces * len(piece))
                os.fdatasync(file)
                done += 1
            return _taken(done * len(piece), now_s() - begin, time.process_time() - cpu)
        finally:
            os.close(file)

    return measure


def _taken(size: int, seconds: float, cpu_s: float) -> Taken:
    return Taken(size / seconds / 1e6, cpu_s / (size / 1e9))


if __name__ == "__main__":
    main()

"""One turn of the committer beside one raw write of the same bytes: 1 KiB to each of 1, 16, 64 logs.

The floor is `pwrite` + `fdatasync` on a prewritten file. Both alternate within one run, so a
busy machine weighs on both. Expected: 1.3 times the floor, plus 8 us a log.
"""

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.measure import now_s, table
from onelog.broker.broker import Append, Broker, BrokerSettings, NewTopic, ProduceRules
from onelog.broker.catalog import MIGRATIONS
from onelog.clock import SystemClock
from onelog.metrics import Metrics
from onelog.model import TopicName
from onelog.records.batch import Batch
from onelog.records.record import Record
from onelog.storage.disk import RealDisk
from onelog.storage.store import Store

ROUNDS = 400
FILE_BYTES = 64 << 20
BLOCK = 4096
RULES = ProduceRules(dialect="bench", batch_bytes_max=1 << 20)
VALUE = b"x" * (1024 - 75)


def main() -> None:
    """Print a line for each number of logs."""
    rows = []
    for count in (1, 16, 64):
        with tempfile.TemporaryDirectory(prefix="onelog-turns-", dir=Path.cwd()) as folder:
            ours, floor, cpu_s = asyncio.run(_measured(Path(folder), count))
        rows.append(
            [
                str(count),
                f"{statistics.median(ours) * 1e6:.0f}",
                f"{_p90(ours) * 1e6:.0f}",
                f"{cpu_s * 1e6:.0f}",
                f"{statistics.median(floor) * 1e6:.0f}",
                f"{_p90(floor) * 1e6:.0f}",
                f"{statistics.median(ours) / statistics.median(floor):.2f}",
                f"{statistics.median(floor) * 1e6 * 1.3 + 8 * count:.0f}",
            ]
        )
    table(["logs", "turn us", "p90", "CPU us", "raw us", "p90", "ratio", "expected us"], rows)


def _p90(values: list[float]) -> float:
    return statistics.quantiles(values, n=10)[-1]


async def _measured(folder: Path, count: int) -> tuple[list[float], list[float], float]:
    raw = os.open(folder / "raw", os.O_RDWR | os.O_CREAT)
    os.write(raw, bytes(FILE_BYTES))
    os.fsync(raw)
    broker = await Broker.open(
        store=Store.open(RealDisk(), str(folder / "data"), migrations=MIGRATIONS),
        clock=SystemClock(),
        metrics=Metrics(),
        settings=BrokerSettings(),
        on_failure=print,
    )
    await broker.create_topics([NewTopic("bench", count)])
    ours: list[float] = []
    floor: list[float] = []
    cpu_s = 0.0
    size = -(-count * (1024 + 40) // BLOCK) * BLOCK
    for number in range(ROUNDS):
        begin_cpu_s = time.process_time()
        ours.append(await _turn(broker, count))
        cpu_s += time.process_time() - begin_cpu_s
        floor.append(_raw(raw, number * size % (FILE_BYTES - size), bytes(size)))
    await broker.close()
    os.close(raw)
    return ours[ROUNDS // 10 :], floor[ROUNDS // 10 :], cpu_s / ROUNDS


async def _turn(broker: Broker, count: int) -> float:
    batches = [Batch.build([Record(None, VALUE, 1_700_000_000_000)]) for _ in range(count)]
    begin_s = now_s()
    tickets = broker.produce(
        [Append(TopicName("bench"), n, [batch]) for n, batch in enumerate(batches)], rules=RULES
    )
    for ticket in tickets:
        await ticket
    return now_s() - begin_s


def _raw(fd: int, position: int, data: bytes) -> float:
    begin_s = now_s()
    os.pwrite(fd, data, position)
    os.fdatasync(fd)
    return now_s() - begin_s


if __name__ == "__main__":
    main()

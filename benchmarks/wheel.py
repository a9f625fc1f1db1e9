"""The Fluvio wheel's own view: a topic from its creation to being known, a record's way to a waiting reader.

Beside both stands our Kafka client in the same run, doing the same over the Kafka dialect. The
original broker took 399 ms for a topic and 38-44 ms for a record (dossier), on this kind of machine.
Expected: 25 ms for a topic, since its answer waits 20 ms so that every watcher hears first, and
some ms for a record, most of them the sync.
"""

import subprocess
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.measure import median, spread, table
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.kafka.producer import Producer
from onelog.records.record import Record
from tests.interop import cache
from tests.support.served import Served

ROOT = Path(__file__).parents[1]
ROUNDS = 5
TOPICS = 10
RECORDS = 40
PAUSE_S = 0.02
PORTS = ("shared", "fluvio-sc", "fluvio-spu", "console")


def main() -> None:
    """Rounds alternate between the wheel and our Kafka client."""
    try:
        python = str(cache.python())
    except cache.Missing as missing:
        print(f"the Fluvio wheel is not measured: {missing}")
        return
    made: list[float] = []
    known: list[float] = []
    kafka_made: list[float] = []
    ways: list[float] = []
    kafka_ways: list[float] = []
    for number in range(ROUNDS):
        with (
            tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder,
            Served(Path(folder) / "data", ports=dict.fromkeys(PORTS, 0)) as served,
            KafkaClient(served.bootstrap) as client,
        ):
            address = f"127.0.0.1:{served.ports['fluvio-sc']}"
            for line in _ran(python, "create", address, TOPICS):
                made.append(float(line.split()[0]))
                known.append(float(line.split()[1]))
            kafka_made += [_timed_create(client, f"kafka-made-{number}-{n}") for n in range(TOPICS)]
            Admin(client).create_topic("wheel-tailed", partition_count=1)
            ways += _wheel_ways(python, address)
            kafka_ways += _kafka_ways(served.bootstrap)
    rows = [
        ["create a topic: answered", spread(made), spread(kafka_made), _ratio(made, kafka_made), ""],
        [
            "create a topic: known to a producer",
            spread(known),
            spread(kafka_made),
            _ratio(known, kafka_made),
            "399",
        ],
        [
            "a record's way to a waiting reader",
            spread(ways),
            spread(kafka_ways),
            _ratio(ways, kafka_ways),
            "38-44",
        ],
    ]
    table(["ms: median (p10-p90)", "the wheel", "our Kafka client", "ratio", "wheel, original broker"], rows)


def _ratio(mine: list[float], base: list[float]) -> str:
    return f"{median(mine) / median(base):.2f}"


def _ran(python: str, what: str, address: str, count: int) -> list[str]:
    command = [python, "-m", "benchmarks.wheel_side", what, address, str(count)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout.splitlines()


def _timed_create(client: KafkaClient, name: str) -> float:
    begin = time.perf_counter()
    Admin(client).create_topic(name, partition_count=1)
    return (time.perf_counter() - begin) * 1000


def _wheel_ways(python: str, address: str) -> list[float]:
    """The first record is there before the reader is, so that it can say when it waits."""
    _ran(python, "send", address, 1)
    command = [python, "-m", "benchmarks.wheel_side", "tail", address, str(RECORDS)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tailing:
        assert tailing.stdout is not None
        assert tailing.stdout.readline() == "ready\n"
        _ran(python, "send", address, RECORDS)
        return [float(line) for line in tailing.stdout]


def _kafka_ways(bootstrap: str) -> list[float]:
    """The same between two clients of ours, in two threads."""
    found: list[float] = []
    with KafkaClient(bootstrap) as client, KafkaClient(bootstrap) as other:
        Admin(client).create_topic("kafka-tailed", partition_count=1)

        def tail() -> None:
            consumer, offset = Consumer(other), 0
            while offset < RECORDS:
                fetched = consumer.fetch("kafka-tailed", 0, offset, wait_ms=5000)
                now_ns = time.time_ns()
                for _, record in fetched.records():
                    found.append((now_ns - int(record.value or b"0")) / 1e6)
                    offset += 1

        tailing = threading.Thread(target=tail)
        tailing.start()
        producer = Producer(client, idempotent=False)
        for _ in range(RECORDS):
            value = b"%d" % time.time_ns()
            producer.send("kafka-tailed", [Record(key=None, value=value, timestamp_ms=0)])
            time.sleep(PAUSE_S)
        tailing.join()
    return found


if __name__ == "__main__":
    main()

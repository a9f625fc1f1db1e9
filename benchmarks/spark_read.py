"""A full read of 5 million records of 100 bytes: format("onelog") beside Spark's own Kafka source.

Same broker, same session, alternating; Spark's connector comes from Maven. Rows go to the noop
sink, all columns. Expected: at least 1.5 times Spark's rows per second.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.measure import cpu_s, median, now_s, spread, table, tree_cpu_s
from tests.support.served import Served

ROUNDS = 5
PARTITIONS = 4
TOPIC = "read"
ARTIFACTS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.1",
)


def main(argv: list[str] | None = None) -> None:
    """Fill a topic, then read it by each source in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=5_000_000)
    args = parser.parse_args(argv)
    jars = _jars(Path(".cache/jars"))
    with (
        tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder,
        Served(Path(folder) / "data") as served,
    ):
        _fill(served.bootstrap, args.records)
        spark = _session(jars)
        seconds: dict[str, list[float]] = {"onelog": [], "kafka": []}
        cpu: dict[str, list[float]] = {"onelog": [], "kafka": []}
        for name in ("onelog", "kafka"):  # the JVM warms up
            assert _frame(spark, name, served.bootstrap).count() == args.records
        for _ in range(ROUNDS):
            for name in seconds:
                before = tree_cpu_s(os.getpid()) + cpu_s(served.pid)
                begin = now_s()
                _frame(spark, name, served.bootstrap).write.format("noop").mode("overwrite").save()
                seconds[name].append(now_s() - begin)
                cpu[name].append(tree_cpu_s(os.getpid()) + cpu_s(served.pid) - before)
        spark.stop()
    ratio = median(seconds["kafka"]) / median(seconds["onelog"])
    print(f"full read of {args.records:,} records of 100 bytes in {PARTITIONS} partitions, Spark local[2]")
    rows = [
        [name, spread(taken), f"{args.records / median(taken):,.0f}", f"{median(cpu[name]):.1f}"]
        for name, taken in seconds.items()
    ]
    table(["source", "seconds: median (p10-p90)", "rows/s", "CPU s, broker included"], rows)
    print(f"onelog reads {ratio:.2f} times as fast as Spark's own Kafka source (expected: at least 1.5)\n")


def _session(jars: list[Path]) -> Any:
    from onelog.spark.session import start

    return start(
        "benchmark",
        master="local[2]",
        conf={"spark.jars": ",".join(map(str, jars)), "spark.driver.memory": "3g"},
    )


def _frame(spark: Any, source: str, bootstrap: str) -> Any:
    reader = spark.read.format(source).option("kafka.bootstrap.servers", bootstrap)
    return reader.option("subscribe", TOPIC).option("startingOffsets", "earliest").load()


def _fill(bootstrap: str, records: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(timeout=30)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.size": 262144,
            "queue.buffering.max.messages": 1000000,
        }
    )
    value = os.urandom(100)
    for number in range(records):
        while True:
            try:
                producer.produce(TOPIC, value=value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def _jars(folder: Path) -> list[Path]:
    """Spark's connector and what it needs, fetched once by Maven."""
    folder.mkdir(parents=True, exist_ok=True)
    for artifact in ARTIFACTS:
        _, name, version = artifact.split(":")
        if not (folder / f"{name}-{version}.jar").exists():
            command = [
                "mvn",
                "-q",
                "dependency:copy",
                f"-Dartifact={artifact}",
                f"-DoutputDirectory={folder.resolve()}",
            ]
            subprocess.run(command, check=True)
    return sorted(folder.glob("*.jar"))


if __name__ == "__main__":
    main()

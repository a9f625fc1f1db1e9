"""Kafka's own command line tools and Java client, out of its jars."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from onelog.binary.compression import Codec
from onelog.client.kafka import consumer as ours
from onelog.client.kafka.assignors import COOPERATIVE_STICKY, RANGE, Assignor
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.group_consumer import GroupConsumer
from onelog.client.kafka.joining import MemberTimes
from onelog.client.kafka.producer import Producer as OurProducer
from onelog.records.record import Record
from tests.support.source_tree import ROOT

JARS = ROOT / ".cache" / "interop" / "java" / "lib"
pytestmark = [
    pytest.mark.real,
    pytest.mark.interop,
    pytest.mark.skipif(
        shutil.which("java") is None or not JARS.exists(),
        reason="no java, or no jars of Kafka; `python -m tests.interop.cache jars` brings them",
    ),
]
PATIENCE_S = 60
TIMES = MemberTimes(session_s=6.0, rebalance_s=20.0)
TOOLS = "org.apache.kafka.tools"
TIMES_MS = [1_900_000_000_000, 1_900_000_000_500]


def java_command(main: str, *arguments: str) -> list[str]:
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return ["java", *flags, "-cp", f"{JARS}/*", main, *arguments]


def java(main: str, *arguments: str, stdin: bytes = b"") -> str:
    command = java_command(main, *arguments)
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode()


def topics(bootstrap: str, *arguments: str) -> str:
    return java(f"{TOOLS}.TopicCommand", "--bootstrap-server", bootstrap, *arguments)


def configs(bootstrap: str, *arguments: str) -> str:
    return java("kafka.admin.ConfigCommand", "--bootstrap-server", bootstrap, *arguments)


def offsets(bootstrap: str, topic: str, at: str) -> str:
    return java(f"{TOOLS}.GetOffsetShell", "--bootstrap-server", bootstrap, "--topic", topic, "--time", at)


def test_topics_are_created_described_altered_listed_and_deleted(bootstrap: str, topic: str) -> None:
    topics(bootstrap, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=100000")
    described = topics(bootstrap, "--describe", "--topic", topic)
    assert "PartitionCount: 2\tReplicationFactor: 1\tConfigs: retention.ms=100000" in described
    assert "Partition: 1\tLeader: 1\tReplicas: 1\tIsr: 1" in described
    topics(bootstrap, "--alter", "--topic", topic, "--partitions", "3")
    assert "PartitionCount: 3" in topics(bootstrap, "--describe", "--topic", topic)
    assert topic in topics(bootstrap, "--list").split()
    topics(bootstrap, "--delete", "--topic", topic)
    assert topic not in topics(bootstrap, "--list").split()


def test_what_the_console_produces_the_console_consumes_and_records_are_deleted(
    bootstrap: str, topic: str, tmp_path: Path
) -> None:
    topics(bootstrap, "--create", "--topic", topic)
    at = ["--bootstrap-server", bootstrap, "--topic", topic]
    java(f"{TOOLS}.ConsoleProducer", *at, stdin=b"a\nb\nc\n")
    read = java(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *at,
        *("--partition", "0", "--offset", "earliest", "--max-messages", "3", "--timeout-ms", "20000"),
    )
    assert read.split() == ["a", "b", "c"]
    assert (offsets(bootstrap, topic, "-2"), offsets(bootstrap, topic, "-1")) == (
        f"{topic}:0:0\n",
        f"{topic}:0:3\n",
    )
    wanted = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 2}]}
    (tmp_path / "offsets.json").write_text(json.dumps(wanted), encoding="utf-8")
    deleted = java(
        f"{TOOLS}.DeleteRecordsCommand",
        *("--bootstrap-server", bootstrap, "--offset-json-file", str(tmp_path / "offsets.json")),
    )
    assert f"partition: {topic}-0\tlow_watermark: 2" in deleted
    assert offsets(bootstrap, topic, "-2") == f"{topic}:0:2\n"


def test_the_performance_tools_come_to_their_ends(bootstrap: str, topic: str) -> None:
    topics(bootstrap, "--create", "--topic", topic)
    produced = java(
        f"{TOOLS}.ProducerPerformance",
        *("--topic", topic, "--num-records", "1000", "--record-size", "100", "--throughput", "-1"),
        *("--command-property", f"bootstrap.servers={bootstrap}"),
    )
    assert produced.startswith("1000 records sent")
    assert offsets(bootstrap, topic, "-1") == f"{topic}:0:1000\n"


def test_settings_are_described_and_altered(bootstrap: str, topic: str) -> None:
    topics(bootstrap, "--create", "--topic", topic)
    of_topic = ["--entity-type", "topics", "--entity-name", topic]
    every = configs(bootstrap, "--describe", *of_topic, "--all")
    assert "  retention.ms=604800000 sensitive=false synonyms={DEFAULT_CONFIG:log.retention.ms" in every
    configs(bootstrap, "--alter", *of_topic, "--add-config", "segment.ms=60000")
    assert "segment.ms=60000" in configs(bootstrap, "--describe", *of_topic)
    configs(bootstrap, "--alter", *of_topic, "--delete-config", "segment.ms")
    assert "segment.ms" not in configs(bootstrap, "--describe", *of_topic)
    of_broker = configs(bootstrap, "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all")
    assert "  message.max.bytes=1048588" in of_broker
    assert "advertised.listeners=PLAINTEXT://127.0.0.1:" in of_broker


def test_the_directory_of_logs_is_described(bootstrap: str, topic: str) -> None:
    topics(bootstrap, "--create", "--topic", topic)
    of_topic = ["--describe", "--topic-list", topic]
    said = java(f"{TOOLS}.LogDirsCommand", "--bootstrap-server", bootstrap, *of_topic)
    (broker,) = json.loads(said.splitlines()[-1])["brokers"]
    (directory,) = broker["logDirs"]
    assert [(part["partition"], part["size"]) for part in directory["partitions"]] == [(f"{topic}-0", 0)]


def test_offsets_for_times_are_those_of_the_records_or_null(bootstrap: str, topic: str) -> None:
    topics(
        bootstrap,
        *("--create", "--topic", topic, "--config", f"message.timestamp.after.max.ms={(1 << 63) - 1}"),
    )
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "zstd", "linger.ms": 50})
    for time_ms in TIMES_MS:
        producer.produce(topic, b"v", timestamp=time_ms)
    assert producer.flush(PATIENCE_S) == 0
    asked = [str(time_ms) for time_ms in (0, TIMES_MS[0] + 1, TIMES_MS[1] + 1)]
    source = Path(__file__).parent / "OffsetsForTimes.java"
    found = java(str(source), bootstrap, topic, *asked)
    assert found.splitlines() == [f"0 {TIMES_MS[0]}", f"1 {TIMES_MS[1]}", "null"]


def test_snappy_is_read_by_the_others_in_the_framing_of_java_and_of_librdkafka(
    bootstrap: str, topic: str
) -> None:
    topics(bootstrap, "--create", "--topic", topic)
    at = ["--bootstrap-server", bootstrap, "--topic", topic]
    values = [f"value value value {number}" for number in range(50)]
    text = "".join(f"{value}\n" for value in values).encode()
    java(f"{TOOLS}.ConsoleProducer", *at, "--compression-codec", "snappy", stdin=text)
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "snappy", "linger.ms": 50})
    for value in values:
        producer.produce(topic, value.encode())
    assert producer.flush(PATIENCE_S) == 0
    read = java(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *at,
        *("--partition", "0", "--offset", "earliest", "--max-messages", "100", "--timeout-ms", "20000"),
    )
    assert read.splitlines() == values * 2
    with KafkaClient(bootstrap) as client:
        fetched = ours.Consumer(client).fetch(topic, 0, 0)
        assert {batch.codec for batch in fetched.batches} == {Codec.SNAPPY}
        assert [record.value for _, record in fetched.records()] == [v.encode() for v in values * 2]
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    messages = consumer.consume(100, timeout=PATIENCE_S)
    consumer.close()
    assert [message.value() for message in messages] == [v.encode() for v in values * 2]


STRATEGIES = {
    RANGE: "org.apache.kafka.clients.consumer.RangeAssignor",
    COOPERATIVE_STICKY: "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


@contextmanager
def console_consumer(bootstrap: str, topic: str, assignor: Assignor, out: Path) -> Iterator[None]:
    """Java's member of the group that is called like the topic; what it reads goes to a file."""
    arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--group", topic]
    for setting in (f"partition.assignment.strategy={STRATEGIES[assignor]}", "heartbeat.interval.ms=500"):
        arguments += ["--command-property", setting]
    with out.open("wb") as stdout, (out.parent / "stderr").open("wb") as stderr:
        running = subprocess.Popen(
            java_command(f"{TOOLS}.consumer.ConsoleConsumer", *arguments), stdout=stdout, stderr=stderr
        )
        try:
            yield
        finally:
            running.terminate()
            running.wait(PATIENCE_S)


@pytest.mark.parametrize("assignor", STRATEGIES, ids=lambda each: each.name)
def test_javas_member_and_ours_share_a_group(
    bootstrap: str, topic: str, tmp_path: Path, assignor: Assignor
) -> None:
    topics(bootstrap, "--create", "--topic", topic, "--partitions", "4")
    with (
        KafkaClient(bootstrap) as client,
        GroupConsumer(client, topic, [topic], assignor=assignor, times=TIMES) as ours_in_it,
        console_consumer(bootstrap, topic, assignor, tmp_path / "read"),
    ):
        deadline_s = time.monotonic() + PATIENCE_S
        while len(ours_in_it.places) != 2:
            assert time.monotonic() < deadline_s
            ours_in_it.poll(wait_ms=100)
        said = {f"{partition}-{number}" for partition in range(4) for number in range(5)}
        for value in sorted(said):
            now_ms = time.time_ns() // 1_000_000
            OurProducer(client).send(topic, [Record(None, value.encode(), now_ms)], partition=int(value[0]))
        read: list[str] = []
        theirs: list[str] = []
        while len(read) + len(theirs) < len(said):
            assert time.monotonic() < deadline_s, (read, theirs)
            for fetched in ours_in_it.poll(wait_ms=100):
                read += [(record.value or b"").decode() for _, record in fetched.records()]
            theirs = (tmp_path / "read").read_text(encoding="utf-8").split()
    assert sorted([*read, *theirs]) == sorted(said)
    assert len(read) == len(theirs)

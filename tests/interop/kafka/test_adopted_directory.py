"""A directory that a real Kafka broker wrote and closed: opened, verified, read equal, written on, read by Kafka's tool."""

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

import onelog
from tests.interop.yardstick import apache_kafka
from tests.support.kafka_jars import NEEDS_JARS, dumped

pytestmark = [pytest.mark.real, pytest.mark.interop, NEEDS_JARS]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
GROUP = "readers"
PATIENCE_S = 30
Rows = dict[tuple[str, int, int], tuple[bytes | None, bytes | None]]
TOPICS = {"plain": 2, "moved": 1, "compacted": 1}


def _made(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    config = {
        "plain": {
            "segment.bytes": "1048576",
            "retention.ms": "1234567",
            "unclean.leader.election.enable": "true",
        },
        "moved": {},
        "compacted": {"cleanup.policy": "compact"},
    }
    made = admin.create_topics([NewTopic(n, c, 1, config=config[n]) for n, c in TOPICS.items()])
    for future in made.values():
        future.result()


def _filled(bootstrap: str) -> None:
    for codec in CODECS:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": True,
                "linger.ms": 20,
            }
        )
        for number in range(200):
            for topic, count in TOPICS.items():
                value = f"{codec} {number} ".encode() * 40
                producer.produce(topic, value, f"key {number % 7}".encode(), number % count)
        producer.flush(PATIENCE_S)
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
    transactional.init_transactions(PATIENCE_S)
    for word, ends in (("kept", True), ("undone", False), ("kept again", True)):
        transactional.begin_transaction()
        for number in range(5):
            transactional.produce("moved", f"{word} {number}".encode(), b"t", 0)
        transactional.flush(PATIENCE_S)
        if ends:
            transactional.commit_transaction(PATIENCE_S)
        else:
            transactional.abort_transaction(PATIENCE_S)


def _read(bootstrap: str) -> Rows:
    """All committed records of all topics."""
    rows: Rows = {}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    places = [TopicPartition(t, p, OFFSET_BEGINNING) for t, c in TOPICS.items() for p in range(c)]
    consumer.assign(places)
    ended = 0
    while ended < len(places):
        message = consumer.poll(PATIENCE_S)
        assert message is not None, "no end of a partition was told"
        if message.error() is not None:
            if message.error().code() != -191:
                raise KafkaException(message.error())
            ended += 1
        else:
            place = (message.topic(), message.partition(), message.offset())
            rows[place] = (message.key(), message.value())
    consumer.close()
    return rows


def _commit(bootstrap: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition("plain", 1, 17, "a note")], asynchronous=False)
    consumer.close()


def _committed(bootstrap: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    (found,) = consumer.committed([TopicPartition("plain", 1)], PATIENCE_S)
    consumer.close()
    return int(found.offset)


def _deleted_below(bootstrap: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([TopicPartition("plain", 0, offset)]).values():
        future.result()


def _verified(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "onelog", "verify", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_kafka_wrote_is_served_written_on_and_read_by_kafkas_tool_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with apache_kafka(tmp_path) as bootstrap:
        _made(bootstrap)
        _filled(bootstrap)
        _commit(bootstrap)
        _deleted_below(bootstrap, 11)
        rows = _read(bootstrap)
    data = tmp_path / "data"
    assert (data / ".kafka_cleanshutdown").exists()
    with onelog.Broker(data) as broker:
        assert _read(broker.bootstrap) == rows
        assert min(offset for topic, partition, offset in rows if (topic, partition) == ("plain", 0)) == 11
        assert _committed(broker.bootstrap) == 17
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        (config,) = admin.describe_configs([ConfigResource("topic", "plain")]).values()
        assert config.result()["retention.ms"].value == "1234567"
        assert config.result()["segment.bytes"].value == "1048576"
        _filled_on(broker.bootstrap)
        more = _read(broker.bootstrap)
    assert rows.items() < more.items()
    assert "unclean.leader.election.enable" in caplog.text
    _verified(data)
    for topic, count in TOPICS.items():
        for partition in range(count):
            dumped(data / f"{topic}-{partition}")
    with onelog.Broker(data) as broker:
        assert _read(broker.bootstrap) == more


def _filled_on(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for topic, count in TOPICS.items():
        for number in range(50):
            producer.produce(topic, b"ours", f"ours {number}".encode(), number % count)
    producer.flush(PATIENCE_S)

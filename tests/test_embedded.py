from pathlib import Path

import pytest

import onelog
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.client.kafka.producer import Producer
from onelog.config import ConfigError
from onelog.records.record import Record
from onelog.storage.disk import StoreRefused


def test_a_broker_runs_inside_a_program_and_keeps_what_it_was_told(tmp_path: Path) -> None:
    with onelog.Broker(tmp_path / "data") as broker, KafkaClient(broker.bootstrap) as client:
        Producer(client).send("greetings", [Record(key=b"en", value=b"hello", timestamp_ms=1)])
    with onelog.Broker(tmp_path / "data") as broker, KafkaClient(broker.bootstrap) as client:
        found = [record.value for _, record in Consumer(client).iterate("greetings", 0, 0)]
    assert found == [b"hello"]


def test_what_hinders_the_start_is_raised_where_it_was_started(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no listener"):
        onelog.Broker(tmp_path / "data", listen="nobody=localhost:0").start()


def test_two_brokers_do_not_share_a_directory(tmp_path: Path) -> None:
    with onelog.Broker(tmp_path / "data"), pytest.raises(StoreRefused, match="data"):
        onelog.Broker(tmp_path / "data").start()


def test_settings_are_named_as_in_the_file(tmp_path: Path) -> None:
    settings = {"broker.partition_count_default": 5}
    with (
        onelog.Broker(tmp_path / "data", settings=settings) as broker,
        KafkaClient(broker.bootstrap) as client,
    ):
        Producer(client).send("wide", [Record(key=None, value=b"v", timestamp_ms=1)])
        assert client.run(lambda d: client.topic("wide", d)).partition_count == 5

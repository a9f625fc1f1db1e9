"""One session and one broker for all tests of the source and the sink."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark.sql import DataFrame, SparkSession

import onelog
from onelog.client.kafka.admin import Admin
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.records.record import Record
from tests.support.shared_spark import shared_spark


@dataclass
class Bench:
    """A session beside a broker, and the words that its tests need."""

    spark: SparkSession
    client: KafkaClient
    bootstrap: str

    def create(self, topic: str, partitions: int = 1) -> None:
        Admin(self.client).create_topic(topic, partition_count=partitions)

    def fill(self, topic: str, count: int, *, partition: int | None = None, first: int = 0) -> None:
        records = [
            Record(key=b"k%d" % n, value=b"v%d" % n, timestamp_ms=1_000 + n)
            for n in range(first, first + count)
        ]
        Producer(self.client).send(topic, records, partition=partition)

    def read(self, topic: str, **options: str) -> DataFrame:
        reader = self.spark.read.format("onelog").option("kafka.bootstrap.servers", self.bootstrap)
        return reader.options(**{"subscribe": topic, **options}).load()

    def stream(self, topic: str, **options: str) -> DataFrame:
        reader = self.spark.readStream.format("onelog").option("kafka.bootstrap.servers", self.bootstrap)
        return reader.options(subscribe=topic, startingOffsets="earliest", **options).load()


@pytest.fixture(scope="session")
def spark_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[onelog.Broker]:
    with onelog.Broker(tmp_path_factory.mktemp("spark") / "data", listen="shared=127.0.0.1:0") as broker:
        yield broker


@pytest.fixture
def bench(spark_broker: onelog.Broker) -> Iterator[Bench]:
    with KafkaClient(spark_broker.bootstrap) as client:
        yield Bench(shared_spark(), client, spark_broker.bootstrap)

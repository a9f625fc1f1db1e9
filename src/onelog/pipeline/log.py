"""The log as flows and audits see it: what the broker says of it, and format("onelog") over it."""

import json
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from onelog.client.kafka.admin import Admin, Spot
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer
from onelog.model import NO_TOPIC_ID, Isolation
from onelog.pipeline.flow import Flow
from onelog.pipeline.ledger import Partition, Range, Ranges
from onelog.records.columns import to_arrow

COLUMNS = ("offset", "timestamp", "key", "value", "headers")
WINDOW_ROWS = 50_000
WINDOW_BYTES = 32 << 20


class Window(NamedTuple):
    """A stretch of one partition: which offsets it is about, and the records there are, in their order."""

    span: Range
    records: pa.Table


class OnelogLog:
    """The topics of one broker. Close it, or use it in a `with`."""

    def __init__(self, bootstrap: str, *, timeout_s: float = 30.0) -> None:
        self._bootstrap = bootstrap
        self._client = KafkaClient(bootstrap, client_id="onelog-pipeline", timeout_s=timeout_s)
        self._admin = Admin(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def spans(self, topics: tuple[str, ...]) -> Ranges:
        """What each partition holds now."""
        spans = {}
        for topic in topics:
            starts = self._admin.offsets(topic, Spot.EARLIEST)
            ends = self._admin.offsets(topic, Spot.LATEST, isolation=Isolation.READ_COMMITTED)
            for number, at in ends.items():
                spans[Partition(topic, number)] = Range(starts[number].offset, at.offset)
        return spans

    def topic_ids(self, topics: tuple[str, ...]) -> Mapping[str, str]:
        """The id of each topic, where the broker knows any."""
        ids = {topic: self._admin.topic(topic).id for topic in topics}
        return {topic: str(found) for topic, found in ids.items() if found != NO_TOPIC_ID}

    def stream(self, spark: SparkSession, flow: Flow, begins: Mapping[Partition, int]) -> DataFrame:
        """The records from those offsets on, as a streaming DataFrame."""
        reader = self._options(spark.readStream.format("onelog"))
        reader = reader.option("subscribe", ",".join(flow.topics)).option("startingOffsets", _text(begins))
        reader = reader.option("maxOffsetsPerTrigger", flow.records_per_batch_max)
        frame: DataFrame = reader.load()
        return frame

    def batch(self, spark: SparkSession, ranges: Ranges) -> DataFrame:
        """The records of those ranges."""
        assigned: dict[str, list[int]] = {}
        for partition in sorted(ranges):
            assigned.setdefault(partition.topic, []).append(partition.number)
        reader = self._options(spark.read.format("onelog"))
        frame: DataFrame = (
            reader.option("assign", json.dumps(assigned))
            .option("startingOffsets", _text({p: span.start for p, span in ranges.items()}))
            .option("endingOffsets", _text({p: span.end for p, span in ranges.items()}))
            .load()
        )
        return frame

    def windows(self, partition: Partition, span: Range) -> Iterator[Window]:
        """The records of a range, in stretches that memory can hold; the last one reaches its end."""
        consumer = Consumer(self._client, isolation=Isolation.READ_COMMITTED)
        empty = pa.table({name: [] for name in COLUMNS})
        begin = position = span.start
        parts: list[pa.RecordBatch] = []
        while position < span.end:
            fetched = consumer.fetch(partition.topic, partition.number, position)
            if not fetched.batches:
                break
            parts += to_arrow(
                fetched.batches,
                offset_start=position,
                offset_end=span.end,
                columns=COLUMNS,
                topic=partition.topic,
                partition=partition.number,
                aborted=fetched.aborted,
            )
            position = min(fetched.next_offset, span.end)
            if sum(p.num_rows for p in parts) >= WINDOW_ROWS or sum(p.nbytes for p in parts) >= WINDOW_BYTES:
                yield Window(Range(begin, position), pa.Table.from_batches(parts))
                begin, parts = position, []
        if begin < span.end:
            yield Window(Range(begin, span.end), pa.Table.from_batches(parts) if parts else empty)

    def _options(self, reader: Any) -> Any:
        return reader.options(
            **{
                "kafka.bootstrap.servers": self._bootstrap,
                "includeHeaders": "true",
                "kafka.isolation.level": "read_committed",
            }
        )


def _text(offsets: Mapping[Partition, int]) -> str:
    nested: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(offsets.items()):
        nested.setdefault(partition.topic, {})[str(partition.number)] = offset
    return json.dumps(nested)

"""Rows to the log, from a batch or a stream: at least once.

Each task writes its rows and returns when all of them are acknowledged, so a batch that Spark
has committed is on disk. A task that is run again writes again: who needs each record once
reads by a key, or waits for the exactly-once sink.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from onelog.binary.compression import Codec
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.producer import Producer
from onelog.clock import SystemClock
from onelog.records.record import Record
from onelog.spark.options import OptionsError, SinkOptions
from onelog.spark.rows import Target, check_columns, records


@dataclass
class Written(WriterCommitMessage):
    """What a task has written and was acknowledged."""

    rows: int


class BatchWriter(DataSourceArrowWriter):
    """`df.write.format("onelog")`."""

    def __init__(self, options: SinkOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise OptionsError("a log is appended to and never overwritten; use mode append.")
        check_columns(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(self._options, iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("onelog")`."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_rows(self._options, iterator)


def write_rows(options: SinkOptions, batches: Iterator[pa.RecordBatch]) -> Written:
    """Write all rows of a task; every record is acknowledged when this returns."""
    clock = SystemClock()
    rows = 0
    with KafkaClient(options.bootstrap, client_id=options.client_id) as client:
        producer = Producer(client, codec=Codec[options.compression.upper()])
        for batch in batches:
            lots: dict[Target, list[Record]] = {}
            for target, record in records(batch, options, timestamp_ms=clock.wall_ms()):
                lots.setdefault(target, []).append(record)
            for (topic, partition), lot in lots.items():
                producer.send(topic, lot, partition=partition)
                rows += len(lot)
    return Written(rows)

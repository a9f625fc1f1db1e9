"""A batch read: from a start to an end that are fixed when it is planned."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from onelog.spark.log import Log
from onelog.spark.options import SourceOptions
from onelog.spark.planning import losses, ranges, refusal, resolved, survived
from onelog.spark.reader import RangePartition, read_range


class BatchReader(DataSourceReader):
    """Plans on the driver, reads on executors; holds options only."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        with Log(options) as log:
            places = log.places()
            earliest, latest = log.earliest(places), log.latest(places)
        start = resolved(options.starting, earliest=earliest, latest=latest, what="startingOffsets")
        end = resolved(options.ending, earliest=earliest, latest=latest, what="endingOffsets")
        lost = [
            *losses(start, earliest=earliest, latest=latest),
            *losses(end, earliest=earliest, latest=latest),
        ]
        if lost and options.fail_on_data_loss:
            raise ValueError(refusal(lost))
        start = survived(start, earliest=earliest, latest=latest)
        end = survived(end, earliest=earliest, latest=latest)
        return [RangePartition(r) for r in ranges(start, end)] or [RangePartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        return read_range(self._options, self._schema, partition)

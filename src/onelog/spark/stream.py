"""A streaming read: Spark's micro-batches, each from one set of offsets to the next.

Truth is Spark's checkpoint: it keeps the offsets of every batch before the batch runs, and asks
for the same ranges again after a crash. An idle query asks for the latest offsets without pause,
so an answer that brings nothing new is held back for a moment.
"""

import io
import logging
import sys
import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from onelog.spark.log import Log
from onelog.spark.offsets import Offsets, OffsetsDict, from_dict, to_dict
from onelog.spark.options import SourceOptions
from onelog.spark.planning import ends, losses, ranges, refusal, resolved
from onelog.spark.reader import RangePartition, read_range

LOG = logging.getLogger("onelog.spark")
IDLE_PAUSE_S = 0.1


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One query's source. Lives on the driver; read() runs on executors and uses options only."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._log: Log | None = None
        self._initial: Offsets | None = None
        self._target: Offsets | None = None
        self._latest: Offsets | None = None

    def initialOffset(self) -> OffsetsDict:  # noqa: N802  # Spark's name
        if self._initial is None:
            log = self._opened()
            places = log.places()
            earliest, latest = log.earliest(places), log.latest(places)
            self._initial = resolved(
                self._options.starting, earliest=earliest, latest=latest, what="startingOffsets"
            )
        return to_dict(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        rows = self._options.rows_max
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  # Spark's name
        log = self._opened()
        self._target = log.latest(log.places())

    def latestOffset(self, start: OffsetsDict, limit: ReadLimit) -> OffsetsDict:  # noqa: N802  # Spark's name
        begun = from_dict(start)
        latest = self._target if self._target is not None else self._asked(begun)
        self._judge(begun, latest)
        self._latest = latest
        rows_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return to_dict(ends(begun, latest, rows_max))

    def reportLatestOffset(self) -> OffsetsDict | None:  # noqa: N802  # Spark's name
        return None if self._latest is None else to_dict(self._latest)

    def partitions(self, start: OffsetsDict, end: OffsetsDict) -> Sequence[InputPartition]:
        return [RangePartition(r) for r in ranges(from_dict(start), from_dict(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        return read_range(self._options, self._schema, partition)

    def commit(self, end: OffsetsDict) -> None:
        """Nothing: what was read is in Spark's checkpoint."""

    def stop(self) -> None:
        if self._log is not None:
            self._log.close()
        if isinstance(sys.exception(), EOFError | ConnectionError):
            # Spark has hung up, as it does when a query is stopped. This process is the query's own and
            # ends now; it would try to tell Spark of the hanging up, fail, and print both to the terminal.
            sys.stderr = io.StringIO()

    def _opened(self) -> Log:
        if self._log is None:
            self._log = Log(self._options)
        return self._log

    def _asked(self, begun: Offsets) -> Offsets:
        """The latest offsets; when nothing is new, asked once more after a pause."""
        log = self._opened()
        places = log.places()
        latest = log.latest(places)
        if latest == begun:
            threading.Event().wait(IDLE_PAUSE_S)
            latest = log.latest(places)
        return latest

    def _judge(self, begun: Offsets, latest: Offsets) -> None:
        """A log that ends before what was read is another one. What aged out is the reader's to see."""
        lost = losses(begun, earliest=dict.fromkeys(latest, 0), latest=latest)
        if lost and self._options.fail_on_data_loss:
            raise ValueError(refusal(lost))
        for loss in lost:
            LOG.warning("data was lost and is passed over: %s", loss)

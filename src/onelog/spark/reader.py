"""On an executor: one range of one partition, fetched as raw batches, handed on as Arrow.

Stateless; no Python runs per record. What the range holds is what its offsets say: an offset
without a record inside is a gap of the log (a marker, a compacted record), never a loss; a start
that the log no longer has is one.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from onelog.records.columns import to_arrow
from onelog.spark.log import Log
from onelog.spark.offsets import Place
from onelog.spark.options import SourceOptions
from onelog.spark.planning import Loss, Range, losses, refusal

LOG = logging.getLogger("onelog.spark")


@dataclass
class RangePartition(InputPartition):
    """What one task reads. None: nothing, in a read that has no ranges at all."""

    range: Range | None


def read_range(
    options: SourceOptions, schema: StructType, partition: RangePartition
) -> Iterator[pa.RecordBatch]:
    """The records of a range, in batches of thousands of rows."""
    if partition.range is None:
        return
    columns = [field.name for field in schema.fields]
    place, end = partition.range.place, partition.range.end
    with Log(options) as log:
        position = partition.range.start
        while position < end:
            fetched = log.fetch(place, position)
            if fetched is None:
                position = _passed_over(options, log, partition.range, position)
                continue
            if not fetched.batches:
                _borne_or_refused(options, _cut_short(place, position, fetched.high_watermark))
                return
            yield from to_arrow(
                fetched.batches,
                offset_start=position,
                offset_end=end,
                columns=columns,
                topic=place.topic,
                partition=place.partition,
                aborted=fetched.aborted,
            )
            position = fetched.next_offset


def _cut_short(place: Place, position: int, high_watermark: int) -> Loss:
    return Loss(
        place, f"nothing came from offset {position} on; the log ends at {high_watermark} (it was made anew)"
    )


def _passed_over(options: SourceOptions, log: Log, wanted: Range, position: int) -> int:
    """Where to go on when the log no longer has a position; refused unless losses are to be borne."""
    place = wanted.place
    earliest, latest = log.earliest([place]), log.latest([place])
    lost = losses({place: position}, earliest=earliest, latest=latest)
    _borne_or_refused(options, *lost or [Loss(place, f"offset {position} is wanted; the log refused it")])
    return earliest[place] if earliest[place] > position else wanted.end


def _borne_or_refused(options: SourceOptions, *lost: Loss) -> None:
    if options.fail_on_data_loss:
        raise ValueError(refusal(list(lost)))
    for loss in lost:
        LOG.warning("data was lost and is passed over: %s", loss)

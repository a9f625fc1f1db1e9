"""Reading for one answer of either form: committed records, as many as its frame has room for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from onelog import metrics as m
from onelog.broker.broker import Broker, Read
from onelog.errors import ErrorCode, OnelogError
from onelog.model import Isolation, TopicName, View
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.handlers.context import DIALECT
from onelog.protocols.rustlog.recordset import Taken, take

# Reads that found nothing but what a reader may not see (undone transactions, markers) go on,
# but not for ever in one turn of the loop.
READS_MAX: Final = 16


@dataclass(frozen=True)
class Shape:
    """What a form's answer has room for: in all, and for a record of this offset, timestamp and size."""

    room: int
    record_size: Callable[[int, int, int], int]
    stops_at_gaps: bool = False


def taken(
    broker: Broker, topic: TopicName, partition: int, offset: int, *, bytes_max: int, shape: Shape
) -> Taken:
    """What is there from the offset on; what the dialect cannot say of it is counted."""
    found = _taken(broker, topic, partition, offset, min(bytes_max, FRAME_BYTES_MAX), shape)
    for reason, count in found.losses.items():
        broker.metrics.series(m.LOSSES, DIALECT, reason).add(count)
    if found.oversized is not None:
        broker.metrics.series(m.REFUSALS, DIALECT, ErrorCode.RECORD_TOO_LARGE.value).add()
    return found


def _taken(
    broker: Broker, topic: TopicName, partition: int, offset: int, bytes_max: int, shape: Shape
) -> Taken:
    found = Taken([], next_offset=offset)
    for _ in range(READS_MAX):
        read = Read(topic, partition, found.next_offset, bytes_max)
        [result] = broker.fetch(
            [read],
            bytes_max=bytes_max,
            isolation=Isolation.READ_COMMITTED,
            view=View.CLEAN,
            dialect=DIALECT,
        )
        if isinstance(result, OnelogError):
            raise result
        found = take(
            result.batches,
            offset=found.next_offset,
            bytes_max=bytes_max,
            room=shape.room,
            size_in_frame=shape.record_size,
            stops_at_gaps=shape.stops_at_gaps,
        )
        if found.records or found.oversized or result.offset_next == read.offset:
            break
        found.next_offset = result.offset_next
    return found

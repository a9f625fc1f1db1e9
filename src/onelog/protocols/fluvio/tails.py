"""Streams of records: one frame, then nothing until it is acknowledged, then from there on.

    reading --frame--> unacknowledged --acknowledgement--> reading ...
       `--error, topic gone--> over <----------'

A tail keeps an offset and nothing else, so one that is never acknowledged again costs nothing.
Its frames hold whole batches, at least one, whatever was asked for: the real unit cuts them at
the size that was asked for, and its clients lose what is cut. What no reader may see (markers,
what was undone) is passed over.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from onelog.broker.broker import Broker, PartitionInfo, Read, Topic
from onelog.errors import CorruptBatch, InvalidRecord, OnelogError, UnknownTopic
from onelog.model import Isolation, TopicName, View
from onelog.protocols.fluvio.errors import FluvioRefusal, other
from onelog.protocols.fluvio.handlers.context import DIALECT, Context
from onelog.protocols.fluvio.messages.error import Code, Fault, OffsetEvicted
from onelog.protocols.fluvio.messages.fetch import FetchedPartition, StreamFetchResponse
from onelog.protocols.fluvio.recordset import RecordSet

# What one frame may hold beside one batch: it is made in one go, and others wait meanwhile.
FRAME_BYTES_MAX: Final = 2 << 20
# Fluvio's isolation is about copies. Of transactions, its readers get what is committed.
ISOLATION: Final = Isolation.READ_COMMITTED


def bytes_wanted(bytes_max: int) -> int:
    """What a frame may hold; a negative number asks for any."""
    return FRAME_BYTES_MAX if bytes_max < 0 else min(max(bytes_max, 1), FRAME_BYTES_MAX)


def check_place(info: PartitionInfo, offset: int) -> None:
    """Whether reading can begin there, or a FluvioRefusal."""
    fault: Fault
    if offset < info.start:
        fault = OffsetEvicted(offset=offset, next_available=info.start)
        raise FluvioRefusal(fault, f"offset {offset} is below {info.start}")
    if offset > info.offset_next:
        text = f"start offset: {offset} is greater than leo: {info.offset_next}"
        raise FluvioRefusal(other(text), text)


def read(
    broker: Broker, topic: TopicName, partition: int, offset: int, bytes_max: int
) -> tuple[RecordSet, int]:
    """Whole batches from an offset on, and where to go on, which may be behind what is to be seen of them."""
    [result] = broker.fetch(
        [Read(topic, partition, offset, bytes_max)],
        bytes_max=bytes_max,
        isolation=ISOLATION,
        view=View.CLEAN,
        dialect=DIALECT,
    )
    if isinstance(result, OnelogError):
        raise result
    records = RecordSet(bytes_max=bytes_max)
    for batch in result.batches:
        try:
            is_in = records.add(batch)
        except (CorruptBatch, InvalidRecord):
            if not records.size:
                raise
            is_in = False  # what stands before it arrives before the error
        if not is_in:
            return records, batch.base_offset
    return records, result.offset_next


def said(info: PartitionInfo, partition: int, records: RecordSet, offset_next: int) -> FetchedPartition:
    """Records as an answer has them."""
    return FetchedPartition(
        partition=partition,
        high_watermark=info.stable,
        next_filter_offset=offset_next if records.size and offset_next != records.end else 0,
        log_start=info.start,
        records=records.buffers,
    )


@dataclass(frozen=True)
class Asked:
    """What a stream is of."""

    topic: Topic
    partition: int
    bytes_max: int
    consumer_id: str | None = None


class Tail:
    """One stream. Its handler opens it, acknowledgements and the partition wake it, the pump asks it."""

    def __init__(self, context: Context, asked: Asked, *, stream_id: int, offset: int) -> None:
        self.asked = asked
        self.stream_id = stream_id
        self.is_over = False
        self._context = context
        self._offset = offset
        self._is_unacknowledged = False
        self._seen_end = -1  # behind the last record that was sent
        self._wake: Callable[[], None] = _nobody
        self._unwatch: Callable[[], None] = _nobody

    # ---- what the pump calls

    def opened(self, wake: Callable[[], None]) -> None:
        """From now on wake() says that there may be something."""
        self._wake = wake
        self._unwatch = self._context.broker.watch_partition(
            self.asked.topic.name, self.asked.partition, self
        )
        wake()

    def next(self) -> Any | None:
        """The next frame, if there is anything and the last one was acknowledged; or the last of all."""
        try:
            return self._frame()
        except (OnelogError, FluvioRefusal) as error:
            fault = self._context.refuse(error)
            self.is_over = True
            self.closed()
            return self._response(
                FetchedPartition(
                    partition=self.asked.partition,
                    error=Code.TOPIC_DELETED if isinstance(error, UnknownTopic) else fault,
                )
            )

    def closed(self) -> None:
        """Nobody is there any more."""
        self._unwatch()
        self._context.tails.remove(self)

    # ---- what the partition calls

    def seen(self, size: int) -> None:
        """So much more is there."""
        if not self._is_unacknowledged:
            self._wake()

    def wake(self) -> None:
        """Something else has changed."""
        self._wake()

    # ---- what the reader says

    def acknowledge(self, offset: int) -> None:
        """It wants to go on here: mostly behind what it was sent, else anywhere."""
        self._is_unacknowledged = False
        if offset != self._seen_end:
            self._offset = offset
        self._wake()

    def _frame(self) -> StreamFetchResponse | None:
        broker, asked = self._context.broker, self.asked
        if broker.topic(asked.topic.name).id != asked.topic.id:
            raise UnknownTopic(topic=asked.topic.name)
        info = broker.describe_partition(asked.topic.name, asked.partition)
        if self._is_unacknowledged:
            return None
        offset = self._offset
        if offset >= info.stable:
            return None
        check_place(info, offset)
        records, offset_next = read(broker, asked.topic.name, asked.partition, offset, asked.bytes_max)
        self._offset = offset_next
        if not records.size:
            if offset_next > offset:  # there may be more behind what nobody may see
                asyncio.get_running_loop().call_soon(self._wake)
            return None
        self._context.lost(records.losses)
        self._seen_end = records.end
        self._is_unacknowledged = True
        return self._response(said(info, asked.partition, records, offset_next))

    def _response(self, fetched: FetchedPartition) -> StreamFetchResponse:
        return StreamFetchResponse(topic=self.asked.topic.name, stream_id=self.stream_id, fetched=fetched)


def _nobody() -> None:
    """Who is not there yet hears nothing."""

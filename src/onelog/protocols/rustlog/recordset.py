"""Records as RustLog has them, a payload each, to and from the log's batches.

A RustLog record has neither key nor headers nor a null value. What another dialect wrote
loses them on the way out, and what was lost is counted.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onelog.protocols.rustlog.messages.json import U64_MAX, FetchedRecord
from onelog.records.batch import Batch
from onelog.records.record import Record

# What one Produce may carry: the document's figure in JSON, in the binary form what does not
# hold up everybody else.
RECORDS_MAX: Final = 1000
BINARY_RECORDS_MAX: Final = 1 << 16
# What a record counts beside its payload when max_bytes is spent: its offset and timestamp.
RECORD_OVERHEAD: Final = 16


@dataclass
class Taken:
    """What goes into one answer, and where the next one goes on."""

    records: list[FetchedRecord]
    next_offset: int
    losses: Counter[str] = field(default_factory=Counter)
    oversized: tuple[int, int] | None = None
    """Offset and size of a first record that no frame holds."""


def batch_of(payloads: Sequence[bytes], *, timestamp_ms: int) -> Batch:
    """One batch: all of them are appended, or none."""
    return Batch.build([Record(key=None, value=payload, timestamp_ms=timestamp_ms) for payload in payloads])


def take(
    batches: Iterable[Batch],
    *,
    offset: int,
    bytes_max: int,
    room: int,
    size_in_frame: Callable[[int, int, int], int],
    stops_at_gaps: bool = False,
) -> Taken:
    """Records from offset on, at least one, until bytes_max is spent or the frame's room is.

    stops_at_gaps: where numbers are not told, the reader counts them back from next_offset.
    """
    taken = Taken([], next_offset=offset)
    for batch in batches:
        for at, record in batch.numbered():
            if at < offset:
                continue
            if stops_at_gaps and taken.records and at != taken.next_offset:
                return taken
            payload = record.value if record.value is not None else b""
            timestamp_us = min(max(record.timestamp_ms, 0) * 1000, U64_MAX)
            bytes_max -= len(payload) + RECORD_OVERHEAD
            room -= size_in_frame(at, timestamp_us, len(payload))
            if room < 0 and not taken.records:
                taken.oversized = (at, len(payload))
                return taken
            if room < 0 or (bytes_max < 0 and taken.records):
                return taken
            taken.records.append(FetchedRecord(offset=at, timestamp=timestamp_us, payload=payload))
            taken.next_offset = at + 1
            if record.key is not None or record.headers or record.value is None:
                _count_losses(taken.losses, record)
    return taken


def _count_losses(losses: Counter[str], record: Record) -> None:
    losses["key"] += record.key is not None
    losses["headers"] += bool(record.headers)
    losses["null_value"] += record.value is None

"""Control batches: the markers that end a transaction, and what readers leave out for them.

    key    version i16 = 0 | kind i16      0 aborted, 1 committed
    value  version i16 = 0 | coordinator_epoch i32

A marker takes one offset, has the producer of its transaction and no sequence. Which
transactions ended how is decided above; here it is only read and written.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from onelog.errors import InvalidRecord
from onelog.records.batch import Batch
from onelog.records.record import Record

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class Verdict(Enum):
    """How a transaction ended."""

    ABORTED = 0
    COMMITTED = 1


class Marker(NamedTuple):
    """The end of one producer's transaction in one partition."""

    verdict: Verdict
    coordinator_epoch: int


class Aborted(NamedTuple):
    """An aborted transaction: whose, and its first offset in the partition."""

    producer_id: int
    first_offset: int


def build_marker(
    marker: Marker, *, producer_id: int, producer_epoch: int, timestamp_ms: int, base_offset: int = 0
) -> Batch:
    """The control batch that says so."""
    key = _KEY.pack(0, marker.verdict.value)
    value = _VALUE.pack(0, marker.coordinator_epoch)
    return Batch.build(
        [Record(key, value, timestamp_ms)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_marker(batch: Batch) -> Marker | None:
    """The marker in a control batch; None for kinds of control batches that are not one."""
    assert batch.is_control
    record = next(batch.records(), None)
    if record is None:
        return None
    key, value = record.key or b"", record.value or b""
    if len(key) < _KEY.size:
        raise InvalidRecord(f"control batch at offset {batch.base_offset}", f"a key of {len(key)} bytes")
    kind = _KEY.unpack_from(key)[1]
    if kind not in (Verdict.ABORTED.value, Verdict.COMMITTED.value):
        return None
    if len(value) < _VALUE.size:
        raise InvalidRecord(f"control batch at offset {batch.base_offset}", f"a value of {len(value)} bytes")
    return Marker(Verdict(kind), _VALUE.unpack_from(value)[1])


def data_batches(
    batches: Iterable[Batch], *, aborted: Sequence[tuple[int, int]] | None = None
) -> Iterator[Batch]:
    """The batches that hold data, and none of the aborted transactions (producer id, first offset).

    The batches are those of one partition, in order; an abort holds until its marker.
    """
    pending = sorted((Aborted(*each) for each in aborted or ()), key=lambda each: -each.first_offset)
    dropped: set[int] = set()
    for batch in batches:
        while pending and pending[-1].first_offset <= batch.last_offset:
            dropped.add(pending.pop().producer_id)
        if batch.is_control:
            if batch.producer_id in dropped:
                marker = read_marker(batch)
                if marker is not None and marker.verdict is Verdict.ABORTED:
                    dropped.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in dropped):
            yield batch

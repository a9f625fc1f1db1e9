"""Batches as kafka-python writes and reads them: another program's word on the same bytes."""

import warnings
from collections.abc import Iterable

from onelog.records.record import Header, Record

with warnings.catch_warnings():
    # Importing it asks importlib.resources in a way that is no longer liked.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder


def written(records: Iterable[Record], *, codec: int) -> bytes:
    """One batch, as a producer of kafka-python sends it."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=1 << 20)
    for record in records:
        headers = [tuple(header) for header in record.headers]
        builder.append(timestamp=record.timestamp_ms, key=record.key, value=record.value, headers=headers)
    builder.close()
    return bytes(builder.buffer())


def read(data: bytes) -> list[tuple[int, Record]]:
    """The records of one batch, each with its offset, as a consumer of kafka-python sees them."""
    (batch,) = MemoryRecords(data)
    assert batch.validate_crc()
    return [
        (r.offset, Record(r.key, r.value, r.timestamp, tuple(Header(*each) for each in r.headers)))
        for r in batch
    ]

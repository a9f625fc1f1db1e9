"""Records into batches that a broker takes, and a producer's sequence into a ready batch.

Pure: no socket, no broker. Which partition a batch goes to, and when, is the producer's.
"""

from collections.abc import Iterable, Iterator

from onelog.binary.crc import crc32c
from onelog.records import codec as layout
from onelog.records.batch import Batch
from onelog.records.record import Record

# Below Kafka's default for max.message.bytes (1 MiB and 12), whatever the codec adds.
BATCH_BYTES_MAX = 1_000_000
SEQUENCES = 1 << 31
# Length, attributes, two deltas, two lengths and the number of headers, each at its widest.
_RECORD_OVERHEAD = 32
_HEADER_OVERHEAD = 10


def chunks(records: Iterable[Record], *, bytes_max: int = BATCH_BYTES_MAX) -> Iterator[list[Record]]:
    """The records in their order, in lots that fit a batch each; a record too large is alone."""
    lot: list[Record] = []
    size = layout.HEADER_BYTES
    for record in records:
        more = size_of(record)
        if lot and size + more > bytes_max:
            yield lot
            lot, size = [], layout.HEADER_BYTES
        lot.append(record)
        size += more
    if lot:
        yield lot


def size_of(record: Record) -> int:
    """The most that a record takes in a batch, uncompressed."""
    size = _RECORD_OVERHEAD + len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        # A character of a header's key has up to 4 bytes.
        size += _HEADER_OVERHEAD + 4 * len(key) + len(value or b"")
    return size


def sequenced(batch: Batch, *, producer_id: int, producer_epoch: int, base_sequence: int) -> Batch:
    """The batch as that producer's next one: one copy, and a new CRC."""
    data = bytearray(batch.data)
    fields = list(layout.HEADER.unpack_from(data))
    fields[9:12] = producer_id, producer_epoch, base_sequence
    layout.HEADER.pack_into(data, 0, *fields)
    layout.CRC.pack_into(data, layout.CRC_AT, crc32c(memoryview(data)[layout.CRC_FROM :]))
    return Batch.of(data)


def sequence_behind(batch: Batch) -> int:
    """The sequence that the producer's next batch begins with."""
    return (batch.base_sequence + batch.last_offset_delta + 1) % SEQUENCES

"""From batch to batch through a segment file, by their headers.

The walk ends where no whole, sane batch stands: at the end, at a torn one, or at damage.
Which of these it is, the caller decides by what the file was said to hold.
"""

import struct
from collections.abc import Iterator

from onelog.binary.crc import crc32c
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.records.batch import Batch
from onelog.records.codec import CRC_FROM, HEADER_BYTES, SIZE_BYTES
from onelog.storage.disk import Buffer, DiskFile

CHUNK_BYTES = 1 << 20

_SIZE = struct.Struct(">i")


def batch_bytes(data: bytes | memoryview, at: int) -> int:
    """How many bytes the batch at this place says to have; may be nonsense."""
    size: int = _SIZE.unpack_from(data, at + 8)[0]
    return size + SIZE_BYTES


def walk(
    file: DiskFile, *, position: int, end: int, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[tuple[int, Batch]]:
    """(position, batch) of each whole batch before `end`, from a position where one begins."""
    chunk_bytes = max(chunk_bytes, HEADER_BYTES)
    while position + HEADER_BYTES <= end:
        asked = min(chunk_bytes, end - position)
        data = memoryview(file.pread(position, asked))
        at = 0
        while at + HEADER_BYTES <= len(data):
            size = batch_bytes(data, at)
            if size < HEADER_BYTES or size > end - position - at:
                return
            if size > len(data) - at:
                break
            batch = sane_batch(data[at : at + size])
            if batch is None:
                return
            yield position + at, batch
            at += size
        if len(data) < asked:
            return
        if not at:
            # One batch is larger than the chunk: the next look takes in all of it.
            chunk_bytes = batch_bytes(data, 0)
        position += at


def is_intact(batch: Batch) -> bool:
    """Whether the bytes are those that the batch's checksum speaks of."""
    return crc32c(memoryview(batch.data)[CRC_FROM:]) == batch.crc


def sane_batch(view: Buffer) -> Batch | None:
    """The batch at the beginning of view, or None when its header contradicts itself."""
    try:
        return Batch.of(view)
    except (CorruptBatch, InvalidRecord):
        return None

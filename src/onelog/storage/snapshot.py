"""What is known of the producers at the beginning of a segment, so that a start reads less.

A file that can be dropped at any moment: it only says again what the batches before it say.
Its form is Kafka's, which writes the last batch of each producer. Here each has up to five
entries, oldest first; who keeps one of each, as Kafka does, is left with the last. One without
a batch (sequence, offset -1) is of a producer whose epoch a marker has raised:

    version i16 = 1 | CRC-32C of what follows u32 | count i32 | count times:
        producer id i64 | epoch i16 | last sequence i32 | last offset i64 | offset delta i32
        | timestamp i64 | coordinator epoch i32 = -1 | first offset of its open transaction i64, or -1
"""

import struct

from onelog.binary.crc import crc32c
from onelog.storage import layout
from onelog.storage.disk import Buffer, Disk
from onelog.storage.producers import NO_SEQUENCE, Producer, Producers, Seen

_FRONT = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_VERSION = 1
_SEQUENCES = 1 << 31


def encoded(producers: Producers, *, below: int) -> bytes:
    """The producers as they were when the log ended at this offset."""
    entries: list[bytes] = []
    open_at = dict(producers.transactions.open_at(below))
    for producer_id, producer in producers.items():
        first = open_at.get(producer_id, -1)
        for seen in producer.last(below=below):
            place = (seen.next - 1, seen.next - seen.base - 1)
            if seen.last_sequence == NO_SEQUENCE:
                place = (-1, 0)
            entries.append(
                _ENTRY.pack(producer_id, seen.epoch, seen.last_sequence, *place, producer.heard_ms, -1, first)
            )
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _FRONT.pack(_VERSION, crc32c(body)) + body


def decoded(data: Buffer) -> Producers | None:
    """What a snapshot says; None when it is torn, or another form."""
    if len(data) < _FRONT.size + _COUNT.size:
        return None
    version, crc = _FRONT.unpack_from(data)
    body = memoryview(data)[_FRONT.size :]
    entries = body[_COUNT.size :]
    if version != _VERSION or crc32c(body) != crc or len(entries) % _ENTRY.size:
        return None
    producers = Producers()
    for producer_id, epoch, last_sequence, last_offset, delta, heard_ms, _, opened in _ENTRY.iter_unpack(
        entries
    ):
        first = last_sequence if last_sequence == NO_SEQUENCE else (last_sequence - delta) % _SEQUENCES
        seen = Seen(epoch, first, last_sequence, last_offset - delta, last_offset + 1, -1)
        known = producers.get(producer_id)
        producers.put(producer_id, Producer(heard_ms, [*(known.seen if known else ()), seen]))
        if opened >= 0:
            producers.transactions.opened(producer_id, opened)
    return producers


def load(disk: Disk, directory: str, base_offset: int) -> Producers | None:
    """The snapshot that belongs to this offset, if there is a sound one."""
    path = layout.join(directory, layout.segment_file(base_offset, layout.SNAPSHOT_SUFFIX))
    if not disk.exists(path):
        return None
    file = disk.open(path)
    try:
        return decoded(file.pread(0, file.size()))
    finally:
        file.close()

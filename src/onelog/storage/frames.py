"""The bytes of the commit log: file headers, frames and entries, both ways. Pure.

    commit log file   | header, one block | frame ... | frame ... |
    frame             | header | entry, batches | entry, batches | ... zeroes to the next block |
    entry             | topic id uuid | partition u32 | base i64 | next i64 | bytes u32 | batches

Every header ends in its own CRC-32C, and nothing of it is believed before that. A frame's
header has the CRC of its body and names the header CRC of the frame before, so frames are a
chain; its place follows from its LSN, so one left over from an earlier use is out of place.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from onelog.binary.crc import crc32c
from onelog.binary.fields import i64, u16, u32, u64, uuid
from onelog.binary.message import codec, message
from onelog.storage.disk import Buffer

BLOCK_BYTES = 4096
FORMAT = 1
FILE_MAGIC = 0x6F6E6C46  # "onlF"
FRAME_MAGIC = 0x6F6E6C66  # "onlf"
CRC_BYTES = 4


@message()
class FileHeader:
    """Block 0 of a commit log file: whose it is, its place in the log, its size."""

    magic: int = u32()
    format: int = u16()
    directory: UUID = uuid()
    epoch: int = u64()
    number: int = u64()
    size: int = u64()
    start: int = u64()


@message()
class FrameHeader:
    """In front of a frame's entries. durable: up to which LSN the log was durable when it was built."""

    magic: int = u32()
    format: int = u16()
    epoch: int = u64()
    lsn: int = u64()
    length: int = u32()
    entry_count: int = u32()
    durable: int = u64()
    before: int = u32()
    body_crc: int = u32()


@message()
class EntryHeader:
    """In front of the batches of one log."""

    topic_id: UUID = uuid()
    partition: int = u32()
    base: int = i64()
    next: int = i64()
    size: int = u32()


_FILE = codec(FileHeader)
_FRAME = codec(FrameHeader)
_ENTRY = codec(EntryHeader)
FILE_HEADER_BYTES = len(_FILE.encode_bytes(FileHeader())) + CRC_BYTES
FRAME_HEADER_BYTES = len(_FRAME.encode_bytes(FrameHeader())) + CRC_BYTES
ENTRY_HEADER_BYTES = len(_ENTRY.encode_bytes(EntryHeader()))


class LogKey(NamedTuple):
    """A log, whatever its topic is called."""

    topic_id: UUID
    partition: int


class Entry(NamedTuple):
    """Whole batches of one log, one behind the other."""

    key: LogKey
    base: int
    next: int
    buffers: Sequence[Buffer]
    size: int


class Frame(NamedTuple):
    """A frame that was found whole. end: the LSN behind it, at a block's border."""

    lsn: int
    end: int
    epoch: int
    durable: int
    before: int
    crc: int
    entries: list[Entry]


def frame_bytes(entries: Sequence[Entry], *, block_bytes: int) -> int:
    """What a frame of these takes in the file."""
    size = FRAME_HEADER_BYTES + sum(ENTRY_HEADER_BYTES + entry.size for entry in entries)
    return -(-size // block_bytes) * block_bytes


def encoded_frame(
    entries: Sequence[Entry], *, epoch: int, lsn: int, durable: int, before: int, block_bytes: int
) -> tuple[list[Buffer], int]:
    """(a frame's buffers, zero-padded to whole blocks; the CRC that the next one names)."""
    body: list[Buffer] = []
    length = 0
    for (topic_id, partition), base, following, buffers, size in entries:
        head = EntryHeader(topic_id=topic_id, partition=partition, base=base, next=following, size=size)
        body += _ENTRY.encode(head)
        body += buffers
        length += ENTRY_HEADER_BYTES + size
    body_crc = 0
    for buffer in body:
        body_crc = crc32c(buffer, body_crc)
    header = FrameHeader(
        magic=FRAME_MAGIC,
        format=FORMAT,
        epoch=epoch,
        lsn=lsn,
        length=length,
        entry_count=len(entries),
        durable=durable,
        before=before,
        body_crc=body_crc,
    )
    packed = _FRAME.encode_bytes(header)
    crc = crc32c(packed)
    padding = bytes(-(FRAME_HEADER_BYTES + length) % block_bytes)
    return [packed + crc.to_bytes(CRC_BYTES, "big"), *body, padding], crc


def encoded_file_header(header: FileHeader, *, block_bytes: int) -> bytes:
    """Block 0 of a file."""
    packed = _FILE.encode_bytes(header)
    return (packed + crc32c(packed).to_bytes(CRC_BYTES, "big")).ljust(block_bytes, b"\0")


def parsed_file_header(data: Buffer) -> FileHeader | None:
    """What block 0 says; None when it is torn, or another form."""
    view = memoryview(data)[:FILE_HEADER_BYTES]
    if not _is_sealed(view, FILE_HEADER_BYTES):
        return None
    header, _ = _FILE.decode(view)
    return header if header.magic == FILE_MAGIC and header.format == FORMAT else None


def parsed_frame_header(data: Buffer, at: int = 0) -> tuple[FrameHeader, int] | None:
    """(a frame's header, its CRC); None when none stands there."""
    view = memoryview(data)[at : at + FRAME_HEADER_BYTES]
    if not _is_sealed(view, FRAME_HEADER_BYTES):
        return None
    header, _ = _FRAME.decode(view)
    if header.magic != FRAME_MAGIC or header.format != FORMAT:
        return None
    return header, int.from_bytes(view[-CRC_BYTES:], "big")


def parsed_frame(data: Buffer, at: int = 0, *, block_bytes: int) -> Frame | None:
    """The frame that begins here; None when it is torn, or none."""
    found = parsed_frame_header(data, at)
    if found is None:
        return None
    header, crc = found
    first = at + FRAME_HEADER_BYTES
    body = memoryview(data)[first : first + header.length]
    if len(body) < header.length or crc32c(body) != header.body_crc:
        return None
    size = -(-(FRAME_HEADER_BYTES + header.length) // block_bytes) * block_bytes
    entries = list(_entries(body, header.entry_count))
    place = (header.lsn, header.lsn + size, header.epoch, header.durable)
    return Frame(*place, before=header.before, crc=crc, entries=entries)


def _entries(body: memoryview, count: int) -> Iterator[Entry]:
    """Those of a body whose checksum is right, so they are what was written."""
    at = 0
    for _ in range(count):
        head, at = _ENTRY.decode(body, at)
        batches = body[at : at + head.size]
        at += head.size
        yield Entry(LogKey(head.topic_id, head.partition), head.base, head.next, [batches], head.size)


def _is_sealed(view: memoryview, size: int) -> bool:
    """Whether these bytes end in their own checksum."""
    return len(view) == size and crc32c(view[:-CRC_BYTES]) == int.from_bytes(view[-CRC_BYTES:], "big")

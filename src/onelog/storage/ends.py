"""The ends file: how far every log is settled, and from where on the commit log matters.

The one root of a data directory. It is replaced whole: written aside, synced, renamed, the
directory synced. Of every log it promises that all records in frames before `first` are in
the segments that it names, or belong to a topic that the catalog says is deleted.
"""

from dataclasses import dataclass, field
from uuid import UUID

from onelog.binary.crc import crc32c
from onelog.binary.errors import BinaryError
from onelog.binary.fields import array32, boolean, i64, struct, u16, u32, u64, uuid
from onelog.binary.message import codec, message
from onelog.storage import layout
from onelog.storage.disk import Disk, StoreRefused
from onelog.storage.frames import CRC_BYTES, LogKey
from onelog.storage.whole import read_whole, replace_whole

MAGIC = 0x6F6E6C45  # "onlE"
FORMAT = 1
# A partition each; far more than one directory can have.
LOGS_MAX = 1 << 22


@message()
class LogRow:
    """One log: its active segment's first offset and counted length, the next offset, is it refused."""

    topic_id: UUID = uuid()
    partition: int = u32()
    base: int = i64()
    length: int = u64()
    next: int = i64()
    is_refused: bool = boolean()


@message(elements_max=LOGS_MAX)
class EndsRecord:
    """The file, but for the CRC-32C behind it."""

    magic: int = u32()
    format: int = u16()
    is_clean: bool = boolean()
    directory: UUID = uuid()
    epoch: int = u64()
    first: int = u64()
    before: int = u32()
    transaction: int = u64()
    logs: list[LogRow] = array32(struct(LogRow))


_ENDS = codec(EndsRecord)


@dataclass(frozen=True, slots=True)
class Said:
    """What the root says of a log. Refused: it stays as it is until somebody decides."""

    base: int
    length: int
    next: int
    is_refused: bool = False


# Of a log that was refused before any root could say how far it is settled: to be adopted.
UNSAID = Said(base=-1, length=0, next=0, is_refused=True)


@dataclass(frozen=True, slots=True)
class Ends:
    """A root. first: the LSN where the frames that matter begin; before: the CRC that it names."""

    directory: UUID
    epoch: int
    first: int
    before: int
    transaction: int
    logs: dict[LogKey, Said] = field(default_factory=dict)
    is_clean: bool = False


def encoded(ends: Ends) -> bytes:
    """The bytes of the file."""
    rows = [
        LogRow(
            topic_id=key.topic_id,
            partition=key.partition,
            base=said.base,
            length=said.length,
            next=said.next,
            is_refused=said.is_refused,
        )
        for key, said in ends.logs.items()
    ]
    packed = _ENDS.encode_bytes(
        EndsRecord(
            magic=MAGIC,
            format=FORMAT,
            is_clean=ends.is_clean,
            directory=ends.directory,
            epoch=ends.epoch,
            first=ends.first,
            before=ends.before,
            transaction=ends.transaction,
            logs=rows,
        )
    )
    return packed + crc32c(packed).to_bytes(CRC_BYTES, "big")


def decoded(data: bytes, *, path: str) -> Ends:
    """What the file says; StoreRefused when it is damaged, or of another version."""
    body, crc = memoryview(data)[:-CRC_BYTES], int.from_bytes(data[-CRC_BYTES:], "big")
    if len(data) <= CRC_BYTES or crc32c(body) != crc:
        raise StoreRefused(
            f"{path}: {len(data)} bytes whose checksum is not right; expected an ends file, which is replaced "
            "whole and cannot be torn. The disk damaged it: restore the directory from a backup."
        )
    try:
        record, end = _ENDS.decode(body)
    except BinaryError:
        record, end = EndsRecord(), -1
    if (record.magic, record.format, end) != (MAGIC, FORMAT, len(body)):
        raise StoreRefused(
            f"{path}: format {record.format}; expected {FORMAT}. Another version of onelog wrote it: use that one."
        )
    logs = {
        LogKey(row.topic_id, row.partition): Said(row.base, row.length, row.next, row.is_refused)
        for row in record.logs
    }
    return Ends(
        directory=record.directory,
        epoch=record.epoch,
        first=record.first,
        before=record.before,
        transaction=record.transaction,
        logs=logs,
        is_clean=record.is_clean,
    )


def load(disk: Disk, root: str) -> Ends | None:
    """The root of a directory; None when it has none."""
    path = layout.join(root, layout.ENDS)
    return decoded(read_whole(disk, path), path=path) if disk.exists(path) else None


def write(disk: Disk, root: str, data: bytes) -> None:
    """Make this the root, durably. DiskFull: the old one still stands."""
    replace_whole(disk, layout.join(root, layout.ENDS), data)

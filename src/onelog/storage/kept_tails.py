"""The tail of a log that cannot be settled because it is refused: a file of frames beside its directory.

Synced before the root that lets the commit log forget those records, and there until somebody
decides about the log. Names and forms are the commit log's, in one file of its own.
"""

from collections.abc import Sequence
from uuid import UUID

from onelog.storage import layout
from onelog.storage.disk import Buffer, Disk, StoreRefused
from onelog.storage.frames import (
    BLOCK_BYTES,
    FILE_MAGIC,
    FORMAT,
    Entry,
    FileHeader,
    LogKey,
    encoded_file_header,
    encoded_frame,
    frame_bytes,
    parsed_file_header,
    parsed_frame,
)
from onelog.storage.whole import read_whole, replace_whole


def keep_tail(disk: Disk, root: str, key: LogKey, entries: Sequence[Entry], *, directory: UUID) -> None:
    """All that is known of a log behind what is settled, durably, in place of what was kept before."""
    data: list[Buffer] = []
    position, before = BLOCK_BYTES, 0
    for entry in entries:
        buffers, before = encoded_frame(
            [entry], epoch=0, lsn=position, durable=0, before=before, block_bytes=BLOCK_BYTES
        )
        data += buffers
        position += frame_bytes([entry], block_bytes=BLOCK_BYTES)
    header = FileHeader(magic=FILE_MAGIC, format=FORMAT, directory=directory, size=position)
    replace_whole(
        disk, path_of(root, key), b"".join([encoded_file_header(header, block_bytes=BLOCK_BYTES), *data])
    )


def kept_tail(disk: Disk, root: str, key: LogKey) -> list[Entry]:
    """What was kept of a log, oldest first; nothing when no file is there."""
    path = path_of(root, key)
    if not disk.exists(path):
        return []
    data = read_whole(disk, path)
    header = parsed_file_header(data[:BLOCK_BYTES])
    entries: list[Entry] = []
    position, before = BLOCK_BYTES, 0
    while header is not None and position < header.size:
        frame = parsed_frame(data, position, block_bytes=BLOCK_BYTES)
        if frame is None or frame.lsn != position or frame.before != before:
            break
        entries += frame.entries
        position, before = frame.end, frame.crc
    if header is None or position != header.size:
        raise StoreRefused(
            f"{path} at byte {position}: no whole frame; expected the kept records of log {key.partition} of "
            f"topic {key.topic_id}. The disk damaged it: restore the file, or move it away to accept the loss."
        )
    return entries


def path_of(root: str, key: LogKey) -> str:
    """The file of one log."""
    return layout.join(root, layout.tail_file(key.topic_id, key.partition))


def kept_keys(disk: Disk, root: str) -> list[LogKey]:
    """The logs of which a tail is kept."""
    found = map(layout.tail_key, disk.names(root))
    return [LogKey(*key) for key in found if key is not None]

"""What a log at rest has beside its segments, for others than us: the index of its active one, its producers.

Made when a log is closed with nothing pending. Kafka believes them after a clean stop: without
a snapshot at the log's end it would not know the producers of a log that never rolled.
"""

from contextlib import suppress

from onelog.errors import DiskFailed, DiskFull
from onelog.storage import layout, snapshot
from onelog.storage.disk import Disk
from onelog.storage.producers import Producers
from onelog.storage.segment import Segment
from onelog.storage.undone import of_segment
from onelog.storage.whole import write_files
from onelog.storage.writing import index_files


def leave(disk: Disk, active: Segment, producers: Producers) -> None:
    """Leave the files of an active segment; or none, as nobody of us depends on them."""
    files = index_files(
        active, of_segment(producers.transactions.undone, active.base_offset, active.offset_end)
    )
    latest = _snapshot_path(active, active.offset_end)
    if len(producers):
        files[latest] = snapshot.encoded(producers, below=active.offset_end)
    # A full disk is no reason not to close.
    try:
        _remove_older(disk, active)
        write_files(disk, files)
    except (DiskFull, DiskFailed):
        with suppress(DiskFull, DiskFailed):
            for path in files:
                disk.unlink(path)


def _remove_older(disk: Disk, active: Segment) -> None:
    """Snapshots of earlier stops within the active segment: nobody would take them away later."""
    for name in disk.names(active.directory):
        found = layout.segment_of(name)
        if found is not None and found[0] > active.base_offset and found[1] == layout.SNAPSHOT_SUFFIX:
            disk.unlink(layout.join(active.directory, name))


def _snapshot_path(active: Segment, offset: int) -> str:
    return layout.join(active.directory, layout.segment_file(offset, layout.SNAPSHOT_SUFFIX))

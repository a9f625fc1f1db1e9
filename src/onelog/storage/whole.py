"""Small files that are written and read whole."""

from collections.abc import Mapping

from onelog.storage import layout
from onelog.storage.disk import Disk


def read_whole(disk: Disk, path: str) -> bytes:
    """All of a file."""
    file = disk.open(path)
    try:
        return file.pread(0, file.size())
    finally:
        file.close()


def write_files(disk: Disk, files: Mapping[str, bytes]) -> None:
    """Each whole and synced. Their names are not."""
    for path, data in files.items():
        file = disk.open(path, create=True)
        try:
            file.write_at(0, [data])
            if file.size() != len(data):
                file.truncate(len(data))
            file.sync()
        finally:
            file.close()


def replace_whole(disk: Disk, path: str, data: bytes) -> None:
    """The file has these bytes, durably, or still has those from before: it is never torn."""
    aside = path + layout.ASIDE_SUFFIX
    write_files(disk, {aside: data})
    disk.rename(aside, path)
    disk.sync_dir(layout.above(path))

"""What lies behind the said end of a log: it counts for nothing, and goes.

A cut is synced by whoever cut, or a newer segment that a power cut brings back could pass
for the active one, and an older one with bytes too many for sealed.
"""

from onelog.storage import layout
from onelog.storage.disk import Disk
from onelog.storage.ends import Said
from onelog.storage.home import Home
from onelog.storage.removal import SUFFIXES


def remove_newer(home: Home, *, than: int) -> None:
    """All files of segments that begin behind this one. The directory is the caller's to sync."""
    disk = home.disk
    if not disk.exists(home.path):
        return
    for name in disk.names(home.path):
        found = layout.segment_of(name)
        if found is not None and found[0] > than and found[1] in SUFFIXES:
            disk.unlink(layout.join(home.path, name))


def remove_leftovers(home: Home, said: Said | None) -> None:
    """Bring a log's files back to what the root says, durably; even where nothing is left to cut.

    The start before may have cut, and not lived to sync it. None: it says of no segment.
    """
    disk = home.disk
    if not disk.exists(home.path):
        # A log that begins at an offset without ever having been settled has none.
        return
    if said is None:
        remove_newer(home, than=-1)
    else:
        remove_newer(home, than=said.base)
        _cut(disk, layout.join(home.path, layout.segment_file(said.base)), said.length)
        for suffix in (layout.INDEX_SUFFIX, layout.TIME_INDEX_SUFFIX, layout.TRANSACTION_INDEX_SUFFIX):
            disk.unlink(layout.join(home.path, layout.segment_file(said.base, suffix)))
    disk.sync_dir(home.path)


def _cut(disk: Disk, path: str, length: int) -> None:
    file = disk.open(path)
    try:
        if file.size() > length:
            file.truncate(length)
        file.sync()
    finally:
        file.close()

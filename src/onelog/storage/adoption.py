"""A log whose end no root of ours says: of the first form of a directory, or written by Kafka.

After a clean stop lengths are believed. After any other, the active segment (the last one)
is read from the disk itself and followed batch by batch: where that ends, nothing was ever
acknowledged, and the rest is cut. Sealed segments were synced before a newer one was made,
so damage in those is never a torn write: it closes the log, and so does a gap.
"""

from dataclasses import dataclass

from onelog.storage import layout
from onelog.storage.disk import DiskFile
from onelog.storage.handles import Handles
from onelog.storage.home import Home
from onelog.storage.segment import LogRefused, Segment
from onelog.storage.standing import Standing, Walker, bases_of, check_identity, require
from onelog.storage.writing import LogSettings


@dataclass
class Adopted:
    """A log as it stands on disk; everything that counts of it is durable."""

    standing: Standing
    bytes_cut: int = 0
    has_home: bool = False


def adopt(home: Home, handles: Handles, *, settings: LogSettings, start: int, was_clean: bool) -> Adopted:
    """What is there, with what is torn cut away. LogRefused when acknowledged data is missing."""
    disk = home.disk
    if not disk.exists(home.path):
        require(start == 0, home, "no directory", f"segments up to offset {start}")
        return Adopted(Standing())
    check_identity(home)
    # A process that was killed may have made directory and file without living to sync them,
    # and Kafka acknowledges what it has not synced.
    home.make()
    bases = bases_of(home, start)
    if not bases:
        require(start == 0, home, "no segment", f"segments up to offset {start}")
        return Adopted(Standing(), has_home=True)
    own = Handles(disk)
    try:
        _sync_sealed(home, own, bases)
        walker = Walker(home, own, settings)
        walker.sealed(bases)
        bytes_cut = _active(home, own, walker, bases[-1], was_clean=was_clean)
    finally:
        own.close()
    standing = walker.handed_over(handles)
    first, end = standing.segments[0].base_offset, standing.segments[-1].offset_end
    require(
        first <= start <= end,
        home,
        f"offsets {first} to {end}",
        f"offset {start}, where the log has to begin",
    )
    return Adopted(standing, bytes_cut=bytes_cut, has_home=True)


def _sync_sealed(home: Home, own: Handles, bases: list[int]) -> None:
    for base in bases[:-1]:
        with own.use(layout.join(home.path, layout.segment_file(base))) as file:
            file.sync()


def _active(home: Home, own: Handles, walker: Walker, base: int, *, was_clean: bool) -> int:
    """Read the last segment; how many bytes were cut from it."""
    with own.use(layout.join(home.path, layout.segment_file(base))) as file:
        # What a killed process left in the cache gets to the disk now or fails now; then the
        # disk is read, not a cache that a failed sync may have left too good.
        file.sync()
        if not was_clean:
            file.drop_cache()
        said = file.size()
        segment = walker.active(file, base, said=said, is_checked=not was_clean)
        if segment.size == said:
            return 0
        return _cut(file, segment, said, was_clean=was_clean)


def _cut(file: DiskFile, segment: Segment, said: int, *, was_clean: bool) -> int:
    if was_clean:
        raise LogRefused(
            f"{segment.path} at byte {segment.size}: no whole batch in order; expected batches up to "
            f"byte {said}, as at the clean stop before. Another program wrote here, or the disk lost "
            "data"
        )
    file.truncate(segment.size)
    file.sync()
    return said - segment.size

"""What a log's directory holds after a stop, clean or not: segments, producers, bytes cut.

After a clean stop lengths are believed. After any other, the active segment (the last one)
is read from the disk itself and followed batch by batch: where that ends, nothing was ever
acknowledged, and the rest is cut. Sealed segments were synced before a newer one was made,
so damage in those is never a torn write: it closes the log, and so does a gap.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from onelog.records.batch import Batch
from onelog.storage import layout, snapshot
from onelog.storage.disk import DiskFile
from onelog.storage.handles import Handles
from onelog.storage.home import Home, is_half_made, topic_id_of
from onelog.storage.index import Index
from onelog.storage.producers import Producers
from onelog.storage.removal import SegmentRemoval
from onelog.storage.segment import LogRefused, Segment
from onelog.storage.walk import is_intact, walk
from onelog.storage.writing import LogSettings

# How much of a log is walked at least, however new its last snapshot is.
WALKED_BYTES_MIN = 16 << 20


@dataclass
class Recovered:
    """A log as it stands on disk."""

    segments: list[Segment] = field(default_factory=list)
    producers: Producers = field(default_factory=Producers)
    bytes_cut: int = 0
    has_home: bool = False


def recover(home: Home, handles: Handles, *, settings: LogSettings, start: int, was_clean: bool) -> Recovered:
    """What is there, with what is torn cut away. LogRefused when acknowledged data is missing.

    Uses files of its own while it runs, so it may run in any thread; the segments that it
    returns read through `handles`.
    """
    disk = home.disk
    if not disk.exists(home.path):
        _require(start == 0, home, "no directory", f"segments up to offset {start}")
        return Recovered()
    _check_identity(home)
    if not was_clean:
        # A process that was killed may have made directory and file without living to sync them.
        home.make()
    bases = _bases(home, start)
    if not bases:
        _require(start == 0, home, "no segment", f"segments up to offset {start}")
        return Recovered(has_home=True)
    own = Handles(disk)
    try:
        found = _Recovery(home, own, settings, was_clean=was_clean).of(bases)
    finally:
        own.close()
    for segment in found.segments:
        segment.handles = handles
    first, end = found.segments[0].base_offset, found.segments[-1].offset_end
    _require(
        first <= start <= end,
        home,
        f"offsets {first} to {end}",
        f"offset {start}, where the log has to begin",
    )
    return found


def _check_identity(home: Home) -> None:
    # The id is durable before the first record is, so a power cut never takes it from a segment.
    if topic_id_of(home.disk, home.path) is None and not is_half_made(home.disk, home.path):
        raise LogRefused(
            f"{layout.join(home.path, layout.METADATA)}: not there or not readable; expected the id of "
            f"topic {home.topic}, as there is more in the directory. If these "
            "files are that topic's, write it again, two lines: `version: 0` and "
            f"`topic_id: {layout.kafka_id(home.topic_id)}`. If not, move the directory away"
        )


def _bases(home: Home, start: int) -> list[int]:
    """The segments' first offsets. What a removal that was cut off has left below the start goes."""
    files = list(filter(None, map(layout.segment_of, home.disk.names(home.path))))
    bases = sorted(base for base, suffix in files if suffix == layout.LOG_SUFFIX)
    dead = sum(following <= start for _, following in pairwise(bases))
    if bases and bases[dead] <= start:
        leaving = {base for base, _ in files if base < bases[dead]}
        SegmentRemoval(home.disk, home.path, sorted(leaving)).run()
    return bases[dead:]


def _require(holds: bool, home: Home, found: str, expected: str) -> None:
    if not holds:
        raise LogRefused(
            f"{home.path}: found {found}; expected {expected}. "
            "Restore the directory from a backup, or delete and create the topic to accept the loss"
        )


class _Recovery:
    """One pass over the segments of one log."""

    def __init__(self, home: Home, own: Handles, settings: LogSettings, *, was_clean: bool) -> None:
        self._home = home
        self._own = own
        self._settings = settings
        self._was_clean = was_clean
        self._found = Recovered(has_home=True)

    def of(self, bases: list[int]) -> Recovered:
        for base, following in pairwise(bases):
            self._found.segments.append(self._sealed(base, following))
        self._derive_producers(self._found.segments, bases[-1])
        self._found.segments.append(self._active(bases[-1]))
        return self._found

    def _sealed(self, base: int, following: int) -> Segment:
        with self._own.use(layout.join(self._home.path, layout.segment_file(base))) as file:
            size = file.size()
        return Segment.standing(self._own, self._home.path, base, offset_end=following, size=size, index=None)

    def _derive_producers(self, sealed: list[Segment], active_base: int) -> None:
        """From a snapshot that has enough behind it, and from what follows.

        A snapshot that Kafka wrote knows each producer's last batch only; the walk brings back
        the others that may come again.
        """
        behind: list[Segment] = []
        known = snapshot.load(self._home.disk, self._home.path, active_base)
        for segment in reversed(sealed):
            if known is not None and sum(s.size for s in behind) >= WALKED_BYTES_MIN:
                break
            behind.append(segment)
            known = snapshot.load(self._home.disk, self._home.path, segment.base_offset)
        self._found.producers = Producers() if known is None else known
        for segment in reversed(behind):
            end = self._note_all((batch for _, batch in segment.batches()), segment.base_offset)
            if end != segment.offset_end:
                raise segment.damaged(segment.size)

    def _note_all(self, batches: Iterable[Batch], offset: int) -> int:
        for batch in batches:
            if batch.base_offset != offset:
                break
            self._found.producers.note(
                batch, base=offset, heard_ms=batch.max_timestamp_ms, settled=batch.offset_end
            )
            offset = batch.offset_end
        return offset

    def _active(self, base: int) -> Segment:
        path = layout.join(self._home.path, layout.segment_file(base))
        with self._own.use(path) as file:
            if not self._was_clean:
                # What a killed process left in the cache gets to the disk now or fails now; then
                # the disk is read, not a cache that a failed sync may have left too good.
                file.sync()
                file.drop_cache()
            said = file.size()
            segment = self._scanned(file, base, said)
            if segment.size != said:
                self._cut(file, segment, said)
            return segment

    def _scanned(self, file: DiskFile, base: int, said: int) -> Segment:
        index = Index()
        position, offset, epoch, created_ms = 0, base, 0, -1
        for at, batch in walk(file, position=0, end=said):
            # The checksum leaves out the base offset and the leader epoch, so a tear within
            # these is seen by their order only.
            in_order = batch.base_offset == offset and batch.leader_epoch >= epoch
            if not in_order or not (self._was_clean or is_intact(batch)):
                break
            index.note(
                batch.last_offset - base,
                position=at,
                size=batch.size,
                timestamp_ms=batch.max_timestamp_ms,
                interval_bytes=self._settings.index_interval_bytes,
            )
            self._found.producers.note(
                batch, base=offset, heard_ms=batch.max_timestamp_ms, settled=batch.offset_end
            )
            if not at:
                created_ms = batch.max_timestamp_ms
            position, offset, epoch = at + batch.size, batch.offset_end, batch.leader_epoch
        segment = Segment.standing(
            self._own, self._home.path, base, offset_end=offset, size=position, index=index
        )
        segment.created_ms = created_ms
        return segment

    def _cut(self, file: DiskFile, segment: Segment, said: int) -> None:
        if self._was_clean:
            raise LogRefused(
                f"{segment.path} at byte {segment.size}: no whole batch in order; expected batches up to "
                f"byte {said}, as at the clean stop before. Another program wrote here, or the disk lost "
                "data"
            )
        file.truncate(segment.size)
        file.sync()
        self._found.bytes_cut = said - segment.size

"""What stands in a log's segments: the segments, the active one's index, the producers.

Sealed segments are taken as they are; from the last snapshot that has enough behind it, and
over the active segment, the batches are walked by their headers.
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
class Standing:
    """A log's segments as they count, oldest first, and what is known of its producers."""

    segments: list[Segment] = field(default_factory=list)
    producers: Producers = field(default_factory=Producers)


def check_identity(home: Home) -> None:
    """Whether the directory says whose it is, as it has to before anything of it counts."""
    # The id is durable before the first record is, so a power cut never takes it from a segment.
    if topic_id_of(home.disk, home.path) is None and not is_half_made(home.disk, home.path):
        raise LogRefused(
            f"{layout.join(home.path, layout.METADATA)}: not there or not readable; expected the id of "
            f"topic {home.topic}, as there is more in the directory. If these "
            "files are that topic's, write it again, two lines: `version: 0` and "
            f"`topic_id: {layout.kafka_id(home.topic_id)}`. If not, move the directory away"
        )


def bases_of(home: Home, start: int) -> list[int]:
    """The segments' first offsets. What a removal that was cut off has left below the start goes."""
    files = list(filter(None, map(layout.segment_of, home.disk.names(home.path))))
    bases = sorted(base for base, suffix in files if suffix == layout.LOG_SUFFIX)
    dead = sum(following <= start for _, following in pairwise(bases))
    if bases and bases[dead] <= start:
        leaving = {base for base, _ in files if base < bases[dead]}
        SegmentRemoval(home.disk, home.path, sorted(leaving)).run()
    return bases[dead:]


def require(holds: bool, home: Home, found: str, expected: str) -> None:
    """LogRefused unless it is so."""
    if not holds:
        raise LogRefused(
            f"{home.path}: found {found}; expected {expected}. "
            "Restore the directory from a backup, or delete and create the topic to accept the loss"
        )


def file_size(handles: Handles, path: str) -> int:
    """The size of a file."""
    with handles.use(path) as file:
        return file.size()


class Walker:
    """One pass over the segments of one log, with files of its own."""

    def __init__(self, home: Home, own: Handles, settings: LogSettings) -> None:
        self._home = home
        self._own = own
        self._settings = settings
        self.standing = Standing()

    def sealed(self, bases: list[int]) -> None:
        """All segments but the last: each ends where the next one begins."""
        for base, following in pairwise(bases):
            size = file_size(self._own, layout.join(self._home.path, layout.segment_file(base)))
            self.standing.segments.append(
                Segment.standing(
                    self._own, self._home.path, base, offset_end=following, size=size, index=None
                )
            )
        self._derive_producers(self.standing.segments, bases[-1])

    def active(self, file: DiskFile, base: int, *, said: int, is_checked: bool) -> Segment:
        """The last segment, as far as whole batches in order stand in it, or up to `said`.

        is_checked: each is also held against its checksum.
        """
        index = Index()
        position, offset, epoch, created_ms = 0, base, 0, -1
        for at, batch in walk(file, position=0, end=said):
            # The checksum leaves out the base offset and the leader epoch, so a tear within
            # these is seen by their order only.
            in_order = batch.base_offset == offset and batch.leader_epoch >= epoch
            if not in_order or (is_checked and not is_intact(batch)):
                break
            index.note(
                batch.last_offset - base,
                position=at,
                size=batch.size,
                timestamp_ms=batch.max_timestamp_ms,
                interval_bytes=self._settings.index_interval_bytes,
            )
            self._note(batch, offset)
            if not at:
                created_ms = batch.max_timestamp_ms
            position, offset, epoch = at + batch.size, batch.offset_end, batch.leader_epoch
        segment = Segment.standing(
            self._own, self._home.path, base, offset_end=offset, size=position, index=index
        )
        segment.created_ms = created_ms
        self.standing.segments.append(segment)
        return segment

    def handed_over(self, handles: Handles) -> Standing:
        """The result, reading through other handles from now on."""
        for segment in self.standing.segments:
            segment.handles = handles
        return self.standing

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
        self.standing.producers = Producers() if known is None else known
        for segment in reversed(behind):
            end = self._note_all((batch for _, batch in segment.batches()), segment.base_offset)
            if end != segment.offset_end:
                raise segment.damaged(segment.size)

    def _note_all(self, batches: Iterable[Batch], offset: int) -> int:
        for batch in batches:
            if batch.base_offset != offset:
                break
            self._note(batch, offset)
            offset = batch.offset_end
        return offset

    def _note(self, batch: Batch, offset: int) -> None:
        self.standing.producers.note(
            batch, base=offset, heard_ms=batch.max_timestamp_ms, settled=batch.offset_end
        )

"""One log's part of a round: which bytes go to which segment, and in which order they get there.

Planned on the loop's thread from the log's tail; carried out by a worker, which makes system
calls and touches nothing that readers look at; published on the loop's thread when the root
says that it counts, or given up. What was written and is given up is a leftover: it counts
for nothing, and is overwritten by position or removed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from onelog.errors import DiskFull
from onelog.records.batch import Batch
from onelog.storage import layout, snapshot
from onelog.storage.disk import Buffer, DiskFile
from onelog.storage.handles import Handles
from onelog.storage.home import Home
from onelog.storage.index import RELATIVE_MAX, IndexMark
from onelog.storage.leftovers import remove_newer
from onelog.storage.producers import Producers
from onelog.storage.segment import Segment
from onelog.storage.whole import write_files


@dataclass(frozen=True)
class LogSettings:
    """What a topic's settings say of its files."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    index_interval_bytes: int = 4096


@dataclass
class Piece:
    """What one job adds to one segment."""

    segment: Segment
    position: int
    offset_end: int
    max_timestamp_ms: int = -1
    is_new: bool = False
    buffers: list[Buffer] = field(default_factory=list)
    bytes_added: int = 0
    files: dict[str, bytes] | None = None
    mark: IndexMark | None = None


class SettleJob:
    """What a log's tail had when its round began, on its way to the log's segment files."""

    def __init__(
        self, home: Home, pieces: list[Piece], *, batch_count: int, makes_home: bool, has_leftovers: bool
    ) -> None:
        self.pieces = pieces
        self.batch_count = batch_count
        self.makes_home = makes_home
        self.has_leftovers = has_leftovers
        self._home = home

    @property
    def offset_end(self) -> int:
        """The offset behind the last record of this job."""
        return self.pieces[-1].offset_end

    @property
    def active_end(self) -> int:
        """How much of the newest segment counts."""
        return self.pieces[-1].position + self.pieces[-1].bytes_added

    def run(self) -> None:
        """Write and sync all of it. In a worker's thread; afterwards, it survives a power cut.

        Opens its own files, a few at a time, so that a round of any number of logs needs no more.
        """
        if self.makes_home:
            self._home.make()
        if self.has_leftovers:
            remove_newer(self._home, than=self._standing_base())
        for piece in self.pieces:
            self._write(piece)
        if self.has_leftovers:
            # The root behind this takes them for gone, and a clean one takes what comes back for
            # the work of another program.
            self._home.disk.sync_dir(self._home.path)

    def _standing_base(self) -> int:
        first = self.pieces[0]
        return -1 if first.is_new else first.segment.base_offset

    def _write(self, piece: Piece) -> None:
        disk = self._home.disk
        file = disk.open(piece.segment.path, create=piece.is_new)
        try:
            self._write_to(file, piece)
        except DiskFull:
            # The file is let go, and the news of a write that failed behind our back goes with it:
            # it is asked for now. What was written stays as a leftover.
            file.sync()
            raise
        finally:
            file.close()
        if piece.files is not None:
            write_files(disk, piece.files)
        if piece.is_new or piece.files is not None:
            # Before the file of a newer segment is made, this one has to be whole and its name
            # known: a newer one that stands there after a power cut proves all before it.
            disk.sync_dir(self._home.path)

    def _write_to(self, file: DiskFile, piece: Piece) -> None:
        if piece.is_new:
            assert file.size() == 0
        if piece.buffers:
            file.write_at(piece.position, piece.buffers)
        end = piece.position + piece.bytes_added
        if self.has_leftovers and file.size() > end:
            # A newer segment makes this one pass for sealed: then all of it counts.
            file.truncate(end)
        file.sync()


class Plan:
    """Puts batches into segments, one after the other, and rolls where it has to."""

    def __init__(
        self,
        handles: Handles,
        home: Home,
        *,
        active: Segment | None,
        producers: Producers,
        settings: LogSettings,
    ) -> None:
        self._handles = handles
        self._home = home
        self._producers = producers
        self._settings = settings
        self.pieces: list[Piece] = []
        if active is not None:
            self.pieces.append(
                Piece(active, position=active.size, offset_end=active.offset_end, mark=active.index.mark())
            )

    def add(self, batch: Batch, *, now_ms: int) -> None:
        """The next batch of the log, appended at now_ms."""
        if not self.pieces or self._is_full_for(batch, now_ms):
            self.roll(batch.base_offset, now_ms=now_ms)
        piece = self.pieces[-1]
        piece.segment.index.note(
            batch.last_offset - piece.segment.base_offset,
            position=piece.position + piece.bytes_added,
            size=batch.size,
            timestamp_ms=batch.max_timestamp_ms,
            interval_bytes=self._settings.index_interval_bytes,
        )
        if piece.segment.created_ms < 0:
            piece.segment.created_ms = now_ms
        piece.buffers.append(batch.data)
        piece.bytes_added += batch.size
        piece.offset_end = batch.offset_end
        piece.max_timestamp_ms = max(piece.max_timestamp_ms, batch.max_timestamp_ms)

    def roll(self, base_offset: int, *, now_ms: int) -> None:
        """Seal what there is and begin a segment at this offset."""
        if self.pieces:
            last = self.pieces[-1]
            assert base_offset > last.segment.base_offset
            last.segment.index.seal()
            snapshot_path = layout.join(
                self._home.path, layout.segment_file(base_offset, layout.SNAPSHOT_SUFFIX)
            )
            last.files = index_files(last.segment)
            last.files[snapshot_path] = snapshot.encoded(self._producers, below=base_offset)
        segment = Segment(self._handles, self._home.path, base_offset, created_ms=now_ms)
        self.pieces.append(Piece(segment, position=0, offset_end=base_offset, is_new=True))

    def job(self, *, batch_count: int, makes_home: bool, has_leftovers: bool) -> SettleJob:
        """What a worker is to do."""
        return SettleJob(
            self._home,
            self.pieces,
            batch_count=batch_count,
            makes_home=makes_home,
            has_leftovers=has_leftovers,
        )

    def _is_full_for(self, batch: Batch, now_ms: int) -> bool:
        piece = self.pieces[-1]
        size = piece.position + piece.bytes_added
        return size > 0 and (
            size + batch.size > self._settings.segment_bytes
            or batch.last_offset - piece.segment.base_offset > RELATIVE_MAX
            or self._is_old(piece.segment, now_ms)
        )

    def _is_old(self, segment: Segment, now_ms: int) -> bool:
        # One from before the start whose first record has no time has no age yet.
        return segment.created_ms >= 0 and now_ms - segment.created_ms >= self._settings.segment_ms


def publish(pieces: Sequence[Piece]) -> list[Segment]:
    """All of it is synced: readers may look. Returns the new segments."""
    fresh: list[Segment] = []
    for piece in pieces:
        piece.segment.grow(
            size=piece.position + piece.bytes_added,
            offset_end=piece.offset_end,
            max_timestamp_ms=piece.max_timestamp_ms,
        )
        if piece.files is not None:
            piece.segment.seal()
        if piece.is_new:
            fresh.append(piece.segment)
    return fresh


def give_up(pieces: Sequence[Piece]) -> None:
    """None of it counts, whatever of it was written: the index is as before."""
    for piece in pieces:
        if piece.mark is not None:
            piece.segment.index.cut(piece.mark)


def index_files(segment: Segment) -> dict[str, bytes]:
    """What a segment's index files are to hold, by path."""
    content = {
        layout.INDEX_SUFFIX: segment.index.offset_bytes(),
        layout.TIME_INDEX_SUFFIX: segment.index.time_bytes(),
    }
    return {
        layout.join(segment.directory, layout.segment_file(segment.base_offset, suffix)): data
        for suffix, data in content.items()
    }

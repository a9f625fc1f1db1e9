"""Is everything in a log's directory as we write it: checksums, order, indexes, snapshots.

Reads every byte and changes none. A finding is something that should not be; a note is what
the next start puts right by itself. Which logs there have to be is asked above. What counts of
the active segment the root says; without one (Kafka wrote it, or the first form of onelog), a
clean stop does, and after another stop the first batch that is not whole.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct

from onelog.records.batch import Batch
from onelog.storage import layout, snapshot
from onelog.storage.disk import Disk
from onelog.storage.ends import Said
from onelog.storage.index import OFFSET_ENTRY, TIME_ENTRY
from onelog.storage.walk import is_intact, walk


@dataclass
class Verdict:
    """What was looked at, and what it was like."""

    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    segments: int = 0
    batches: int = 0
    bytes: int = 0

    def find(self, where: str, found: str, expected: str) -> None:
        """Something is not as it should be."""
        self.findings.append(f"{where}: {found}; expected {expected}.")


def check_log(
    disk: Disk,
    directory: str,
    *,
    start: int,
    was_clean: bool,
    verdict: Verdict,
    said: Said | None = None,
    end: int | None = None,
) -> None:
    """Look at all files of one log, whose first readable offset is `start`.

    end: the offset behind what the commit log has of it, where that goes further than the segments.
    """
    files = filter(None, map(layout.segment_of, disk.names(directory)))
    bases = sorted(base for base, suffix in files if suffix == layout.LOG_SUFFIX)
    if said is not None:
        bases = _counting(directory, bases, said, verdict)
    dead = [base for base, following in pairwise(bases) if following <= start]
    for base in dead:
        verdict.notes.append(f"{_path(directory, base)}: below the log's start; the next start removes it.")
    bases = bases[len(dead) :]
    if not bases:
        if start > (end or 0):
            verdict.find(directory, "no segment", f"segments up to offset {start}")
        return
    stands = bases[0]
    for base, following in [*pairwise(bases), (bases[-1], None)]:
        if base != stands:
            verdict.find(
                _path(directory, base), f"first offset {base}", f"{stands}, where the one before ends"
            )
        is_active = following is None
        length = said.length if said is not None and is_active else None
        stands = _Check(
            disk, directory, base, verdict, is_active=is_active, was_clean=was_clean, length=length
        ).end()
    if said is not None and stands != said.next:
        verdict.find(_path(directory, bases[-1]), f"records up to offset {stands}", str(said.next))
    last = max(stands, end or 0)
    if not bases[0] <= start <= last:
        verdict.find(
            directory, f"offsets {bases[0]} to {last}", f"the catalog's log start {start} among them"
        )


def _counting(directory: str, bases: list[int], said: Said, verdict: Verdict) -> list[int]:
    """The segments that the root speaks of."""
    for base in bases:
        if base > said.base or not said.next:
            verdict.notes.append(
                f"{_path(directory, base)}: nothing speaks of it; the next start removes it."
            )
    if said.length and said.base not in bases:
        verdict.find(_path(directory, said.base), "no file", f"{said.length} bytes up to offset {said.next}")
    return [base for base in bases if base <= said.base and said.next]


def _path(directory: str, base: int, suffix: str = layout.LOG_SUFFIX) -> str:
    return layout.join(directory, layout.segment_file(base, suffix))


class _Check:
    """One segment and the files beside it."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base: int,
        verdict: Verdict,
        *,
        is_active: bool,
        was_clean: bool,
        length: int | None,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._base = base
        self._verdict = verdict
        self._is_active = is_active
        self._was_clean = was_clean or length is not None
        self._has_index = was_clean
        self._length = length
        self._last_offsets: dict[int, int] = {}
        self._times: dict[int, int] = {}
        self._max_timestamp_ms = -1

    def end(self) -> int:
        """Look at everything; the offset behind the last good batch."""
        verdict = self._verdict
        path = _path(self._directory, self._base)
        file = self._disk.open(path)
        try:
            size = self._size_that_counts(path, file.size())
            position, offset, epoch = 0, self._base, 0
            for at, batch in walk(file, position=0, end=size):
                if not self._is_right(path, at, batch, offset, epoch):
                    break
                self._note(at, batch)
                position, offset, epoch = at + batch.size, batch.offset_end, batch.leader_epoch
        finally:
            file.close()
        verdict.segments += 1
        verdict.bytes += size
        if position < size:
            self._judge_rest(path, position, size)
        # The index of an active segment is of the last clean stop; it is made anew at each start.
        if not self._is_active or self._has_index:
            self._check_offset_index(offset)
            self._check_time_index(offset)
        self._check_snapshot()
        return offset

    def _size_that_counts(self, path: str, size: int) -> int:
        """As much as the root says; what is behind is left over, and what is missing was lost."""
        if self._length is None:
            return size
        if size < self._length:
            self._verdict.find(path, f"{size} bytes", f"{self._length} at least, which were synced")
        elif size > self._length:
            left = size - self._length
            self._verdict.notes.append(
                f"{path} at byte {self._length}: {left} bytes left over; the next start cuts them."
            )
        return min(size, self._length)

    def _is_right(self, path: str, at: int, batch: Batch, offset: int, epoch: int) -> bool:
        found: list[tuple[str, str]] = []
        if batch.base_offset != offset:
            found.append((f"base offset {batch.base_offset}", str(offset)))
        if batch.leader_epoch < epoch:
            found.append((f"leader epoch {batch.leader_epoch}", f"{epoch} or later"))
        if not is_intact(batch):
            found.append(("a checksum that does not match", f"{batch.crc:08x}"))
        if self._is_active and not self._was_clean:
            return not found
        for what, expected in found:
            self._verdict.find(f"{path} at byte {at}", what, expected)
        return not found

    def _note(self, at: int, batch: Batch) -> None:
        self._verdict.batches += 1
        self._last_offsets[at] = batch.last_offset
        if batch.max_timestamp_ms > self._max_timestamp_ms:
            self._max_timestamp_ms = batch.max_timestamp_ms
            self._times[batch.last_offset] = batch.max_timestamp_ms

    def _judge_rest(self, path: str, position: int, size: int) -> None:
        rest = f"{size - position} bytes that are no whole batch in order"
        if self._is_active and not self._was_clean:
            self._verdict.notes.append(f"{path} at byte {position}: {rest}; the next start cuts them.")
        else:
            self._verdict.find(f"{path} at byte {position}", rest, f"batches up to byte {size}")

    def _check_offset_index(self, offset_end: int) -> None:
        path = _path(self._directory, self._base, layout.INDEX_SUFFIX)
        for number, (relative, position) in enumerate(self._entries(path, OFFSET_ENTRY)):
            if self._last_offsets.get(position) != self._base + relative:
                found = f"entry {number} says that the batch of offset {self._base + relative} begins at byte {position}"
                self._verdict.find(path, found, f"a batch below offset {offset_end} that does")

    def _check_time_index(self, offset_end: int) -> None:
        path = _path(self._directory, self._base, layout.TIME_INDEX_SUFFIX)
        last = -1
        for number, (timestamp_ms, relative) in enumerate(self._entries(path, TIME_ENTRY)):
            last = timestamp_ms
            if self._times.get(self._base + relative) != timestamp_ms:
                found = f"entry {number} says that offset {self._base + relative} is the first of {timestamp_ms} ms"
                self._verdict.find(path, found, f"a batch below offset {offset_end} that is")
        if not self._is_active and last != self._max_timestamp_ms and self._disk.exists(path):
            self._verdict.find(path, f"newest record of {last} ms", f"{self._max_timestamp_ms} ms")

    def _check_snapshot(self) -> None:
        path = _path(self._directory, self._base, layout.SNAPSHOT_SUFFIX)
        if not self._disk.exists(path):
            return
        known = snapshot.load(self._disk, self._directory, self._base)
        if known is None:
            self._verdict.find(path, "a checksum or form that is not right", "a snapshot of the producers")
            return
        for producer_id, producer in known.items():
            if producer.seen[-1].next > self._base:
                found = f"producer {producer_id} with offset {producer.seen[-1].next - 1}"
                self._verdict.find(path, found, f"offsets below {self._base}")

    def _entries(self, path: str, entry: Struct) -> list[tuple[int, int]]:
        if not self._disk.exists(path):
            self._verdict.notes.append(f"{path}: not there; it is made again when it is needed.")
            return []
        file = self._disk.open(path)
        try:
            data = file.pread(0, file.size())
        finally:
            file.close()
        if len(data) % entry.size:
            self._verdict.find(path, f"{len(data)} bytes", f"entries of {entry.size} bytes")
        return list(entry.iter_unpack(data[: len(data) // entry.size * entry.size]))

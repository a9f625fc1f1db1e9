"""Compaction, as a pure function of batches: of each key the last record stays, and offsets keep.

    extent   which sealed segments, and whether it is worth it           choose()
    map      of each key in what is not compacted yet, its last offset   Latest
    filter   batch by batch from the log's start                         Filter

A record without a value is a tombstone: it stays for a grace time that begins when it is first
compacted. That time is written into its batch, as Kafka does: attribute bit 6, and the horizon
in place of the base timestamp. Aborted records go at once; a marker stays as long as a batch of
its transaction is there, and then for the same grace time. What says where a producer's numbers
stand keeps its header, and so does a segment's last batch, so that the segment says how far it goes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from onelog.binary.compression import Codec
from onelog.records import codec as layout
from onelog.records.batch import Batch
from onelog.records.record import Buffer, Record
from onelog.storage.segment import SegmentInfo
from onelog.storage.transactions import Undone

# How many keys one pass remembers; what is behind waits for the next.
KEYS_MAX = 2_000_000
# A longer one is remembered by its digest, which no shorter one can be equal to.
_KEY_BYTES_MAX = 32


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """What a topic's settings say. None of its times is a limit where it is as large as can be."""

    dirty_ratio_min: float = 0.5
    tombstone_ms: int = 86_400_000
    lag_min_ms: int = 0
    lag_max_ms: int = (1 << 63) - 1


class Extent(NamedTuple):
    """What a pass goes over: from the log's start to `end`; from `dirty` on it was not compacted yet."""

    dirty: int
    end: int
    ratio: float


def choose(
    segments: Sequence[SegmentInfo],
    policy: CompactionPolicy,
    *,
    cleaned: int,
    stable: int,
    now_ms: int,
    oldest_ms: int,
) -> Extent | None:
    """What is to be compacted now; None when it is not worth it. oldest_ms: the time of the first dirty record."""
    end, clean_bytes, dirty_bytes = cleaned, 0, 0
    for segment in segments:
        is_young = policy.lag_min_ms > 0 and segment.max_timestamp_ms > now_ms - policy.lag_min_ms
        if not segment.sealed or segment.offset_end > stable or is_young:
            break
        if segment.offset_end <= cleaned:
            clean_bytes += segment.size
        else:
            dirty_bytes += segment.size
            end = segment.offset_end
    if not dirty_bytes:
        return None
    ratio = dirty_bytes / (clean_bytes + dirty_bytes)
    if ratio > policy.dirty_ratio_min or is_overdue(policy, oldest_ms=oldest_ms, now_ms=now_ms):
        return Extent(cleaned, end, ratio)
    return None


def due(
    segments: Sequence[SegmentInfo], policy: CompactionPolicy, cleaned: int, stable: int, *, now_ms: int
) -> Extent | None:
    """What of a log is to be compacted now, if anything is."""
    dirty = [segment for segment in segments if segment.sealed and segment.offset_end > cleaned]
    if not dirty:
        return None
    # A segment that was there at the start has forgotten when it began: its newest record has to do.
    oldest_ms = dirty[0].created_ms if dirty[0].created_ms >= 0 else dirty[0].max_timestamp_ms
    return choose(segments, policy, cleaned=cleaned, stable=stable, now_ms=now_ms, oldest_ms=oldest_ms)


def should_roll(segments: Sequence[SegmentInfo], policy: CompactionPolicy, *, now_ms: int) -> bool:
    """Whether the active segment has to end, so that its records are compacted in time."""
    if not segments or segments[-1].sealed or not segments[-1].size:
        return False
    return is_overdue(policy, oldest_ms=segments[-1].created_ms, now_ms=now_ms)


def is_overdue(policy: CompactionPolicy, *, oldest_ms: int, now_ms: int) -> bool:
    """Whether a record has stayed uncompacted for longer than it may."""
    return oldest_ms >= 0 and now_ms - oldest_ms > policy.lag_max_ms


def grouped(segments: Sequence[SegmentInfo], *, bytes_max: int, count_max: int) -> list[list[int]]:
    """The numbers of neighbours that become one segment: small ones are joined."""
    groups: list[list[int]] = []
    size = 0
    for number, segment in enumerate(segments):
        first = segments[groups[-1][0]].base_offset if groups else 0
        fits = (
            groups
            and len(groups[-1]) < count_max
            and size + segment.size <= bytes_max
            and segment.offset_end - first < 1 << 31
        )
        if fits:
            groups[-1].append(number)
            size += segment.size
        else:
            groups.append([number])
            size = segment.size
    return groups


class Latest:
    """Of each key the last offset, among the records that were not compacted yet."""

    def __init__(self, *, keys_max: int = KEYS_MAX) -> None:
        self.end = 0
        """Records below this offset are known here."""
        self._keys_max = keys_max
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def is_full(self) -> bool:
        """Whether no batch more is to be noted."""
        return len(self._offsets) >= self._keys_max

    def note(self, records: Iterable[tuple[int, Record]]) -> None:
        """Records that count, in their order."""
        for offset, record in records:
            if record.key is not None:
                self._offsets[_short(record.key)] = offset

    def is_latest(self, offset: int, key: bytes) -> bool:
        """Whether no later record of this key is known."""
        return self._offsets.get(_short(key), -1) <= offset


def _short(key: bytes) -> bytes:
    if len(key) <= _KEY_BYTES_MAX:
        return key
    return blake2b(key, digest_size=_KEY_BYTES_MAX + 1).digest()


def horizon_of(batch: Batch) -> int | None:
    """When the tombstones of a batch may go; None when no pass has come by yet."""
    return batch.base_timestamp_ms if batch.attributes & layout.HORIZON_BIT else None


@dataclass
class Filter:
    """What of each batch stays. Batches come in their order, from the log's start.

    numbered: the last offsets of the batches that say where their producers' numbers stand.
    """

    latest: Latest
    policy: CompactionPolicy
    start: int
    now_ms: int
    undone: Sequence[Undone] = ()
    numbered: Collection[int] = ()
    _left: set[int] = field(default_factory=set)
    """Producers of whose transaction a batch is left."""

    def is_undone(self, batch: Batch) -> bool:
        """Whether the batch is part of a transaction that was aborted."""
        return batch.is_transactional and any(
            each.producer_id == batch.producer_id and each.first <= batch.base_offset <= each.last
            for each in self.undone
        )

    def is_looked_into(self, batch: Batch) -> bool:
        """Whether what stays of it depends on its records."""
        return bool(batch.record_count) and not batch.is_control and not self.is_undone(batch)

    def kept(self, batch: Batch, records: Sequence[tuple[int, Record]]) -> Batch | None:
        """The batch as it stays; None when nothing of it does. records: those that it was looked into for."""
        if batch.is_control:
            return self._marker(batch)
        staying = [(offset, record) for offset, record in records if self._stays(batch, offset, record)]
        kept = self._rebuilt(batch, staying) if staying else self._header(batch)
        if kept is not None and batch.is_transactional:
            self._left.add(batch.producer_id)
        return kept

    def _stays(self, batch: Batch, offset: int, record: Record) -> bool:
        if record.key is None or offset < self.start or not self.latest.is_latest(offset, record.key):
            return False
        return record.value is not None or not self._is_past(batch)

    def _is_past(self, batch: Batch) -> bool:
        horizon = horizon_of(batch)
        return horizon is not None and self.now_ms >= horizon

    def _rebuilt(self, batch: Batch, staying: Sequence[tuple[int, Record]]) -> Batch:
        begins = horizon_of(batch) is None and any(record.value is None for _, record in staying)
        if len(staying) == batch.record_count and not begins:
            return batch
        return rebuilt(batch, staying, horizon_ms=self.now_ms + self.policy.tombstone_ms if begins else None)

    def _header(self, batch: Batch) -> Batch | None:
        return emptied(batch) if batch.producer_id >= 0 and batch.last_offset in self.numbered else None

    def _marker(self, batch: Batch) -> Batch | None:
        if batch.producer_id in self._left:
            self._left.discard(batch.producer_id)
            return batch
        if self._is_past(batch):
            return batch if batch.last_offset in self.numbered else None
        if horizon_of(batch) is not None:
            return batch
        return rebuilt(batch, list(batch.numbered()), horizon_ms=self.now_ms + self.policy.tombstone_ms)


def rebuilt(batch: Batch, staying: Sequence[tuple[int, Record]], *, horizon_ms: int | None) -> Batch:
    """A batch of some of its records, at their offsets, compressed as before."""
    base_timestamp_ms = batch.base_timestamp_ms if horizon_ms is None else horizon_ms
    records = [record for _, record in staying]
    body = layout.encode_records(
        records,
        base_timestamp_ms=base_timestamp_ms,
        offset_deltas=[offset - batch.base_offset for offset, _ in staying],
    )
    appended = batch.attributes & layout.APPEND_TIME_BIT
    return _sealed(
        batch,
        body,
        record_count=len(records),
        attributes=batch.attributes | (layout.HORIZON_BIT if horizon_ms is not None else 0),
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=batch.max_timestamp_ms if appended else max(r.timestamp_ms for r in records),
    )


def emptied(batch: Batch) -> Batch:
    """The batch's header alone: its offsets, its producer and its sequences."""
    return _sealed(
        batch,
        b"",
        record_count=0,
        attributes=batch.attributes & ~(layout.CODEC_MASK | layout.HORIZON_BIT) | Codec.NONE.value,
        base_timestamp_ms=batch.max_timestamp_ms,
        max_timestamp_ms=batch.max_timestamp_ms,
    )


def placeholder(batch: Batch) -> Batch:
    """A header of nobody, with the batch's offsets."""
    return Batch.seal(
        b"",
        record_count=0,
        attributes=0,
        last_offset_delta=batch.last_offset_delta,
        base_timestamp_ms=batch.max_timestamp_ms,
        max_timestamp_ms=batch.max_timestamp_ms,
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
    )


def _sealed(
    batch: Batch,
    body: Buffer,
    *,
    record_count: int,
    attributes: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
) -> Batch:
    return Batch.seal(
        body,
        record_count=record_count,
        attributes=attributes,
        last_offset_delta=batch.last_offset_delta,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=max_timestamp_ms,
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    )

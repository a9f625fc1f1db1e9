"""TANK's record sets: one bundle is one batch of the log, and batches leave as bundles.

What a batch skips before its first record is a hole in the log, kept inside the batch, so that
batches follow each other without gaps. The bytes of a bundle are messages/bundle.py's.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from onelog.binary.compression import Codec
from onelog.binary.errors import BinaryError
from onelog.binary.varint import write_uvarint
from onelog.errors import InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.protocols.tank.messages.bundle import (
    MESSAGES_MAX,
    Buffer,
    Bundle,
    decode_bundle,
    encode_bundle,
    require,
)
from onelog.records.batch import Batch
from onelog.records.codec import encode_records

# A bit of a batch's attributes that Kafka gives no meaning to, and keeps: this batch came as a
# sparse bundle, and leaves as one, also where its numbers would go without saying.
SPARSE_BIT: Final = 0x0100
_DELTA_MAX: Final = (1 << 31) - 1


@dataclass(slots=True)
class Chunk:
    """Whole bundles for one answer, and what was lost on the way to them."""

    data: bytearray = field(default_factory=bytearray)
    base: int = 0
    last: int = 0
    is_sparse: bool = False
    losses: Counter[str] = field(default_factory=Counter)
    _has_gaps: bool = False

    def add(self, batch: Batch, *, offset_start: int) -> bool:
        """The batch's records from offset_start on, as one bundle; False where a new chunk has to begin.

        Readers count numbers on from bundle to bundle. Where that would be wrong the chunk ends:
        the next one says its base.
        """
        numbered = list(batch.numbered(offset_start=max(offset_start, batch.base_offset)))
        if not numbered:
            return True
        first, last = numbered[0][0] + 1, numbered[-1][0] + 1
        has_gaps = last - first + 1 != len(numbered)
        is_sparse = has_gaps or bool(batch.attributes & SPARSE_BIT)
        # One client loses count behind a bundle with gaps.
        if self.data and not is_sparse and (first != self.last + 1 or self._has_gaps):
            return False
        if not self.data:
            self.base, self.is_sparse = first, is_sparse
        bundle = encode_bundle(
            numbered, is_sparse=is_sparse, is_snappy=batch.codec is not Codec.NONE, losses=self.losses
        )
        write_uvarint(self.data, len(bundle))
        self.data += bundle
        self.last, self._has_gaps = last, has_gaps
        return True


def batch_of(
    bundle: Buffer, *, base_sequence: int, offset_next: int, where: str, messages_max: int = MESSAGES_MAX
) -> Batch:
    """The batch of a bundle, to stand at offset_next. base_sequence: of its first message; 0 for the next.

    InvalidRecord where the bundle lies, or its numbers cannot follow.
    """
    try:
        parts = decode_bundle(bundle, where=where, messages_max=messages_max)
    except BinaryError as error:
        raise InvalidRecord(where, str(error)) from error
    records = parts.records
    deltas = _deltas(parts, base_sequence, offset_next, where)
    last_delta = len(records) - 1 if deltas is None else deltas[-1]
    fits = last_delta <= _DELTA_MAX and offset_next + last_delta < OFFSET_MAX
    require(fits, where, f"{last_delta + 1} numbers at once", f"at most {_DELTA_MAX + 1}, below 2^63")
    is_snappy, is_sparse = parts.head.is_snappy, parts.head.is_sparse
    return Batch.seal(
        encode_records(records, base_timestamp_ms=records[0].timestamp_ms, offset_deltas=deltas),
        record_count=len(records),
        attributes=(Codec.SNAPPY.value if is_snappy else 0) | (SPARSE_BIT if is_sparse else 0),
        last_offset_delta=last_delta,
        base_timestamp_ms=records[0].timestamp_ms,
        max_timestamp_ms=max(record.timestamp_ms for record in records),
    )


def _deltas(parts: Bundle, base_sequence: int, offset_next: int, where: str) -> list[int] | None:
    """Where the records stand, counted from offset_next; None where they simply come next."""
    first = parts.head.first if parts.head.is_sparse else base_sequence
    if not first:
        return None
    require(first > offset_next, where, f"number {first}", f"at least {offset_next + 1}")
    if parts.sequences is not None:
        return [sequence - 1 - offset_next for sequence in parts.sequences]
    skipped = first - 1 - offset_next
    return list(range(skipped, skipped + len(parts.records))) if skipped else None

"""TANK's record sets: one bundle is one batch of the log, and batches leave as bundles.

What a batch skips before its first record is a hole in the log, kept inside the batch, so that
batches follow each other without gaps. The head of a bundle is messages/bundle.py's, the loop
over its messages kernels.py's.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from onelog.binary.compression import Codec, snappy_block
from onelog.binary.errors import BinaryError
from onelog.binary.varint import write_uvarint
from onelog.errors import InvalidRecord
from onelog.model import OFFSET_MAX
from onelog.protocols.tank import kernels
from onelog.protocols.tank.kernels import MORE_BYTES_BACK_MAX, MORE_BYTES_MAX, MalformedMessage
from onelog.protocols.tank.messages.bundle import (
    MESSAGES_MAX,
    Buffer,
    Head,
    bundle_head,
    open_bundle,
    require,
)
from onelog.records.batch import Batch
from onelog.records.record import TimestampType

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
        data, where = batch.payload(), f"batch at offset {batch.base_offset}"
        try:
            pos, index, first_delta, last_delta = kernels.span(
                data, batch.record_count, offset_start - batch.base_offset
            )
        except MalformedMessage as error:
            raise InvalidRecord(where, str(error), index=error.index) from error
        count = batch.record_count - index
        if not count:
            return True
        first, last = batch.base_offset + first_delta + 1, batch.base_offset + last_delta + 1
        has_gaps = last - first + 1 != count
        is_sparse = has_gaps or bool(batch.attributes & SPARSE_BIT)
        # One client loses count behind a bundle with gaps.
        if self.data and not is_sparse and (first != self.last + 1 or self._has_gaps):
            return False
        if not self.data:
            self.base, self.is_sparse = first, is_sparse
        is_snappy = batch.codec is not Codec.NONE
        head = bundle_head(count, first=first, last=last, is_sparse=is_sparse, is_snappy=is_snappy)
        body = self._messages(batch, data, pos, index, is_sparse=is_sparse)
        if is_snappy:
            body = snappy_block(body)
        write_uvarint(self.data, len(head) + len(body))
        self.data += head
        self.data += body
        self.last, self._has_gaps = last, has_gaps
        return True

    def _messages(self, batch: Batch, data: Buffer, pos: int, index: int, *, is_sparse: bool) -> Buffer:
        """The batch's records from a position on; what was lost of them is counted."""
        count = batch.record_count
        is_appended = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
        base_ms = batch.max_timestamp_ms if is_appended else batch.base_timestamp_ms
        out = memoryview(bytearray(len(data) - pos + (count - index) * MORE_BYTES_BACK_MAX))
        used, long_keys, nulls, with_headers = kernels.to_bundle(
            data, pos, index, count, base_ms, is_appended, is_sparse, out
        )
        if long_keys or nulls or with_headers:
            self.losses.update(long_key=long_keys, null_value=nulls, headers=with_headers)
        return out[:used]


def batch_of(
    bundle: Buffer, *, base_sequence: int, offset_next: int, where: str, messages_max: int = MESSAGES_MAX
) -> Batch:
    """The batch of a bundle, to stand at offset_next. base_sequence: of its first message; 0 for the next.

    InvalidRecord where the bundle lies, or its numbers cannot follow.
    """
    try:
        head, body = open_bundle(bundle, where=where, messages_max=messages_max)
        first_delta, last_delta = _deltas(head, base_sequence, offset_next, where)
        out = memoryview(bytearray(len(body) + head.count * MORE_BYTES_MAX))
        used, base_ms, latest_ms = kernels.to_log(
            body, head.count, first_delta, last_delta, head.is_sparse, out
        )
    except (BinaryError, MalformedMessage) as error:
        raise InvalidRecord(where, str(error)) from error
    return Batch.seal(
        out[:used],
        record_count=head.count,
        attributes=(Codec.SNAPPY.value if head.is_snappy else 0) | (SPARSE_BIT if head.is_sparse else 0),
        last_offset_delta=last_delta,
        base_timestamp_ms=base_ms,
        max_timestamp_ms=latest_ms,
    )


def _deltas(head: Head, base_sequence: int, offset_next: int, where: str) -> tuple[int, int]:
    """Where the first and the last message stand, counted from offset_next."""
    first = head.first if head.is_sparse else base_sequence
    if first:
        require(first > offset_next, where, f"number {first}", f"at least {offset_next + 1}")
    first_delta = first - 1 - offset_next if first else 0
    last_delta = first_delta + (head.last - head.first if head.is_sparse else head.count - 1)
    fits = last_delta <= _DELTA_MAX and offset_next + last_delta < OFFSET_MAX
    require(fits, where, f"{last_delta + 1} numbers at once", f"at most {_DELTA_MAX + 1}, below 2^63")
    return first_delta, last_delta

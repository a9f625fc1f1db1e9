"""Batches to Arrow and back on one core: the compiled kernels beside the plain ones.

160 batches of 1000 records, key 10 and value 100 bytes, already in memory. Each figure is the
best round of a process of its own, which has just this form. Expected for key, value, offset
and timestamp, not compressed: 10 M rows/s compiled, 0.4 M rows/s plain.
"""

import sys
from collections.abc import Sequence

from benchmarks.both_forms import MEASURE, Work, compared, measured
from onelog.binary.compression import Codec
from onelog.records.batch import Batch
from onelog.records.columns import SCHEMA, from_arrow, to_arrow
from onelog.records.record import Header, Record

BATCHES = 160
ROWS = 1000
FIRST_MS = 1_700_000_000_000
FOUR = ("key", "value", "offset", "timestamp")


def main() -> None:
    """Both forms, one after the other."""
    print(f"decode: {BATCHES * ROWS:,} records, key 10 and value 100 bytes, one core")
    compared("benchmarks.decode")


def _works() -> list[Work]:
    bare = _batches(Codec.NONE)
    headed = _batches(Codec.NONE, Header("trace", b"0123456789abcdef"))
    zipped = _batches(Codec.ZSTD)
    records = list(bare[0].records())
    (rows,) = to_arrow(bare[:10], offset_start=0, offset_end=1 << 62, columns=FOUR, topic="t", partition=0)
    return [
        ("key, value, offset, timestamp", lambda: _decoded(bare, FOUR)),
        ("all columns but headers", lambda: _decoded(bare, SCHEMA.names[:-1])),
        ("all columns, a header each", lambda: _decoded(headed, SCHEMA.names)),
        ("value alone", lambda: _decoded(bare, ["value"])),
        ("the four, from zstd", lambda: _decoded(zipped, FOUR)),
        ("verify", lambda: _verified(bare)),
        ("records as objects", lambda: sum(1 for batch in bare[:20] for _ in batch.records())),
        ("objects to a batch", lambda: Batch.build(records).record_count),
        ("columns to batches", lambda: sum(b.record_count for b in from_arrow(rows, timestamp_ms=0))),
    ]


def _batches(codec: Codec, *headers: Header) -> list[Batch]:
    records = [Record(b"key%07d" % i, b"%050d" % i * 2, FIRST_MS + i, headers) for i in range(ROWS)]
    one = Batch.build(records, codec=codec)
    return [one.renumbered(base_offset=i * ROWS, leader_epoch=0) for i in range(BATCHES)]


def _decoded(batches: Sequence[Batch], names: Sequence[str]) -> int:
    made = to_arrow(batches, offset_start=0, offset_end=1 << 62, columns=names, topic="t", partition=0)
    return sum(each.num_rows for each in made)


def _verified(batches: Sequence[Batch]) -> int:
    for batch in batches:
        batch.verify_records(gapless=True)
    return sum(batch.record_count for batch in batches)


if __name__ == "__main__":
    if MEASURE in sys.argv[1:]:
        measured(_works())
    else:
        main()

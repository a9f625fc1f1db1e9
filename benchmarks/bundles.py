"""TANK's bundles to batches and back on one core: the compiled kernels beside the plain ones.

2000 bundles of 100 messages, values of 100 bytes, plain and snappy, already in memory: what a
produce costs before it is appended, and a fetch behind its read. Each figure is the best round of
a process of its own. Wanted: 3 M messages/s in and 8 M/s out. Expected for bundles that are not
compressed: 10 M/s in (8 us a bundle, of which checksum and copies take half) and 12 M/s out.
"""

import sys
from functools import partial

from benchmarks.both_forms import MEASURE, Work, compared, measured
from onelog.protocols.tank.messages.bundle import encode_bundle
from onelog.protocols.tank.recordset import Chunk, batch_of
from onelog.records.batch import Batch
from onelog.records.record import Record

BUNDLES = 2000
MESSAGES = 100
FIRST_MS = 1_700_000_000_000


def main() -> None:
    """Both forms, one after the other."""
    print(f"bundles: {BUNDLES:,} of {MESSAGES} messages, values of 100 bytes, one core")
    compared("benchmarks.bundles")


def _works() -> list[Work]:
    works: list[Work] = []
    for name, is_snappy in (("plain", False), ("snappy", True)):
        bundle = _bundle(is_snappy=is_snappy)
        batches = [_batch(bundle, at).renumbered(base_offset=at, leader_epoch=0) for at in _offsets()]
        works.append((f"in, {name}", partial(_taken, bundle)))
        works.append((f"out, {name}", partial(_sent, batches)))
    return works


def _offsets() -> range:
    return range(0, BUNDLES * MESSAGES, MESSAGES)


def _bundle(*, is_snappy: bool) -> bytes:
    records = [Record(None, b"%050d" % n * 2, FIRST_MS) for n in range(MESSAGES)]
    return encode_bundle(list(enumerate(records)), is_snappy=is_snappy)


def _batch(bundle: bytes, offset_next: int) -> Batch:
    return batch_of(bundle, base_sequence=0, offset_next=offset_next, where="orders/0")


def _taken(bundle: bytes) -> int:
    return sum(_batch(bundle, at).record_count for at in _offsets())


def _sent(batches: list[Batch]) -> int:
    """A chunk of some 100 kB at a time, as fetches ask for them."""
    for first in range(0, len(batches), 10):
        chunk = Chunk()
        for batch in batches[first : first + 10]:
            assert chunk.add(batch, offset_start=0)
    return len(batches) * MESSAGES


if __name__ == "__main__":
    if MEASURE in sys.argv[1:]:
        measured(_works())
    else:
        main()

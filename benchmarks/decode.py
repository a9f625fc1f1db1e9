"""Batches to Arrow and back on one core: the compiled kernels beside the plain ones.

160 batches of 1000 records, key 10 and value 100 bytes, already in memory. Each figure is the
best round of a process of its own, which has just this form. Expected for key, value, offset
and timestamp, not compressed: 10 M rows/s compiled, 0.4 M rows/s plain.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.measure import table
from onelog.binary.compression import Codec
from onelog.records import forms, kernels
from onelog.records.batch import Batch
from onelog.records.columns import SCHEMA, from_arrow, to_arrow
from onelog.records.record import Header, Record

BATCHES = 160
ROWS = 1000
FIRST_MS = 1_700_000_000_000
FOUR = ("key", "value", "offset", "timestamp")
MEASURE = "measure"

Figures = dict[str, tuple[float, float]]


def main() -> None:
    """Both forms, one after the other."""
    print(f"decode: {BATCHES * ROWS:,} records, key 10 and value 100 bytes, one core")
    plain = _in_a_process("plain")
    if not kernels.COMPILED:
        print("no compiled kernels here: the plain form alone is measured")
    compiled = _in_a_process("") if kernels.COMPILED else {}
    rows = []
    for work, (rate, cpu) in plain.items():
        fast, fast_cpu = compiled.get(work, (0.0, 0.0))
        rows.append(
            [
                work,
                f"{fast / 1e6:.2f}" if fast else "-",
                f"{fast_cpu:.3f}" if fast else "-",
                f"{rate / 1e6:.2f}",
                f"{cpu:.3f}",
                f"{fast / rate:.0f}" if fast else "-",
            ]
        )
    table(["work", "compiled M records/s", "CPU s per M", "plain M records/s", "CPU s per M", "ratio"], rows)


def _in_a_process(form: str) -> Figures:
    environment = {**os.environ, forms.VARIABLE: form}
    command = [sys.executable, "-m", "benchmarks.decode", MEASURE]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    figures: Figures = json.loads(done.stdout)
    return figures


def measure() -> None:
    """All works in the form that this process has; as JSON, for main()."""
    rounds = 9 if kernels.COMPILED else 2
    print(json.dumps({work: _best(call, rounds) for work, call in _works()}))


def _works() -> list[tuple[str, Callable[[], int]]]:
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


def _best(call: Callable[[], int], rounds: int) -> tuple[float, float]:
    """Records a second, and CPU seconds for a million of them."""
    best = (0.0, 0.0)
    for _ in range(rounds):
        cpu, start = time.process_time(), time.perf_counter()
        count = call()
        seconds = time.perf_counter() - start
        best = max(best, (count / seconds, (time.process_time() - cpu) / count * 1e6))
    return best


if __name__ == "__main__":
    if MEASURE in sys.argv[1:]:
        measure()
    else:
        main()

"""The compiled kernels beside the plain ones: each works in a process of its own, which has just this form."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.measure import table
from onelog.records import forms, kernels

MEASURE = "measure"

Figures = dict[str, tuple[float, float]]
Work = tuple[str, Callable[[], int]]


def compared(module: str) -> None:
    """A table of what a module measures in a process of each form."""
    plain = _in_a_process(module, "plain")
    if not kernels.COMPILED:
        print("no compiled kernels here: the plain form alone is measured")
    compiled = _in_a_process(module, "") if kernels.COMPILED else {}
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


def _in_a_process(module: str, form: str) -> Figures:
    environment = {**os.environ, forms.VARIABLE: form}
    command = [sys.executable, "-m", module, MEASURE]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    figures: Figures = json.loads(done.stdout)
    return figures


def measured(works: Sequence[Work]) -> None:
    """All works in the form that this process has; as JSON, for compared()."""
    rounds = 9 if kernels.COMPILED else 2
    print(json.dumps({work: _best(call, rounds) for work, call in works}))


def _best(call: Callable[[], int], rounds: int) -> tuple[float, float]:
    """Records a second, and CPU seconds for a million of them."""
    best = (0.0, 0.0)
    for _ in range(rounds):
        cpu, start = time.process_time(), time.perf_counter()
        count = call()
        seconds = time.perf_counter() - start
        best = max(best, (count / seconds, (time.process_time() - cpu) / count * 1e6))
    return best

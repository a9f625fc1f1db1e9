"""What all benchmarks share: medians, CPU seconds of processes, and how a table is printed."""

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def now_s() -> float:
    """For differences only."""
    return time.perf_counter()


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used, all of its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def tree_cpu_s(pid: int) -> float:
    """CPU seconds of a process, its living descendants, and those that they have waited for."""
    total = 0.0
    for member in _descendants(pid):
        try:
            fields = Path(f"/proc/{member}/stat").read_text().rsplit(") ", 1)[1].split()
        except OSError:
            continue
        total += sum(int(f) for f in fields[11:15]) / TICKS
    return total


def rss_mb(pid: int) -> float:
    """Memory in use, in MB."""
    return _memory_mb(pid, "VmRSS:")


def peak_mb(pid: int) -> float:
    """The most memory that was ever in use, in MB."""
    return _memory_mb(pid, "VmHWM:")


def _memory_mb(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no {name}")


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    """Median and the tenth to ninetieth percentile, for people."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    return f"{median(values):,.4g} ({low:,.4g}-{high:,.4g})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as what is in them."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()


def _descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(") ", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        found.append(member := queue.pop())
        queue.extend(parents.get(member, []))
    return found

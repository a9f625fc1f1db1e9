"""How long a broker takes from nothing to serving, and what it holds in memory when idle.

Expected: 0.5 s and 60 MB. Beside it stands a bare interpreter that imports asyncio and sqlite3,
which no broker in Python can undercut.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import now_s, rss_mb, spread, table
from tests.support.served import Served

ROUNDS = 7


def main() -> None:
    """Alternate between the broker and the bare interpreter."""
    starts: list[float] = []
    bare: list[float] = []
    memory: list[float] = []
    with tempfile.TemporaryDirectory(prefix="onelog-bench-") as folder:
        for _ in range(ROUNDS):
            begin = now_s()
            subprocess.run([sys.executable, "-c", "import asyncio, sqlite3"], check=True)
            bare.append(now_s() - begin)
            begin = now_s()
            served = Served(Path(folder) / "data").start()
            starts.append(now_s() - begin)
            memory.append(rss_mb(served.pid))
            served.stop()
    rows = [
        ["start to serving, s", spread(starts), spread(bare)],
        ["memory when idle, MB", spread(memory), ""],
    ]
    table(["", "onelog: median (p10-p90)", "bare interpreter"], rows)


if __name__ == "__main__":
    main()

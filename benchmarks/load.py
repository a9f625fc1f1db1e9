"""The load program: built on demand, told what to send, and what it measured.

It is C (load.c) because a load in Python would use the core that the broker needs. What it
sends are ready-made frames, so one program loads every broker.
"""

import json
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("load.c")
CACHE = SOURCE.parents[1] / ".cache" / "bench"
# No load takes longer than this, whatever the broker does.
PATIENCE_S = 300.0


@dataclass(frozen=True)
class Peer:
    """What one connection sends: an opening that is not timed, and frames, again and again."""

    frames: Sequence[bytes]
    opening: bytes = b""


@dataclass(frozen=True)
class Framing:
    """How an answer is told from the next one: by a length in its head, or by its lines."""

    head: int = 4
    at: int = 0
    endian: str = "big"
    lines: int = 0
    greeting: int = 0
    """So many bytes does the broker say before anything is asked."""

    def options(self) -> list[str]:
        """As the program wants to hear it."""
        if self.lines:
            return ["--lines", str(self.lines)]
        length = ["--head", str(self.head), "--at", str(self.at), "--endian", self.endian]
        return [*length, "--greeting", str(self.greeting)]


@dataclass(frozen=True)
class Expected:
    """Bytes that every answer has at a place; an answer without them ends the run."""

    at: int
    bytes: bytes


@dataclass(frozen=True)
class Measured:
    """What a run took."""

    requests: int
    seconds: float
    bytes_out: int
    bytes_in: int
    p50_us: float
    p99_us: float
    max_us: float
    cpu_s: float

    @property
    def requests_per_s(self) -> float:
        """How many answers came in a second."""
        return self.requests / self.seconds


def run(
    port: int,
    peers: Sequence[Peer],
    *,
    seconds: float = 2.0,
    once: bool = False,
    in_flight: int = 1,
    rate: float = 0.0,
    framing: Framing | None = None,
    expected: Expected | None = None,
) -> Measured:
    """Send until the time is up, or every frame once. rate: so many requests a second, whoever is late."""
    with tempfile.NamedTemporaryFile(prefix="onelog-load-") as plan:
        for part in _plan(peers):
            plan.write(part)
        plan.flush()
        command = [
            str(_program()),
            "--port",
            str(port),
            "--plan",
            plan.name,
            *(framing or Framing()).options(),
        ]
        command += ["--seconds", str(seconds), "--once", str(int(once)), "--in-flight", str(in_flight)]
        if rate:
            command += ["--rate", str(rate)]
        if expected is not None:
            command += ["--expect-at", str(expected.at), "--expect", expected.bytes.hex()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise AssertionError(f"the load ended with {done.returncode}: {done.stderr.strip()}")
    return Measured(**json.loads(done.stdout))


def _plan(peers: Sequence[Peer]) -> "list[bytes]":
    parts = [struct.pack("<I", len(peers))]
    for peer in peers:
        parts += [struct.pack("<I", len(peer.opening)), peer.opening, struct.pack("<I", len(peer.frames))]
        for frame in peer.frames:
            parts += [struct.pack("<I", len(frame)), frame]
    return parts


@cache
def _program() -> Path:
    built = CACHE / "load"
    if not built.exists() or built.stat().st_mtime < SOURCE.stat().st_mtime:
        if shutil.which("cc") is None:
            raise SystemExit("benchmarks: `cc` is not installed; the load program needs it (Debian: gcc).")
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", str(built), str(SOURCE)], check=True)
    return built

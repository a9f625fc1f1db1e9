"""Hostile frames, dialect by dialect, while clients of every dialect work beside: `make fuzz`.

Captured and random requests are changed (bits, numbers, pieces, lengths that lie), sent in
bursts over connections that are often broken off; the frames that end or bloat the reference
brokers are sent among them. A finding is a broker that ended, a fault of its own in its log, a
bystander with a wrong answer, or memory that is more than 10 % above what it was after a minute.
What the frames make (topics, groups) a janitor deletes, so that its state does not grow.
"""

import argparse
import contextlib
import random
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.measure import peak_mb, rss_mb
from tests.crash.bystanders import Janitor, bystanders
from tests.crash.mutations import mutated
from tests.crash.seeds import killers, seeds
from tests.support.served import Served

LISTENERS = {
    "kafka": "shared",
    "rustlog": "shared",
    "flymq": "shared",
    "tank": "tank",
    "fluvio-sc": "fluvio-sc",
    "fluvio-spu": "fluvio-spu",
}
SETTINGS = "[broker]\npartition_count_max = 8\n[server]\nclosing_timeout_ms = 500\n"
MEMORY_MAX = 1.10
ATTACKERS = 2
TRUCE_S = 2.0
FRAMES_MAX = 5
# How long an attacker listens: most wrong frames are answered or closed at once.
LISTEN_S = 0.02
# Bytes before the length of a frame, its width and order; a length mostly is put right again.
_LENGTHS = {"kafka": (0, ">I", 4), "rustlog": (0, ">I", 4), "flymq": (4, ">I", 8), "tank": (1, "<I", 5)}


class Attacker:
    """One thread that sends what it should not. The seed says what."""

    def __init__(self, dialect: str, port: int, seed: str) -> None:
        self.sent = 0
        self.findings: list[str] = []
        self._port = port
        self._rng = random.Random(seed)
        self._seeds = seeds(dialect)
        self._killers = killers(dialect)
        self._length = _LENGTHS.get(dialect, (0, ">I", 4))
        assert self._seeds, f"no captured request of {dialect}"

    def run(self, stop: threading.Event, truce: threading.Event) -> None:
        """Bursts until told to stop; none while there is a truce."""
        for frame in self._killers:
            self._burst([frame])
        while not stop.is_set():
            if truce.is_set():
                stop.wait(0.05)
                continue
            self._burst([self._frame() for _ in range(self._rng.randint(1, FRAMES_MAX))])

    def _frame(self) -> bytes:
        rng = self._rng
        choice = rng.random()
        if choice < 0.01:
            return rng.choice(self._killers)
        if choice < 0.04:
            return rng.randbytes(rng.randrange(1, 300))
        frame = rng.choice(self._seeds)
        if choice < 0.10:
            return frame
        made = mutated(rng, frame, self._seeds)
        return self._with_length(made) if choice < 0.80 else made

    def _with_length(self, frame: bytes) -> bytes:
        at, code, head = self._length
        if len(frame) < head:
            return frame
        made = bytearray(frame)
        struct.pack_into(code, made, at, len(frame) - head)
        return bytes(made)

    def _burst(self, frames: Sequence[bytes]) -> None:
        rng = self._rng
        self.sent += len(frames)
        with (
            socket.create_connection(("127.0.0.1", self._port), timeout=20) as door,
            contextlib.suppress(OSError),
        ):
            data = b"".join(frames)
            cut = rng.randrange(len(data) + 1)
            door.sendall(data[:cut])
            door.sendall(data[cut:])
            door.settimeout(LISTEN_S)
            if rng.random() < 0.2:
                # Reset instead of an end: what was on its way to us meets a closed door.
                door.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if rng.random() < 0.5:
                door.shutdown(socket.SHUT_WR)
            while door.recv(1 << 16):
                pass


def main(argv: list[str] | None = None) -> int:
    """Attack each dialect for so many minutes; 0 when nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.hostile")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each dialect")
    parser.add_argument("--dialect", action="append", choices=LISTENERS)
    parser.add_argument("--seed", default="1")
    args = parser.parse_args(argv)
    findings: list[str] = []
    for dialect in args.dialect or LISTENERS:
        with tempfile.TemporaryDirectory(prefix="onelog-hostile-") as folder:
            findings += [f"{dialect}: {line}" for line in _attacked(Path(folder), dialect, args)]
    for line in findings:
        print(f"FINDING {line}")
    return 1 if findings else 0


def _attacked(folder: Path, dialect: str, args: argparse.Namespace) -> list[str]:
    settings = folder / "onelog.toml"
    settings.write_text(SETTINGS)
    names = ("shared", "tank", "fluvio-sc", "fluvio-spu", "console")
    served = Served(folder / "data", ports=dict.fromkeys(names, 0), options=[f"--config={settings}"])
    stop = threading.Event()
    with served:
        beside = bystanders(served)
        janitor = Janitor(served.bootstrap)
        port = served.ports[LISTENERS[dialect]]
        attackers = [Attacker(dialect, port, f"{args.seed} {dialect} {n}") for n in range(ATTACKERS)]
        truce = threading.Event()
        runs = [partial(worker.run, stop) for worker in beside] + [partial(janitor.run, stop)]
        runs += [partial(attacker.run, stop, truce) for attacker in attackers]
        threads = [threading.Thread(target=run) for run in runs]
        for thread in threads:
            thread.start()
        early_mb, late_mb, highest_mb = _watched(served, truce, minutes=args.minutes)
        stop.set()
        for thread in threads:
            thread.join()
        findings = [finding for worker in beside for finding in worker.findings]
        if served.process is None or served.process.poll() is not None:
            findings.append("the broker ended: " + " / ".join(served.log[-5:]))
        findings += _faults(served.log)
    if late_mb > early_mb * MEMORY_MAX:
        findings.append(f"memory grew from {early_mb:.0f} MB to {late_mb:.0f} MB")
    sent = sum(attacker.sent for attacker in attackers)
    worked = ", ".join(f"{w.name} {w.done} (slowest {w.slowest_s * 1000:.0f} ms)" for w in beside)
    print(
        f"{dialect}: {sent} frames in {args.minutes:g} min; memory {early_mb:.0f} MB, "
        f"at the end {late_mb:.0f} MB, at most {highest_mb:.0f} MB"
    )
    print(f"    beside it: {worked}; {janitor.deleted} topics and groups were made and deleted")
    return findings


def _watched(served: Served, truce: threading.Event, *, minutes: float) -> tuple[float, float, float]:
    """Memory after a minute (a third of a shorter run), and at the end, each in a truce; and its peak."""
    assert served.process is not None
    whole_s = minutes * 60
    found: list[float] = []
    for pause_s in (first_s := min(60.0, whole_s / 3), whole_s - first_s):
        with contextlib.suppress(subprocess.TimeoutExpired):
            served.process.wait(timeout=pause_s)
            return 0.0, 0.0, 0.0
        truce.set()
        # What was under way is answered, and what a frame took is given back.
        time.sleep(TRUCE_S)
        found.append(rss_mb(served.pid))
        truce.clear()
    return found[0], found[1], peak_mb(served.pid)


def _faults(log: Sequence[str]) -> list[str]:
    """The faults of its own that the broker has told, each kind once, with its whole traceback."""
    kinds: dict[str, str] = {}
    for at, line in enumerate(log):
        if "a fault of ours" in line:
            told = [line]
            for following in log[at + 1 :]:
                if following[:2] == "20":  # the next line of the log, which begins with its date
                    break
                told.append(following)
            kinds.setdefault(told[-1], "\n".join(told))
    return list(kinds.values())


if __name__ == "__main__":
    raise SystemExit(main())

"""A real `onelog serve` in a process of its own: started, awaited, killed, started again."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self


@dataclass
class Served:
    """One broker process over one data directory. Ports stay the same from start to start."""

    data: Path
    wrapper: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=lambda: {"shared": 0, "console": 0})
    process: subprocess.Popen[str] | None = None
    log: list[str] = field(default_factory=list)
    _drainer: threading.Thread | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.ports['shared']}"

    @property
    def pid(self) -> int:
        """The broker's own process id, also under a wrapper."""
        return int(json.loads(self._ready.read_text())["pid"])

    @property
    def _ready(self) -> Path:
        return self.data.parent / f"{self.data.name}.ready.json"

    def start(self) -> Self:
        """Return when all listeners serve."""
        assert self.process is None
        self._ready.unlink(missing_ok=True)
        listen = [f"--listen={name}=127.0.0.1:{port}" for name, port in self.ports.items()]
        self.process = subprocess.Popen(
            [
                *self.wrapper,
                sys.executable,
                "-m",
                "onelog",
                "serve",
                f"--data={self.data}",
                f"--ready-file={self._ready}",
                *listen,
                *self.options,
            ],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line.rstrip())
            if self._ready.exists():
                break
        else:
            raise AssertionError("the broker ended before it served:\n" + "\n".join(self.log[-20:]))
        self._drainer = threading.Thread(target=self._drain, args=(self.process.stderr,), daemon=True)
        self._drainer.start()
        listeners = json.loads(self._ready.read_text())["listeners"]
        self.ports = {name: int(at["port"]) for name, at in listeners.items()}
        return self

    def _drain(self, stderr: IO[str]) -> None:
        with stderr:
            for line in stderr:
                self.log.append(line.rstrip())

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, and wait for the end; its exit code."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        """Wait for an end that somebody else has asked for; its exit code."""
        return self._ended()

    def _end(self, number: signal.Signals) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            os.kill(self.pid, number)
        return self._ended()

    def _ended(self) -> int:
        assert self.process is not None
        code = self.process.wait(timeout=30)
        if self._drainer is not None:
            self._drainer.join()
        self.process = None
        return code

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.kill()

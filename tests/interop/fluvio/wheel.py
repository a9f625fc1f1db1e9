"""The wheel `fluvio` from the package index, pinned, in a process of its own."""

import importlib.metadata
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

VERSION = "0.21.0"
DRIVER = Path(__file__).with_name("wheel_driver.py")
CACHE = Path(__file__).parents[3] / ".cache" / "fluvio"


def interpreter() -> str:
    """A Python that has the wheel: this one, or one that is made for it in a folder that git ignores."""
    try:
        if importlib.metadata.version("fluvio") == VERSION:
            return sys.executable
    except importlib.metadata.PackageNotFoundError:
        pass
    python = CACHE / "bin" / "python"
    stamp = CACHE / f"fluvio-{VERSION}"
    if not stamp.exists():
        venv.create(CACHE, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", f"fluvio=={VERSION}"], check=True)
        stamp.touch()
    return str(python)


class WheelError(Exception):
    """What the wheel raised."""


class Wheel:
    """One client. Ends its process with the block."""

    def __init__(self, address: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [interpreter(), str(DRIVER), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        list(self.said())

    def __call__(self, do: str, **options: Any) -> Any:
        """What one call returns."""
        self.begin(do, **options)
        answers = list(self.said())
        return answers[0] if answers else None

    def records(self, do: str = "consume", **options: Any) -> list[list[Any]]:
        """[offset, key, value, timestamp] of each."""
        self.begin(do, **options)
        return list(self.said())

    def begin(self, do: str, **options: Any) -> None:
        """Ask, and do not wait; said() has the answers as they come."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **options}) + "\n")
        self._process.stdin.flush()

    def said(self) -> Iterator[Any]:
        """The answers of the last call, until its last one."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if "error" in answer:
                raise WheelError(answer["error"])
            if answer.get("said") is not None:
                yield answer["said"]
            if answer.get("end"):
                return
        raise WheelError("the wheel's process has ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

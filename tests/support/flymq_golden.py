"""The exchanges with FlyMQ's own broker that are kept in tests/golden/flymq."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.flymq_wire import Frame, frames
from tests.support.source_tree import ROOT

GOLDEN = ROOT / "tests" / "golden" / "flymq"


@dataclass(frozen=True)
class Capture:
    """One request of a real program, and what the real broker answered. values: as it was captured with."""

    name: str
    sent: bytes
    answer: bytes
    values: dict[str, Any]

    @property
    def request(self) -> Frame:
        [found] = frames(self.sent)
        return found

    @property
    def response(self) -> Frame:
        [found] = frames(self.answer)
        return found


@cache
def capture(name: str) -> Capture:
    values = tomllib.loads((GOLDEN / f"{name}.toml").read_text(encoding="utf-8"))
    return Capture(name, _bytes(f"{name}.req.hex"), _bytes(f"{name}.rsp.hex"), values.get("response", {}))


def names(prefix: str = "") -> list[str]:
    """All of them whose names begin like this, in order."""
    return sorted(p.name.removesuffix(".toml") for p in GOLDEN.glob(f"{prefix}*.toml"))


def _bytes(name: str) -> bytes:
    return bytes.fromhex(Path(GOLDEN / name).read_text(encoding="ascii"))

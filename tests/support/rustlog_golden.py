"""The exchanges with RustLog's own broker that are kept in tests/golden/rustlog."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.source_tree import ROOT

GOLDEN = ROOT / "tests" / "golden" / "rustlog"


@dataclass(frozen=True)
class Capture:
    """One request, and what the real broker answered. values: as it was captured with."""

    name: str
    sent: bytes
    answer: bytes
    values: dict[str, Any]


@cache
def capture(name: str) -> Capture:
    values = tomllib.loads((GOLDEN / f"{name}.toml").read_text(encoding="utf-8"))
    return Capture(name, _bytes(f"{name}.req.hex"), _bytes(f"{name}.rsp.hex"), values.get("response", {}))


def names(prefix: str = "") -> list[str]:
    """All of them whose names begin like this, in order."""
    return sorted(path.stem for path in GOLDEN.glob(f"{prefix}*.toml"))


def _bytes(name: str) -> bytes:
    return bytes.fromhex((GOLDEN / name).read_text(encoding="ascii"))

"""The exchanges with Fluvio's own cluster that are kept in tests/golden/fluvio."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.support.source_tree import ROOT

GOLDEN = ROOT / "tests" / "golden" / "fluvio"


@dataclass(frozen=True)
class Frame:
    """One frame, its length included, and what it was captured to say."""

    is_request: bool
    data: bytes
    values: dict[str, Any]

    @property
    def correlation_id(self) -> int:
        start = 8 if self.is_request else 4
        return int.from_bytes(self.data[start : start + 4], "big")

    @property
    def key(self) -> int:
        """Of a request."""
        return int.from_bytes(self.data[4:6], "big")

    @property
    def version(self) -> int:
        """Of a request."""
        return int.from_bytes(self.data[6:8], "big")


@cache
def capture(name: str) -> list[Frame]:
    """The frames of one exchange, in the order in which they were seen."""
    lines = (GOLDEN / f"{name}.hex").read_text(encoding="ascii").split("\n")
    values = tomllib.loads((GOLDEN / f"{name}.toml").read_text(encoding="utf-8"))["decoded"]
    said = [line.split() for line in lines if line]
    return [
        Frame(sign == ">", bytes.fromhex(digits), decoded)
        for (sign, digits), decoded in zip(said, values, strict=True)
    ]


def names(prefix: str = "") -> list[str]:
    """All of them whose names begin like this, in order."""
    return sorted(path.stem for path in GOLDEN.glob(f"{prefix}*.hex"))

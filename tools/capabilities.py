"""Write the matrix of docs/protocols/README.md anew from the dialects' Capabilities.

    python -m tools.capabilities

A test holds the page against the code; this saves the typing when it complains.
"""

from collections.abc import Callable
from pathlib import Path

from onelog.protocols.contract import Capabilities
from onelog.protocols.registry import ENDPOINTS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "protocols" / "README.md"
BEGIN = "<!-- capabilities: begin (python -m tools.capabilities) -->"
END = "<!-- capabilities: end -->"
TITLES = {"flymq": "FlyMQ", "rustlog": "RustLog", "tank": "TANK"}

YES = "yes"
INTRODUCTION = """\
## What a dialect cannot say

A record arrives at each reader as far as its dialect can say it. What is left out is counted in
`onelog_losses_total`, labelled with the dialect and the reason that stands here in code letters.
"""


def main() -> None:
    """Put the section where its markers stand, or at the end."""
    page = PAGE.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    after = rest.partition(END)[2] if begin else "\n"
    PAGE.write_text((before if begin else f"{page.rstrip()}\n\n") + section() + after, encoding="utf-8")


def section() -> str:
    """The part of the page that is made of the code, with its markers."""
    dialects = {endpoint.name: endpoint.capabilities for endpoint in ENDPOINTS}
    head = [TITLES.get(name, name.capitalize()) for name in dialects]
    lines = [f"| | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for what, cell in ROWS.items():
        lines.append(f"| {what} | {' | '.join(cell(can) for can in dialects.values())} |")
    return "\n".join([BEGIN, "", INTRODUCTION, *lines, "", END])


def _lost(can: Capabilities, reason: str, *, otherwise: str = YES) -> str:
    return f"no: `{reason}`" if reason in can.losses else otherwise


def _any_key(can: Capabilities) -> str:
    return YES if can.keys else "no: `key`"


def _long_key(can: Capabilities) -> str:
    if not can.keys:
        return "no: `key`"
    return f"no, {can.key_bytes_max} at most: `long_key`" if can.key_bytes_max else YES


def _empty_key(can: Capabilities) -> str:
    return _lost(can, "empty_key", otherwise=_any_key(can))


def _whether(is_so: bool) -> str:
    return YES if is_so else "no"


ROWS: dict[str, Callable[[Capabilities], str]] = {
    "a key": _any_key,
    "an empty key, and not none": _empty_key,
    "a key of more than 255 bytes": _long_key,
    "a null value, and not an empty one": lambda can: _lost(can, "null_value"),
    "headers": lambda can: _lost(can, "headers"),
    "a producer's own time": lambda can: _whether(can.timestamps),
    "topics are made": lambda can: _whether(can.creates_topics),
    "positions of groups are kept": lambda can: _whether(can.commits_positions),
    "a fetch waits for records": lambda can: _whether(can.waits),
}


if __name__ == "__main__":
    main()

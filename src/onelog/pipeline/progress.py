"""How far the flows of a run are, as numbers and as a line for people. Pure.

Whoever has the terminal decides whether anybody sees it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FlowState:
    """One flow, as of its last batch."""

    name: str
    path: str
    records: int
    behind: int | None
    rate: float
    is_active: bool
    dead_letters: int = 0
    dead_letters_path: str = ""


def behind(ends: Mapping[str, Mapping[str, int]], latest: Mapping[str, Mapping[str, int]]) -> int:
    """How many offsets lie between what was read and what there is."""
    return sum(
        max(0, offset - ends.get(topic, {}).get(number, 0))
        for topic, numbers in latest.items()
        for number, offset in numbers.items()
    )


def state_line(states: Sequence[FlowState]) -> str:
    """All flows in one line."""
    return " | ".join(_said(state) for state in states)


def summary(state: FlowState) -> str:
    """The last word on a flow."""
    kept = counted(state.records - state.dead_letters, "record")
    dead = (
        f", {counted(state.dead_letters, 'dead letter')} to {state.dead_letters_path}"
        if state.dead_letters
        else ""
    )
    left = "" if not state.behind else f", {state.behind:,} behind"
    return f"{state.name}: {kept} to {state.path}{dead}{left}"


def counted(count: int, noun: str) -> str:
    """A number of things: 1 batch, 2 batches."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}{'es' if noun.endswith('ch') else 's'}"


def parsed_offsets(found: Any) -> Mapping[str, Mapping[str, int]] | None:
    """Offsets as Spark's progress has them: JSON once parsed, or something else entirely."""
    if isinstance(found, dict) and all(isinstance(v, dict) for v in found.values()):
        return found
    return None


def _said(state: FlowState) -> str:
    if state.behind is None:
        return (
            f"{state.name}: starting"
            if not state.records
            else f"{state.name}: {counted(state.records, 'record')}"
        )
    distance = "up to date" if state.behind == 0 else f"{state.behind:,} behind"
    speed = f", {state.rate:,.0f}/s" if state.behind else ""
    return f"{state.name}: {counted(state.records, 'record')}, {distance}{speed}"

"""Reserved producer ids as a row.

producer_ids   reserved_end     one row: every id that was given out is below it
"""

from collections.abc import Callable
from typing import Any

from onelog.broker.producers.state import Change, Given, ProducersState, Reserved

Statement = tuple[str, tuple[Any, ...]]

TABLES = (
    "CREATE TABLE producer_ids (one INTEGER PRIMARY KEY CHECK (one = 1), reserved_end INTEGER NOT NULL)",
)


def statements(change: Change) -> list[Statement]:
    """The change as rows: of an id within a block, nothing."""
    match change:
        case Reserved(end):
            return [("INSERT OR REPLACE INTO producer_ids VALUES (1, ?)", (end,))]
        case Given():
            return []


def load(rows: Callable[[str], list[tuple[Any, ...]]]) -> ProducersState:
    """Everything below the reserved end counts as given."""
    found = rows("SELECT reserved_end FROM producer_ids")
    end = found[0][0] if found else 0
    return ProducersState(next=end, reserved_end=end)

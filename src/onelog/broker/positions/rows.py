"""Positions as rows.

    positions   group_id, topic_id, partition, offset, leader_epoch, note, committed_ms, expires_ms

committed_ms is 0 for what was committed before such times were kept. An offset is a decimal text: dialects commit up to 2^64 - 1, and SQLite's integers end at 2^63 - 1.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from onelog.broker.positions.state import (
    Change,
    Committed,
    Deleted,
    Kept,
    PositionsState,
    TopicForgotten,
    apply,
)
from onelog.broker.values import Position

Statement = tuple[str, tuple[Any, ...]]

TABLES = (
    """
    CREATE TABLE positions (
        group_id TEXT NOT NULL, topic_id TEXT NOT NULL, partition INTEGER NOT NULL,
        offset TEXT NOT NULL, leader_epoch INTEGER NOT NULL, note TEXT NOT NULL,
        PRIMARY KEY (group_id, topic_id, partition)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX positions_by_topic ON positions (topic_id)",
)

# Since positions expire.
TIMES = (
    "ALTER TABLE positions ADD COLUMN committed_ms INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE positions ADD COLUMN expires_ms INTEGER",
)


def statements(change: Change) -> list[Statement]:
    """The change as rows."""
    match change:
        case Committed(group, topic_id, partition, Kept((offset, leader_epoch, note), at_ms, until_ms)):
            row = (group, str(topic_id), partition, str(offset), leader_epoch, note, at_ms, until_ms)
            return [("INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)]
        case Deleted(group, topic_id, partition):
            key = (group, str(topic_id), partition)
            return [("DELETE FROM positions WHERE group_id = ? AND topic_id = ? AND partition = ?", key)]
        case TopicForgotten(topic_id):
            return [("DELETE FROM positions WHERE topic_id = ?", (str(topic_id),))]


def load(rows: Callable[[str], list[tuple[Any, ...]]]) -> PositionsState:
    """The positions that the rows say."""
    state = PositionsState()
    for group, topic_id, partition, offset, epoch, note, committed_ms, expires_ms in rows(
        "SELECT group_id, topic_id, partition, offset, leader_epoch, note, committed_ms, expires_ms "
        "FROM positions"
    ):
        kept = Kept(Position(int(offset), epoch, note), committed_ms, expires_ms)
        apply(state, Committed(group, UUID(topic_id), partition, kept))
    return state

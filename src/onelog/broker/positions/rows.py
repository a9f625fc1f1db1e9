"""Positions as rows.

    positions   group_id, topic_id, partition, offset, leader_epoch, note

An offset is a decimal text: dialects commit up to 2^64 - 1, and SQLite's integers end at 2^63 - 1.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from onelog.broker.positions.state import Change, Committed, Deleted, PositionsState, TopicForgotten, apply
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


def statements(change: Change) -> list[Statement]:
    """The change as rows."""
    match change:
        case Committed(group, topic_id, partition, (offset, leader_epoch, note)):
            row = (group, str(topic_id), partition, str(offset), leader_epoch, note)
            return [("INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?, ?, ?)", row)]
        case Deleted(group, topic_id, partition):
            key = (group, str(topic_id), partition)
            return [("DELETE FROM positions WHERE group_id = ? AND topic_id = ? AND partition = ?", key)]
        case TopicForgotten(topic_id):
            return [("DELETE FROM positions WHERE topic_id = ?", (str(topic_id),))]


def load(rows: Callable[[str], list[tuple[Any, ...]]]) -> PositionsState:
    """The positions that the rows say."""
    state = PositionsState()
    for group, topic_id, partition, offset, epoch, note in rows(
        "SELECT group_id, topic_id, partition, offset, leader_epoch, note FROM positions"
    ):
        apply(state, Committed(group, UUID(topic_id), partition, Position(int(offset), epoch, note)))
    return state

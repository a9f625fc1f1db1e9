"""What the catalog knows of the data directory itself, so that no two halves of different times are taken for one.

directory   one, id, transactions     one row; the count rises with every transaction
epochs      epoch                     of every open whose root may be the one that stands
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

Statement = tuple[str, tuple[Any, ...]]

TABLES = (
    """
    CREATE TABLE directory (
        one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT, transactions INTEGER NOT NULL
    )
    """,
    "INSERT INTO directory VALUES (1, NULL, 0)",
    "CREATE TABLE epochs (epoch TEXT PRIMARY KEY) WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True)
class Directory:
    """The row. id: None before the first start."""

    id: UUID | None
    transaction: int
    epochs: frozenset[int]


def named(id: UUID) -> Statement:
    """The directory has its id, for good."""
    return ("UPDATE directory SET id = ?", (str(id),))


def counted(transaction: int) -> Statement:
    """Part of every transaction: its number."""
    return ("UPDATE directory SET transactions = ?", (transaction,))


def epoch_noted(epoch: int) -> Statement:
    """A root with this epoch may stand from now on."""
    return ("INSERT OR REPLACE INTO epochs VALUES (?)", (f"{epoch:016x}",))


def others_forgotten(epoch: int) -> Statement:
    """The root with this epoch stands."""
    return ("DELETE FROM epochs WHERE epoch <> ?", (f"{epoch:016x}",))


def load(rows: Callable[[str], list[tuple[Any, ...]]]) -> Directory:
    """What the rows say."""
    ((text, transaction),) = rows("SELECT id, transactions FROM directory")
    epochs = frozenset(int(epoch, 16) for (epoch,) in rows("SELECT epoch FROM epochs"))
    return Directory(None if text is None else UUID(text), transaction, epochs)

"""What the catalog knows of the directory: its id, every transaction counted, every open noted."""

from uuid import UUID

from onelog.broker import directory
from onelog.broker.catalog import MIGRATIONS
from onelog.storage.catalog import IN_MEMORY, CatalogFile


def test_what_is_written_is_read_again() -> None:
    file = CatalogFile.open(IN_MEMORY, MIGRATIONS)
    assert directory.load(file.rows) == directory.Directory(None, 0, frozenset())
    file.write([directory.named(UUID(int=5)), directory.counted(7), directory.epoch_noted((1 << 64) - 1)])
    file.write([directory.epoch_noted(3), directory.epoch_noted(3)])
    found = directory.load(file.rows)
    assert (found.id, found.transaction) == (UUID(int=5), 7)
    assert found.epochs == {(1 << 64) - 1, 3}
    file.write([directory.others_forgotten(3)])
    assert directory.load(file.rows).epochs == {3}

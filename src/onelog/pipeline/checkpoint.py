"""What Spark's checkpoint says of a query: its id, the offsets of a batch, whether it keeps state.

Spark writes `offsets/N` before batch N runs and repeats the batch with them after a crash, so
they are what a batch covers. The start of batch 0 it does not keep; we do, in a file of our own
beside, written before the query first starts.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onelog.pipeline.errors import PipelineError
from onelog.pipeline.ledger import Partition, Range, Ranges
from onelog.pipeline.tables import sync

_BEGINS = "onelog-begins.json"
_SPARKS = ("offsets", "commits", "state", "sources")
_SPARKS_FILES = ("metadata", ".metadata.crc")


class Checkpoint:
    """One query's checkpoint folder."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    @property
    def begins(self) -> Mapping[Partition, int] | None:
        """Where the query began; None if it never did."""
        file = self.path / _BEGINS
        return _offsets(_json(file, file.read_text())) if file.exists() else None

    def begin(self, begins: Mapping[Partition, int]) -> None:
        """Fix where the query begins. It survives a power cut before the query asks for it."""
        self.path.mkdir(parents=True, exist_ok=True)
        nested: dict[str, dict[str, int]] = {}
        for partition, offset in sorted(begins.items()):
            nested.setdefault(partition.topic, {})[str(partition.number)] = offset
        aside = self.path / f"{_BEGINS}.new"
        aside.write_text(json.dumps(nested))
        sync(aside)
        os.replace(aside, self.path / _BEGINS)
        sync(self.path)

    def restart(self) -> None:
        """Forget what the query did; where it began stays. For a query that left nothing in its table."""
        for name in _SPARKS:
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in _SPARKS_FILES:
            (self.path / name).unlink(missing_ok=True)

    def remove(self) -> None:
        """The same, where it began included; nothing else in the folder, which may be anybody's."""
        self.restart()
        (self.path / _BEGINS).unlink(missing_ok=True)
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    @property
    def has_finished(self) -> bool:
        """Whether a batch of the query ever came to its end."""
        return any(file.name.isdigit() for file in (self.path / "commits").glob("*"))

    @property
    def query_id(self) -> str:
        """Spark's id of the query: the same after every restart, another for another checkpoint."""
        file = self.path / "metadata"
        return str(_json(file, file.read_text())["id"])

    @property
    def has_state(self) -> bool:
        """Whether the query keeps something between batches beside offsets."""
        return (self.path / "state").is_dir()

    def ranges(self, batch_id: int) -> Ranges:
        """The offsets [start, end) of each partition in the batch."""
        ends = self._logged(batch_id)
        starts = self._logged(batch_id - 1) if batch_id > 0 else self.begins or {}
        begins = self.begins or {}
        # A partition that was not there before begins where its log does.
        return {p: Range(starts.get(p, begins.get(p, 0)), end) for p, end in ends.items()}

    def _logged(self, batch_id: int) -> Mapping[Partition, int]:
        file = self.path / "offsets" / str(batch_id)
        try:
            lines = file.read_text().splitlines()
        except OSError as error:
            raise PipelineError(
                f"{file}: {error.strerror}; expected the offsets of batch {batch_id}."
            ) from error
        if len(lines) != 3 or lines[0] != "v1":
            raise PipelineError(f"{file}: {lines[:1]}; expected form v1 with the offsets of one source.")
        return _offsets(_json(file, lines[2]))


def _offsets(nested: Mapping[str, Mapping[str, int]]) -> Mapping[Partition, int]:
    return {
        Partition(topic, int(number)): int(offset)
        for topic, numbers in nested.items()
        for number, offset in numbers.items()
    }


def _json(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise PipelineError(f"{file}: {text[:80]!r} is not JSON ({error}). Remove the checkpoint.") from error

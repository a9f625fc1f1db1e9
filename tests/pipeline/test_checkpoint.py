import json
from pathlib import Path

import pytest

from onelog.pipeline.checkpoint import Checkpoint
from onelog.pipeline.errors import PipelineError
from onelog.pipeline.ledger import Partition, Range

A, B, C = Partition("orders", 0), Partition("orders", 1), Partition("orders", 2)


def logged(path: Path, batch: int, offsets: str) -> None:
    (path / "offsets").mkdir(exist_ok=True, parents=True)
    (path / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{offsets}")


def test_a_batch_covers_what_lies_between_its_offsets_and_those_before(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.begin({A: 3, B: 0})
    logged(tmp_path, 0, '{"orders": {"0": 5, "1": 0}}')
    logged(tmp_path, 1, '{"orders": {"0": 9, "1": 4, "2": 7}}')
    assert checkpoint.ranges(0) == {A: Range(3, 5), B: Range(0, 0)}
    assert checkpoint.ranges(1) == {A: Range(5, 9), B: Range(0, 4), C: Range(0, 7)}


def test_where_a_query_began_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "made" / "here"
    assert Checkpoint(str(path)).begins is None
    Checkpoint(str(path)).begin({B: 2, A: 1})
    assert Checkpoint(str(path)).begins == {A: 1, B: 2}


def test_the_query_keeps_its_id_and_shows_its_state(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text(json.dumps({"id": "abc"}))
    checkpoint = Checkpoint(str(tmp_path))
    assert checkpoint.query_id == "abc"
    assert not checkpoint.has_state
    (tmp_path / "state").mkdir()
    assert checkpoint.has_state


def test_offsets_that_are_not_there_or_not_ours_are_told(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    with pytest.raises(PipelineError, match=r"offsets/4: No such file"):
        checkpoint.ranges(4)
    logged(tmp_path, 0, '{"a": {"0": 1}}\n{"b": {"0": 1}}')
    with pytest.raises(PipelineError, match="the offsets of one source"):
        checkpoint.ranges(0)
    logged(tmp_path, 0, "{torn")
    with pytest.raises(PipelineError, match="is not JSON"):
        checkpoint.ranges(0)

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from onelog.pipeline.errors import PipelineError
from onelog.pipeline.flow import DeltaSink, Flow, Pipeline, landing
from onelog.pipeline.progress import FlowState
from onelog.pipeline.run import run
from onelog.pipeline.tables import Table
from tests.support.folder_log import FolderLog

pytestmark = pytest.mark.spark


def test_several_flows_land_side_by_side_until_they_are_told_to_stop(
    spark: SparkSession, log: FolderLog, tmp_path: Path
) -> None:
    log.append("a", "1")
    log.append("b", "1", "2")
    pipeline = Pipeline(
        flows=(landing("a", str(tmp_path / "a")), landing("b", str(tmp_path / "b"))), trigger="0 seconds"
    )
    stop = threading.Event()
    seen: list[FlowState] = []

    def watch(states: Sequence[FlowState]) -> None:
        """Add a record when all is up to date, and stop when it has landed too."""
        seen[:] = states
        if [s.records for s in states] == [1, 2]:
            log.append("a", "2")
        if [s.records for s in states] >= [2, 2]:
            stop.set()

    states = run(pipeline, spark=spark, log=log, stop=stop, watch=watch)
    assert states[0].records >= 2
    assert states[1].records == 2
    assert not any(state.is_active for state in states)
    assert len(Table(str(tmp_path / "b")).delta.to_pyarrow_dataset().to_table()) == 2


def test_one_flow_that_cannot_be_keeps_all_from_starting_and_gives_the_tables_free(
    spark: SparkSession, log: FolderLog, tmp_path: Path
) -> None:
    log.append("a", "1")
    good = landing("a", str(tmp_path / "a"))
    bad = Flow(
        name="bad", topics=("a",), sink=DeltaSink(str(tmp_path / "b")), steps=("select nope from input",)
    )
    with pytest.raises(PipelineError, match="flow 'bad', step 1"):
        run(Pipeline(flows=(good, bad)), once=True, spark=spark, log=log)
    (state,) = run(Pipeline(flows=(good,)), once=True, spark=spark, log=log)
    assert (state.records, state.behind) == (1, 0)

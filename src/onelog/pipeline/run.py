"""Starts the queries of all flows in one session, watches them, and ends them cleanly.

What a batch does is query.py's. This is also the door for programs:

    run(Pipeline(flows=(landing("orders", "tables/orders"),)), once=True)
"""

import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from onelog.pipeline.flow import Pipeline
from onelog.pipeline.log import OnelogLog
from onelog.pipeline.progress import FlowState, behind, parsed_offsets
from onelog.pipeline.query import FlowQuery, Log
from onelog.spark import session

LOOK_INTERVAL_S = 0.2
TIMEOUT_S = 30.0

Watch = Callable[[Sequence[FlowState]], None]


def run(
    pipeline: Pipeline,
    *,
    once: bool = False,
    spark: SparkSession | None = None,
    log: Log | None = None,
    stop: threading.Event | None = None,
    watch: Watch | None = None,
    timeout_s: float = TIMEOUT_S,
) -> list[FlowState]:
    """Run all flows until they have landed what there is (once), or until stop is set.

    The first flow that fails ends the others and is raised, a PipelineError. Everything that is
    in a table stays, and the next run goes on behind it. A session that is handed in is left open.
    """
    own = spark is None
    spark = spark or started(pipeline)
    stop = stop or threading.Event()
    broker = None if log is not None else OnelogLog(pipeline.bootstrap, timeout_s=timeout_s)
    read = log or broker
    assert read is not None
    queries: list[FlowQuery] = []
    try:
        for flow in pipeline.flows:
            query = FlowQuery(spark, flow, read)
            queries.append(query)
        for query in queries:
            query.start(once=once, trigger=pipeline.trigger)
        _watched(queries, stop=stop, watch=watch)
    finally:
        for query in queries:
            query.stop()
            query.close()
        if broker is not None:
            broker.close()
        if own:
            spark.stop()
    return [_state(query) for query in queries]


def started(pipeline: Pipeline) -> SparkSession:
    """A session for these flows."""
    # Flows write no tables of Spark's own; without a place for them it makes a folder where we run.
    aside = {"spark.sql.warehouse.dir": (session.cache_folder(os.environ) / "warehouse").as_uri()}
    return session.start("onelog", master=pipeline.master, conf={**aside, **pipeline.conf})


def _watched(queries: Sequence[FlowQuery], *, stop: threading.Event, watch: Watch | None) -> None:
    while not stop.wait(LOOK_INTERVAL_S):
        active = [query for query in queries if query.is_active]
        for query in queries:
            # Whoever ended because we were told to stop is no failure, whatever it says.
            if query not in active and query.error is not None and not stop.is_set():
                raise query.error
        if watch is not None:
            watch([_state(query) for query in queries])
        if not active:
            return


def _state(query: FlowQuery) -> FlowState:
    progress: Any = query.progress()
    sources = progress["sources"] if progress is not None else []
    ends = parsed_offsets(_plain(sources[0]["endOffset"])) if sources else None
    latest = parsed_offsets(_plain(sources[0]["latestOffset"])) if sources else None
    return FlowState(
        name=query.flow.name,
        path=query.flow.sink.path,
        records=query.records_landed,
        behind=None if ends is None or latest is None else behind(ends, latest),
        rate=float(progress["processedRowsPerSecond"]) if progress is not None else 0.0,
        is_active=query.is_active,
        dead_letters=query.dead_letters_landed,
        dead_letters_path=query.flow.sink.dead_letters_path,
    )


def _plain(found: Any) -> Any:
    try:
        return json.loads(found) if isinstance(found, str) else found
    except ValueError:
        return None

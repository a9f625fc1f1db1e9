"""One flow at work: a streaming query whose every batch enters its table once.

A batch goes through here as: what does it cover (checkpoint), is it new (ledger), its dead
letters, its rows, the commit. Whatever fails on the way fails the query, and the same batch
comes again at the next start.
"""

import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from onelog.pipeline import expect, steps
from onelog.pipeline.checkpoint import Checkpoint
from onelog.pipeline.errors import LedgerError, PipelineError
from onelog.pipeline.flow import DeltaSink, Flow, Mode, Start
from onelog.pipeline.ledger import Entry, Partition, Range, Ranges, Verdict, check_log, judge_apart, uncovered
from onelog.pipeline.sinks import Sink

# A batch below this becomes one file; in a table fed every second that is the usual case.
RECORDS_PER_FILE = 100_000


# Where Spark's own sentence does not say what to do here.
_TOLD = {
    "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION": (
        "an aggregate without a watermark never ends, so its rows cannot be appended. Say mode = "
        '"upsert" with a key in its sink, or give the flow a watermark and group by its time.'
    ),
}


class Log(Protocol):
    """What a flow needs of the log."""

    def spans(self, topics: tuple[str, ...]) -> Ranges:
        """What each partition holds now."""
        ...

    def topic_ids(self, topics: tuple[str, ...]) -> Mapping[str, str]:
        """The id of each topic, which another topic of the same name does not have."""
        ...

    def stream(self, spark: SparkSession, flow: Flow, begins: Mapping[Partition, int]) -> DataFrame:
        """The records from those offsets on, as the columns of format("onelog") with headers."""
        ...

    def batch(self, spark: SparkSession, ranges: Ranges) -> DataFrame:
        """The records of those ranges, the same columns."""
        ...


class FlowQuery:
    """Runs one flow. Its batches come in Spark's thread, one at a time."""

    def __init__(self, spark: SparkSession, flow: Flow, log: Log) -> None:
        """Build the query and open its tables; nothing is read before start()."""
        self.flow = flow
        self.failure: PipelineError | None = None
        self.records_landed = 0
        self.dead_letters_landed = 0
        self._spark = spark
        self._log = log
        self._where = f"flow {flow.name!r}"
        self._checkpoint = Checkpoint(flow.checkpoint_path)
        self._topic_ids = log.topic_ids(flow.topics)
        spans = log.spans(flow.topics)
        source = log.stream(spark, flow, dict.fromkeys(spans, 0))
        self._has_begun = False
        self._dead_letters: Sink | None = None
        self._sink = Sink(flow.sink, self._rows(source).schema, app_id=flow.app_id, where=self._where)
        self.query: StreamingQuery | None = None
        with ExitStack() as undone:
            undone.callback(self.close)
            self._begins = self._resumed(spans)
            if flow.has_dead_letters:
                self._dead_letters = Sink(
                    DeltaSink(flow.sink.dead_letters_path),
                    expect.dead_letters(source, flow).schema,
                    app_id=flow.dead_letters_app_id,
                    where=f"{self._where}, dead letters",
                    rule=judge_apart,
                )
            self._frame = self._rows(log.stream(spark, flow, self._begins))
            undone.pop_all()

    def start(self, *, once: bool, trigger: str) -> None:
        """Begin, or go on where the last run ended."""
        writer = (
            self._frame.writeStream.queryName(self.flow.name)
            .option("checkpointLocation", str(self._checkpoint.path))
            .outputMode("update" if self.flow.sink.mode is Mode.UPSERT else "append")
            .foreachBatch(self._on_batch)
        )
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=trigger)
        try:
            self.query = writer.start()
        except PySparkException as error:
            raise PipelineError(f"{self._where}: {reason(str(error))}") from error

    def stop(self) -> None:
        """End after what is being done now; the rest comes at the next start."""
        if self.query is not None:
            self.query.stop()

    def close(self) -> None:
        """Give the tables free. A flow that did not come to start leaves nothing behind that it made."""
        if self.query is None and self._has_begun:
            self._checkpoint.remove()
        for sink in (self._dead_letters, self._sink):
            if sink is not None and self.query is None:
                sink.undo()
            elif sink is not None:
                sink.close()

    @property
    def is_active(self) -> bool:
        """Whether batches may still come."""
        return self.query is not None and bool(self.query.isActive)

    @property
    def error(self) -> PipelineError | None:
        """Why the query ended early, in one sentence."""
        if self.failure is not None:
            return self.failure
        found = self.query.exception() if self.query is not None else None
        return None if found is None else PipelineError(f"{self._where}: {reason(str(found))}")

    def progress(self) -> Any:
        """What Spark says of the last batch; None before the first."""
        return self.query.lastProgress if self.query is not None else None

    def _rows(self, source: DataFrame) -> DataFrame:
        frame = steps.watermarked(expect.good(source, self.flow), self.flow)
        return steps.run(frame, self.flow.steps, where=self._where)

    def _resumed(self, spans: Ranges) -> Mapping[Partition, int]:
        """Where the query begins: where its checkpoint did, else where the table ends, else as the flow says."""
        last = self._sink.table.last()
        if last is not None:
            check_log(last, log=spans, topic_ids=self._topic_ids)
        begun = self._checkpoint.begins
        if last is None and begun is not None and not self._checkpoint.has_finished:
            begun = self._begun_again(begun)
        if begun is not None:
            return {p: begun.get(p, 0) for p in spans}
        if last is not None and last.is_stateful:
            raise LedgerError(
                f"{self._where}: {self.flow.sink.path} has its batches up to {last.batch_id}, but the checkpoint "
                f"{self._checkpoint.path} is gone, and with it what the steps had summed up. Bring it back, or "
                "let the flow compute another table from the start."
            )
        begins = {p: s.start if self.flow.start is Start.EARLIEST else s.end for p, s in spans.items()}
        if last is not None:
            begins = {p: last.ends.get(p, s.start) for p, s in spans.items()}
        self._checkpoint.begin(begins)
        self._has_begun = True
        return begins

    def _begun_again(self, begun: Mapping[Partition, int]) -> Mapping[Partition, int] | None:
        """Nothing of the query came to its end: a corrected one may stand in its place, and begin where it did."""
        self._checkpoint.restart()
        if {partition.topic for partition in begun} == set(self.flow.topics):
            return begun
        self._checkpoint.remove()
        return None

    def _on_batch(self, frame: DataFrame, batch_id: int) -> None:
        try:
            self._write(frame, batch_id)
        except PipelineError as error:
            # Spark passes on the text of an exception, not the exception.
            self.failure = error
            raise

    def _write(self, frame: DataFrame, batch_id: int) -> None:
        entry = self._entry(batch_id, self._checkpoint.ranges(batch_id))
        if self._sink.judge(entry) is Verdict.DONE:
            if self._checkpoint.has_state:
                # The table has the rows; the state that the next batch builds on has to be made all the same.
                frame.write.format("noop").mode("overwrite").save()
            return
        self._write_dead_letters(entry)
        records = sum(span.end - span.start for span in entry.ranges.values())
        # Behind a step may stand an aggregate, whose tasks belong to its state.
        files = None if self.flow.steps else 1 + records // RECORDS_PER_FILE
        staged = self._sink.stage(frame, entry, file_count=files)
        if staged.row_count == 0 and entry.is_empty:
            self._sink.drop(staged)
            return
        self._sink.commit(staged, replace(entry, is_stateful=self._checkpoint.has_state))
        self.records_landed += records

    def _write_dead_letters(self, entry: Entry) -> None:
        """Before the rows: what is in the table has had its dead letters, whenever the power goes."""
        if self._dead_letters is None:
            return
        self._dead_letters.table.refresh()
        left = uncovered(self._dead_letters.table.last(), entry.ranges)
        if not left:
            return
        part = self._entry(entry.batch_id, left, app_id=self.flow.dead_letters_app_id)
        frame = expect.dead_letters(self._log.batch(self._spark, left), self.flow)
        staged = self._dead_letters.stage(frame, part, file_count=1)
        if staged.row_count:
            self._dead_letters.commit(staged, part)
            self.dead_letters_landed += staged.row_count
        else:
            self._dead_letters.drop(staged)

    def _entry(self, batch_id: int, ranges: Ranges, *, app_id: str | None = None) -> Entry:
        return Entry(
            app_id=app_id or self.flow.app_id,
            query_id=self._checkpoint.query_id,
            batch_id=batch_id,
            attempt="",
            ranges={p: Range(*span) for p, span in ranges.items()},
            begins={p: at for p, at in self._begins.items() if p in ranges},
            topic_ids=self._topic_ids,
            is_landing=self.flow.is_landing,
        )


def reason(text: str) -> str:
    """The one sentence in what Spark says of a failed query."""
    # Behind the failure comes the plan of the query, which quotes the same words.
    text = text.partition("\n=== Streaming Query ===")[0]
    for found, told in _TOLD.items():
        if found in text:
            return told
    broken = re.search(re.escape(expect.FAILED) + r"\S+/\d+ at offset [^\n]*", text)
    if broken:
        return _plain(broken[0].removeprefix("onelog: "))
    # The last line of a Python traceback is what was raised.
    raised = re.findall(
        r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Unavailable|Lost)\w*: (.+)$", text, re.MULTILINE
    )
    said = _plain(raised[-1] if raised else text.strip().splitlines()[0])
    return said.removesuffix(" Name another with --bootstrap HOST:PORT.")


def _plain(text: str) -> str:
    """Without Spark's own codes around the sentence."""
    return re.sub(r"^\[[A-Z_.0-9]+\] |\s*SQLSTATE: \w{5}", "", text).strip()

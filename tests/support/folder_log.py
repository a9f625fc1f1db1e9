"""A log that is a folder of JSON lines, and a Spark source over it, in the shape of format("onelog").

Flows can be driven through real queries without a broker. Its offsets have the spelling of the
real source, since the pipeline reads them in Spark's checkpoint.
"""

import base64
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from onelog.pipeline.flow import Flow
from onelog.pipeline.ledger import Partition, Range, Ranges

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key string, value binary>>"
)
Row = tuple[Any, ...]
Offsets = dict[str, dict[str, int]]


class FolderLog:
    """What a flow needs of the log. Records are appended by tests."""

    def __init__(self, root: Path, *, partitions: int = 2) -> None:
        self.root = root
        self._partitions = partitions
        self.ids: dict[str, str] = {}

    def append(self, topic: str, *values: str | bytes | None, partition: int = 0) -> None:
        """Add records with these values, a second apart."""
        folder = self.root / topic
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(self._partitions):
            (folder / f"{number}.jsonl").touch()
        with (folder / f"{partition}.jsonl").open("a") as file:
            for value in values:
                raw = value.encode() if isinstance(value, str) else value
                file.write(json.dumps(None if raw is None else base64.b64encode(raw).decode()) + "\n")

    def spans(self, topics: tuple[str, ...]) -> Ranges:
        return {
            Partition(topic, int(n)): Range(0, end)
            for topic, numbers in ends(str(self.root), ",".join(topics)).items()
            for n, end in numbers.items()
        }

    def topic_ids(self, topics: tuple[str, ...]) -> Mapping[str, str]:
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def stream(self, spark: SparkSession, flow: Flow, begins: Mapping[Partition, int]) -> DataFrame:
        reader = spark.readStream.format("folder").options(
            root=str(self.root), topics=",".join(flow.topics), begins=_text(begins)
        )
        return reader.load()

    def batch(self, spark: SparkSession, ranges: Ranges) -> DataFrame:
        reader = spark.read.format("folder").options(
            root=str(self.root),
            begins=_text({p: span.start for p, span in ranges.items()}),
            ends=_text({p: span.end for p, span in ranges.items()}),
        )
        return reader.load()


def register(spark: SparkSession) -> None:
    """Make the source known; workers need not be able to import this module."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark.dataSource.register(FolderSource)


def ends(root: str, topics: str) -> Offsets:
    """How many lines each partition has."""
    return {
        topic: {
            file.stem: len(file.read_bytes().splitlines())
            for file in sorted((Path(root) / topic).glob("*.jsonl"))
        }
        for topic in topics.split(",")
    }


class Lines(InputPartition):
    """A range of one file."""

    def __init__(self, topic: str, number: str, start: int, end: int) -> None:
        self.topic, self.number, self.start, self.end = topic, number, start, end


class FolderSource(DataSource):
    """format("folder")."""

    @classmethod
    def name(cls) -> str:
        return "folder"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return FolderReader(dict(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # Spark's name
        return FolderStream(dict(self.options))


class FolderReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        return _lines(json.loads(self.options["begins"]), json.loads(self.options["ends"]))

    def read(self, partition: InputPartition) -> Iterator[Row]:
        return _rows(self.options["root"], partition)


class FolderStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.target: Offsets | None = None

    def initialOffset(self) -> Offsets:  # Spark's name
        begins: Offsets = json.loads(self.options["begins"])
        return begins

    def getDefaultReadLimit(self) -> ReadLimit:  # Spark's name
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # Spark's name
        self.target = ends(self.options["root"], self.options["topics"])

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # Spark's name
        return self.target or ends(self.options["root"], self.options["topics"])

    def reportLatestOffset(self) -> Offsets | None:  # Spark's name
        return ends(self.options["root"], self.options["topics"])

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        return _lines(start, end)

    def read(self, partition: InputPartition) -> Iterator[Row]:
        return _rows(self.options["root"], partition)


def _lines(start: Offsets, end: Offsets) -> list[InputPartition]:
    return [
        Lines(topic, n, start.get(topic, {}).get(n, 0), last)
        for topic, numbers in end.items()
        for n, last in numbers.items()
    ]


def _rows(root: str, partition: InputPartition) -> Iterator[Row]:
    assert isinstance(partition, Lines)
    lines = (Path(root) / partition.topic / f"{partition.number}.jsonl").read_bytes().splitlines()
    for offset in range(partition.start, partition.end):
        found = json.loads(lines[offset])
        value = None if found is None else base64.b64decode(found)
        at = datetime.fromtimestamp(1_700_000_000 + offset, UTC)
        headers = [("source", b"folder")]
        yield (
            f"k{offset}".encode(),
            value,
            partition.topic,
            int(partition.number),
            offset,
            at,
            0,
            headers,
        )


def _text(offsets: Mapping[Partition, int]) -> str:
    nested: Offsets = {}
    for partition, offset in sorted(offsets.items()):
        nested.setdefault(partition.topic, {})[str(partition.number)] = offset
    return json.dumps(nested)

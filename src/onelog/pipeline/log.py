"""The log as a flow sees it: the broker's answers about it, and format("onelog") over it."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from onelog.pipeline.flow import Flow
from onelog.pipeline.ledger import Partition, Ranges


class OnelogLog:
    """The topics of one broker."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def spans(self, topics: tuple[str, ...]) -> Ranges:
        raise NotImplementedError

    def topic_ids(self, topics: tuple[str, ...]) -> Mapping[str, str]:
        raise NotImplementedError

    def stream(self, spark: SparkSession, flow: Flow, begins: Mapping[Partition, int]) -> DataFrame:
        raise NotImplementedError

    def batch(self, spark: SparkSession, ranges: Ranges) -> DataFrame:
        raise NotImplementedError

"""The data source named onelog, as Spark's interface wants it: four readers and writers.

Only the interface: what is asked of the log is in log.py, arithmetic on offsets in planning.py,
reading on executors in reader.py, writing in sink.py. Spark calls most of this in processes of
its own, and hands this object over pickled.
"""

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceWriter
from pyspark.sql.types import StructType

from onelog.spark.batch import BatchReader
from onelog.spark.options import includes_headers, sink_options, source_options
from onelog.spark.schema import source_schema
from onelog.spark.sink import BatchWriter, StreamWriter
from onelog.spark.stream import StreamReader


class OnelogSource(DataSource):
    """`format("onelog")`."""

    @classmethod
    def name(cls) -> str:
        return "onelog"

    def schema(self) -> StructType:
        return source_schema(include_headers=includes_headers(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(source_options(self.options, streaming=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        return StreamReader(source_options(self.options, streaming=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return BatchWriter(sink_options(self.options), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: N802  # Spark's name
        return StreamWriter(sink_options(self.options), schema)

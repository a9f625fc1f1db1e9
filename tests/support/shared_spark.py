"""One Spark session for all tests of a process: it takes seconds to start and cannot start twice."""

import functools

from pyspark.sql import SparkSession

from onelog.spark import session
from tests.support import folder_log


@functools.cache
def shared_spark() -> SparkSession:
    """The session, started by whoever asks first."""
    spark = session.start("onelog-tests", master="local[2]")
    folder_log.register(spark)
    return spark

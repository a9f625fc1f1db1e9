"""What the tests of flows share: the session, and a log that is a folder."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.folder_log import FolderLog
from tests.support.shared_spark import shared_spark


@pytest.fixture
def spark() -> SparkSession:
    return shared_spark()


@pytest.fixture
def log(tmp_path: Path) -> FolderLog:
    return FolderLog(tmp_path / "log")

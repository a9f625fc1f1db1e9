"""Makes `format("onelog")` known to a plain Spark session.

Spark looks for packages named pyspark_* and registers their DefaultSource. It imports this one
in every session, so nothing of onelog is imported before the source is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onelog.spark.source import OnelogSource as DefaultSource

__all__ = ["DefaultSource"]


def __getattr__(name: str) -> Any:
    if name == "DefaultSource":
        from onelog.spark.source import OnelogSource

        return OnelogSource
    raise AttributeError(f"module 'pyspark_onelog' has no attribute {name!r}")

"""onelog: one durable log that the clients of Kafka, Fluvio, FlyMQ, RustLog and TANK share.

`onelog.Broker(path)` runs a broker inside a program or a test. It is imported when it is
first named, so that a client, or an executor of Spark, never loads the broker's parts.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onelog.embedded import Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from onelog.embedded import Broker

        return Broker
    raise AttributeError(f"module 'onelog' has no attribute {name!r}")

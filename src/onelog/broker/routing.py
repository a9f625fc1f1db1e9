"""Where a record goes whose dialect leaves that to the broker: by its key, or in turns.

Kafka's clients choose for themselves and RustLog's say a partition; FlyMQ's have a broker that
chooses, with FNV-1a. Readers may rely on equal keys being in one partition as long as the
number of partitions stays.
"""

from onelog.broker.topics.served import Served
from onelog.records.kernels import fnv1a


class Routing:
    """Chooses partitions of served topics. Lives in the loop's thread."""

    def __init__(self, *, served: Served) -> None:
        self._served = served

    def place(self, topic: str, key: bytes | None) -> int:
        """The partition for a record with this key; without one, each in its turn, from 0 on."""
        served = self._served.find(topic)
        count = len(served.partitions)
        if count == 1:
            return 0
        if key is not None:
            return fnv1a(key) % count
        turn = served.turn
        served.turn += 1
        return turn % count

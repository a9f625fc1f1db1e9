"""What the source asks of the log: which partitions there are, their ends, and batches.

Reads through the Kafka dialect, so that any Kafka-compatible broker will do. Used on the driver
and on executors alike; decides nothing.
"""

from collections.abc import Sequence

from onelog.client.closing import Closing
from onelog.client.kafka.admin import Admin, Spot
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.consumer import Consumer, Fetched
from onelog.client.kafka.errors import KafkaError
from onelog.protocols.kafka.errors import Code
from onelog.spark.offsets import Offsets, Place
from onelog.spark.options import SourceOptions

FETCH_BYTES_MAX = 16 << 20
WAIT_MS = 1000


class Log(Closing):
    """One connection's worth of questions. Close it, or use it in a `with`."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._client = KafkaClient(options.bootstrap, client_id=options.client_id)
        self._admin = Admin(self._client)
        self._consumer = Consumer(self._client, isolation=options.isolation)

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

    def places(self) -> list[Place]:
        """The partitions that are read: the assigned ones, or all of the topics."""
        if self._options.assigned:
            return list(self._options.assigned)
        return [
            Place(topic, partition)
            for topic in self._options.topics
            for partition in range(self._admin.topic(topic).partition_count)
        ]

    def earliest(self, places: Sequence[Place]) -> Offsets:
        """The first offset that each partition still has."""
        return self._offsets(places, Spot.EARLIEST)

    def latest(self, places: Sequence[Place]) -> Offsets:
        """Where each partition ends for this reader."""
        return self._offsets(places, Spot.LATEST)

    def fetch(self, place: Place, offset: int) -> Fetched | None:
        """The batches from an offset on; None when the log does not hold it any more."""
        try:
            return self._consumer.fetch(
                place.topic, place.partition, offset, bytes_max=FETCH_BYTES_MAX, wait_ms=WAIT_MS
            )
        except KafkaError as error:
            if error.code == Code.OFFSET_OUT_OF_RANGE:
                return None
            raise

    def _offsets(self, places: Sequence[Place], at: Spot) -> Offsets:
        found: Offsets = {}
        for topic in sorted({place.topic for place in places}):
            wanted = [place.partition for place in places if place.topic == topic]
            asked = self._admin.offsets(topic, at, partitions=wanted, isolation=self._options.isolation)
            found.update({Place(topic, partition): said.offset for partition, said in asked.items()})
        return found

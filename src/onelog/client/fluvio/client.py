"""A Fluvio cluster as a client sees it: topics from its controller, records from its units, typed.

Records have offsets, from 0 on. What can be asked twice is asked again when the connection
breaks, with the leaders looked up anew. A produce cannot: the protocol has no way to tell a
repetition, so one whose answer was lost ends in OutcomeUnknown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar

from onelog.binary.compression import Codec
from onelog.client.address import DEFAULT_BOOTSTRAPS, parse_bootstrap
from onelog.client.closing import Closing
from onelog.client.errors import BadAnswer, ClientError, ConnectionLost, OutcomeUnknown
from onelog.client.fluvio.cluster import Cluster
from onelog.client.fluvio.errors import FluvioError, check
from onelog.client.fluvio.partitioner import partition_of
from onelog.client.fluvio.tail import FETCH_BYTES_MAX, Fetched, Tail
from onelog.client.retry import Deadline, Retrier, RetryPolicy
from onelog.model import Address
from onelog.protocols.fluvio.messages.error import Code
from onelog.protocols.fluvio.messages.fetch import (
    FetchOffsetsRequest,
    FetchOffsetsResponse,
    OffsetsTopic,
    PartitionOffsets,
)
from onelog.protocols.fluvio.messages.objects import (
    Compression,
    Computed,
    Label,
    TopicObject,
    TopicSpec,
)
from onelog.protocols.fluvio.messages.positions import (
    ConsumerOffset,
    ConsumerOffsetFilter,
    DeleteConsumerOffsetRequest,
    DeleteConsumerOffsetResponse,
    FetchConsumerOffsetsRequest,
    FetchConsumerOffsetsResponse,
)
from onelog.protocols.fluvio.messages.produce import (
    READ_COMMITTED,
    ProducedEntry,
    ProduceEntry,
    ProduceRequest,
    ProduceResponse,
    ProduceTopic,
)
from onelog.protocols.fluvio.messages.topics import (
    AddPartition,
    CreateRequest,
    DeleteRequest,
    Status,
    UpdateRequest,
)
from onelog.protocols.fluvio.recordset import encode_batch
from onelog.protocols.fluvio.versions import (
    CREATE,
    DELETE,
    DELETE_CONSUMER_OFFSET,
    FETCH_CONSUMER_OFFSETS,
    FETCH_OFFSETS,
    PRODUCE,
    UPDATE,
)
from onelog.records.record import Record

T = TypeVar("T")

# What one batch is made of at most, before it is compressed: as Fluvio's own producer bounds its requests.
BATCH_BYTES_MAX = 1 << 20
RECORD_BYTES_MORE = 32
PRODUCE_TIMEOUT_MS = 30_000
# How long a stream that cannot be is given to say so. One that can says nothing.
REFUSAL_WAIT_MS = 1_000
# Where a cluster keeps what its consumers have read.
OFFSETS_TOPIC = "consumer-offset"


class Sent(NamedTuple):
    """Where records of one batch went; the end is exclusive."""

    partition: int
    offset: int
    offset_end: int


class Span(NamedTuple):
    """Where a partition begins and ends now; the end is exclusive."""

    start: int
    end: int


class FluvioClient(Closing):
    """One cluster. Safe to use from several threads, its tails but for one each. Close it, or use it in a `with`."""

    def __init__(
        self,
        bootstrap: str | Sequence[Address] = DEFAULT_BOOTSTRAPS["fluvio"],
        *,
        timeout_s: float = 30.0,
        retrier: Retrier | None = None,
    ) -> None:
        addresses = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self._retrier = retrier or Retrier(RetryPolicy(timeout_s=timeout_s))
        self._cluster = Cluster(addresses, retrier=self._retrier)
        self._turn = count()

    def close(self) -> None:
        """Close the connections, but for those of open tails. Calls after it fail."""
        self._cluster.close()

    # ---- topics

    def create_topic(
        self, name: str, *, partition_count: int = 1, compression: Compression = Compression.ANY
    ) -> None:
        """Make a topic. compression: what its producers may use."""
        replicas = Computed(partition_count=partition_count, replication_factor=1)
        spec = TopicSpec(replicas=replicas, compression=compression)
        request = CreateRequest(Label.TOPIC, name, spec)
        # An attempt whose answer was lost may have made it.
        self._change(CREATE, request, f"creating topic {name}", done_already=Code.TOPIC_ALREADY_EXISTS)

    def delete_topic(self, name: str) -> None:
        """Remove a topic with its records."""
        request = DeleteRequest(Label.TOPIC, name)
        self._change(DELETE, request, f"deleting topic {name}", done_already=Code.TOPIC_NOT_FOUND)

    def add_partitions(self, name: str, count: int) -> None:
        """Give a topic so many more partitions."""
        doing = f"adding partitions to {name}"

        def attempt(deadline: Deadline) -> None:
            try:
                self._status(
                    UPDATE, UpdateRequest(Label.TOPIC, name, AddPartition(count=count)), doing, deadline
                )
            except ConnectionLost as error:
                if error.sent:
                    raise OutcomeUnknown(error) from error
                raise

        self._retrier.run(attempt)

    def topics(self) -> dict[str, int]:
        """Every topic but the system's own, with its number of partitions."""
        objects: list[TopicObject] = self._retrier.run(
            lambda deadline: self._cluster.listed(Label.TOPIC, "listing topics", deadline)
        )
        return {each.name: len(each.status.replica_map) for each in objects}

    def spans(self, topic: str) -> dict[int, Span]:
        """Where each partition of a topic begins and ends."""
        doing = f"asking where {topic} ends"

        def attempt(deadline: Deadline) -> dict[int, Span]:
            leaders = self._cluster.leaders(deadline)
            partitions = sorted(index for name, index in leaders if name == topic)
            if not partitions:
                raise FluvioError(Code.TOPIC_NOT_FOUND, doing=doing, text=topic)
            return {index: self._span(topic, index, doing, deadline) for index in partitions}

        return self._retrier.run(attempt)

    # ---- records

    def produce(
        self, topic: str, partition: int | None, records: Iterable[Record], *, codec: Codec = Codec.NONE
    ) -> list[Sent]:
        """Append records, a batch at a time, each when the one before is acknowledged; where they went.

        partition None: by their keys, as Fluvio's own producers place them; those without one stay together
        in a call, and take turns from call to call.
        """
        if partition is not None:
            return self._append(topic, partition, records, codec)
        return [
            sent
            for place, some in self._placed(topic, records).items()
            for sent in self._append(topic, place, some, codec)
        ]

    def tail(
        self,
        topic: str,
        offsets: Mapping[int, int],
        *,
        consumer_id: str | None = None,
        bytes_max: int = FETCH_BYTES_MAX,
    ) -> Tail:
        """A reader of these partitions from these offsets on. consumer_id: whose offsets commit() keeps."""
        return Tail(self._cluster, topic, offsets, consumer_id=consumer_id, bytes_max=bytes_max)

    def fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        bytes_max: int = FETCH_BYTES_MAX,
        wait_ms: int = 0,
    ) -> Fetched:
        """The records from an offset on; none if none came in wait_ms. Who reads on does better with a tail."""
        doing = f"asking where {topic}/{partition} ends"
        end = self._retried(lambda left: self._span(topic, partition, doing, left)).end
        if offset < end:
            wait_ms = int(self._retrier.policy.timeout_s * 1000)
        elif offset > end:
            wait_ms = max(wait_ms, REFUSAL_WAIT_MS)
        with self.tail(topic, {partition: offset}, bytes_max=bytes_max) as tail:
            return tail.read(wait_ms=wait_ms).get(partition, Fetched((), offset))

    def iterate(self, topic: str, partition: int, offset: int | None = None) -> Iterator[tuple[int, Record]]:
        """Every record from an offset, or the first, up to what is the end now."""
        span = self.spans(topic)[partition]
        at = span.start if offset is None else offset
        with self.tail(topic, {partition: at}) as tail:
            while at < span.end:
                fetched = tail.read(wait_ms=int(self._retrier.policy.timeout_s * 1000)).get(partition)
                if fetched is None:
                    return
                yield from ((place, record) for place, record in fetched.records if place < span.end)
                at = fetched.next_offset

    # ---- consumers

    def consumer_offsets(self, consumer_id: str | None = None) -> list[ConsumerOffset]:
        """What consumers, or one of them, have done with: the last record each."""
        doing = "asking for the offsets of consumers"
        wanted = None if consumer_id is None else ConsumerOffsetFilter(consumer_id=consumer_id)
        request = FetchConsumerOffsetsRequest(filter=wanted)

        def attempt(deadline: Deadline) -> list[ConsumerOffset]:
            answer: FetchConsumerOffsetsResponse = self._cluster.ask_unit(
                OFFSETS_TOPIC, 0, FETCH_CONSUMER_OFFSETS, request, doing, deadline
            )
            check(answer.error, doing=doing)
            return answer.offsets

        return self._retried(attempt)

    def delete_consumer_offset(self, consumer_id: str, topic: str, partition: int) -> None:
        """Forget how far a consumer is."""
        doing = f"deleting the offset of {consumer_id} in {topic}/{partition}"
        request = DeleteConsumerOffsetRequest(topic=topic, partition=partition, consumer_id=consumer_id)

        def attempt(deadline: Deadline) -> None:
            answer: DeleteConsumerOffsetResponse = self._cluster.ask_unit(
                OFFSETS_TOPIC, 0, DELETE_CONSUMER_OFFSET, request, doing, deadline
            )
            check(answer.error, doing=doing)

        self._retried(attempt)

    # ---- asking

    def _append(self, topic: str, partition: int, records: Iterable[Record], codec: Codec) -> list[Sent]:
        sent = []
        for lot in lots(records):
            batch, _ = encode_batch(lot, codec=codec)
            first = self._produce(topic, partition, batch)
            sent.append(Sent(partition, first, first + len(lot)))
        return sent

    def _placed(self, topic: str, records: Iterable[Record]) -> dict[int, list[Record]]:
        partitions = self._retried(lambda left: self._partition_count(topic, left))
        unkeyed = next(self._turn) % partitions
        placed: dict[int, list[Record]] = {}
        for record in records:
            partition = unkeyed if record.key is None else partition_of(record.key, partitions)
            placed.setdefault(partition, []).append(record)
        return placed

    def _partition_count(self, topic: str, deadline: Deadline) -> int:
        found = sum(name == topic for name, _ in self._cluster.leaders(deadline))
        if not found:
            raise FluvioError(Code.TOPIC_NOT_FOUND, doing=f"producing to {topic}", text=topic)
        return found

    def _retried(self, attempt: Callable[[Deadline], T]) -> T:
        return self._retrier.run(attempt, between=lambda _: self._cluster.forget())

    def _span(self, topic: str, partition: int, doing: str, deadline: Deadline) -> Span:
        request = FetchOffsetsRequest(topics=[OffsetsTopic(name=topic, partitions=[partition])])
        answer: FetchOffsetsResponse = self._cluster.ask_unit(
            topic, partition, FETCH_OFFSETS, request, doing, deadline
        )
        found: list[PartitionOffsets] = [each for named in answer.topics for each in named.partitions]
        if len(found) != 1:
            raise BadAnswer(f"{len(found)} partitions in an answer for one while {doing}.")
        check(found[0].error, doing=f"{doing}, partition {partition}")
        return Span(found[0].start, found[0].last_stable)

    def _produce(self, topic: str, partition: int, batch: bytes) -> int:
        doing = f"producing to {topic}/{partition}"
        entry = ProduceEntry(partition=partition, records=batch)
        request = ProduceRequest(
            isolation=READ_COMMITTED,
            timeout_ms=PRODUCE_TIMEOUT_MS,
            topics=[ProduceTopic(name=topic, entries=[entry])],
        )

        def attempt(deadline: Deadline) -> int:
            try:
                answer: ProduceResponse = self._cluster.ask_unit(
                    topic, partition, PRODUCE, request, doing, deadline
                )
            except ConnectionLost as error:
                # Looking for the leader sends nothing that counts.
                if error.sent and error.doing == doing:
                    raise OutcomeUnknown(error) from error
                raise
            found: list[ProducedEntry] = [each for named in answer.topics for each in named.entries]
            if len(found) != 1:
                raise BadAnswer(f"{len(found)} entries in an answer for one while {doing}.")
            check(found[0].fault, doing=doing)
            return found[0].base_offset

        return self._retried(attempt)

    def _change(self, key: int, request: Any, doing: str, *, done_already: Code) -> None:
        lost = False

        def attempt(deadline: Deadline) -> None:
            nonlocal lost
            try:
                self._status(key, request, doing, deadline)
            except ConnectionLost as error:
                lost = lost or error.sent
                raise
            except FluvioError as error:
                if not (lost and error.code is done_already):
                    raise

        self._retried(attempt)

    def _status(self, key: int, request: Any, doing: str, deadline: Deadline) -> None:
        answer: Status = self._cluster.ask_controller(key, request, doing, deadline)
        check(answer.error, doing=doing, text=answer.text)


def lots(records: Iterable[Record]) -> Iterator[list[Record]]:
    """The records in their order, in lots of a batch each; one too large is alone."""
    lot: list[Record] = []
    size = 0
    for record in records:
        if record.value is None or record.headers:
            raise ClientError("Fluvio cannot say headers or null; use another protocol.")
        more = len(record.value) + len(record.key or b"") + RECORD_BYTES_MORE
        if lot and size + more > BATCH_BYTES_MAX:
            yield lot
            lot, size = [], 0
        lot.append(record)
        size += more
    if lot:
        yield lot

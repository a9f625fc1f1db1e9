"""A RustLog broker as a client sees it: every request of the protocol, typed.

What can be asked twice is asked again when the connection breaks. A produce cannot: the
protocol has no way to tell a repetition, so one whose answer was lost ends in OutcomeUnknown.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from onelog.client.address import DEFAULT_BOOTSTRAP, parse_bootstrap
from onelog.client.closing import Closing
from onelog.client.errors import BadAnswer, ClientError, ConnectionLost, OutcomeUnknown
from onelog.client.pool import Pool
from onelog.client.retry import Deadline, Retrier, RetryPolicy
from onelog.client.rustlog.connection import Connection
from onelog.client.rustlog.errors import RustLogError
from onelog.model import Address
from onelog.protocols.rustlog.errors import Code
from onelog.protocols.rustlog.framing import FRAME_BYTES_MAX
from onelog.protocols.rustlog.messages import json as messages

R = TypeVar("R", bound=messages.Response)
T = TypeVar("T")

# What the protocol allows in one Produce.
RECORDS_MAX = 1000
# Base64 makes 4 bytes of 3; names and brackets take little beside.
PAYLOAD_BYTES_MAX = (FRAME_BYTES_MAX - 64 * 1024) // 4 * 3
FETCH_BYTES_MAX = 1 << 20


class Produced(NamedTuple):
    """Where records went: offset to offset_end, exclusive."""

    offset: int
    offset_end: int


class Fetched(NamedTuple):
    """Records in order of their offsets, timestamps in microseconds, and where to go on."""

    records: Sequence[messages.FetchedRecord]
    next_offset: int


class RustLogClient(Closing):
    """One broker. Safe to use from several threads. Close it, or use it in a `with`."""

    def __init__(
        self,
        bootstrap: str | Sequence[Address] = DEFAULT_BOOTSTRAP,
        *,
        timeout_s: float = 30.0,
        retrier: Retrier | None = None,
    ) -> None:
        self._addresses = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self._retrier = retrier or Retrier(RetryPolicy(timeout_s=timeout_s))
        self._pool: Pool[Connection] = Pool(Connection)

    def close(self) -> None:
        """Close the connections. Calls after it fail."""
        self._pool.close()

    def produce(self, topic: str, partition: int, records: Iterable[bytes]) -> list[Produced]:
        """Append records; where each request's worth of them went, when all are acknowledged."""
        return [self._produce(topic, partition, lot) for lot in lots(records)]

    def fetch(
        self, topic: str, partition: int, offset: int, *, bytes_max: int = FETCH_BYTES_MAX, group: str = ""
    ) -> Fetched:
        """The records from an offset on, about bytes_max of them; none at the end of the log."""
        request = messages.Fetch(
            group_id=group, topic=topic, partition=partition, offset=offset, max_bytes=bytes_max
        )
        answer = self._ask(request, messages.FetchResponse, f"fetching from {topic}/{partition}")
        return Fetched(answer.records, answer.next_offset)

    def iterate(self, topic: str, partition: int, offset: int) -> Iterator[messages.FetchedRecord]:
        """Every record from an offset on, until there is none."""
        while (fetched := self.fetch(topic, partition, offset)).records:
            yield from fetched.records
            offset = fetched.next_offset

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Keep the next offset that a group will read."""
        request = messages.OffsetCommit(group=group, topic=topic, partition=partition, offset=offset)
        doing = f"committing a position of group {group!r}"
        if not self._ask(request, messages.OffsetCommitResponse, doing).success:
            raise ClientError(
                f"group {group!r}, {topic}/{partition}: the broker did not take the position. "
                "Is there such a topic and partition, and has the group no members at work?"
            )

    def position(self, group: str, topic: str, partition: int) -> int | None:
        """The next offset that a group will read; None if it never said."""
        request = messages.OffsetFetch(group=group, topic=topic, partition=partition)
        doing = f"asking for a position of group {group!r}"
        return self._ask(request, messages.OffsetFetchResponse, doing).offset

    def create_topic(self, name: str, *, partition_count: int = 1) -> int:
        """Make a topic; the number of partitions it has got."""
        request = messages.CreateTopic(topic=name, partition_count=partition_count)
        lost = False

        def attempt(deadline: Deadline) -> int:
            nonlocal lost
            doing = f"creating topic {name}"
            try:
                return self._attempt(
                    request, messages.CreateTopicResponse, doing, deadline
                ).partitions_created
            except ConnectionLost as error:
                lost = lost or error.sent
                raise
            except RustLogError as error:
                # An attempt whose answer was lost may have made it.
                if lost and error.details.get("partition_count") == partition_count:
                    return partition_count
                raise

        return self._retrier.run(attempt)

    def topics(self) -> list[messages.TopicSummary]:
        """Every topic, with its number of partitions."""
        return self._ask(messages.ListTopics(), messages.ListTopicsResponse, "listing topics").topics

    def describe_topic(self, name: str) -> list[messages.PartitionSummary]:
        """The partitions of a topic, with their offsets."""
        request = messages.DescribeTopic(topic=name)
        return self._ask(request, messages.DescribeTopicResponse, f"describing topic {name}").partitions

    def describe_partition(self, topic: str, partition: int) -> messages.PartitionSummary:
        """One partition of a topic, with its offsets."""
        request = messages.DescribePartition(topic=topic, partition=partition)
        doing = f"describing {topic}/{partition}"
        answer = self._ask(request, messages.DescribePartitionResponse, doing)
        return messages.PartitionSummary(
            partition=answer.partition,
            high_watermark=answer.high_watermark,
            log_start_offset=answer.log_start_offset,
            segment_count=answer.segment_count,
        )

    def metrics(self) -> messages.MetricsData:
        """The broker in numbers."""
        return self._ask(messages.MetricsFetch(), messages.MetricsFetchResponse, "asking for metrics").metrics

    def ping(self) -> None:
        """Return when the broker answers."""
        self._ask(messages.Ping(), messages.Pong, "pinging")

    def _produce(self, topic: str, partition: int, records: list[bytes]) -> Produced:
        request = messages.Produce(topic=topic, partition=partition, records=records)

        def attempt(deadline: Deadline) -> Produced:
            doing = f"producing to {topic}/{partition}"
            try:
                answer = self._attempt(request, messages.ProduceResponse, doing, deadline)
            except ConnectionLost as error:
                if error.sent:
                    raise OutcomeUnknown(error) from error
                raise
            except RustLogError as error:
                # Short of space it did nothing; after other failures of its own nobody can say.
                error.retriable = error.code == Code.INSUFFICIENT_SPACE
                raise
            return Produced(answer.base_offset, answer.base_offset + answer.record_count)

        return self._retrier.run(attempt)

    def _ask(self, request: messages.Request, expected: type[R], doing: str) -> R:
        return self._retrier.run(lambda deadline: self._attempt(request, expected, doing, deadline))

    def _attempt(self, request: messages.Request, expected: type[R], doing: str, deadline: Deadline) -> R:
        """One attempt at each address until one can be reached."""
        answer: Any = self._reach(lambda c: c.ask(request, doing=doing, deadline=deadline), deadline)
        if isinstance(answer, messages.Error):
            raise RustLogError(answer)
        if not isinstance(answer, expected):
            raise BadAnswer(
                f"{self._addresses[0]}: {type(answer).__name__} while {doing}; expected {expected.__name__}."
            )
        return answer

    def _reach(self, exchange: Callable[[Connection], T], deadline: Deadline) -> T:
        for address in self._addresses[:-1]:
            try:
                return self._exchange(address, exchange, deadline)
            except ConnectionLost as error:
                if error.sent:
                    raise
        return self._exchange(self._addresses[-1], exchange, deadline)

    def _exchange(self, address: Address, exchange: Callable[[Connection], T], deadline: Deadline) -> T:
        with self._pool.borrow(address, deadline) as connection:
            return exchange(connection)


def lots(records: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The records in their order, in lots that one Produce may carry; one too large is alone."""
    lot: list[bytes] = []
    size = 0
    for record in records:
        more = len(record) + 4
        if lot and (len(lot) == RECORDS_MAX or size + more > PAYLOAD_BYTES_MAX):
            yield lot
            lot, size = [], 0
        lot.append(record)
        size += more
    if lot:
        yield lot

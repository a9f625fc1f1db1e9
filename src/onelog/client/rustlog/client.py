"""A RustLog broker as a client sees it: every request of the protocol, typed.

It speaks JSON, as the document has it, or the binary form that RustLog's own broker understands.
What can be asked twice is asked again when the connection breaks. A produce cannot: the
protocol has no way to tell a repetition, so one whose answer was lost ends in OutcomeUnknown.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from onelog.client.address import DEFAULT_BOOTSTRAP, parse_bootstrap
from onelog.client.closing import Closing
from onelog.client.errors import BadAnswer, ClientError, ConnectionLost, OutcomeUnknown
from onelog.client.pool import Pool
from onelog.client.retry import Deadline, Retrier, RetryPolicy
from onelog.client.rustlog import answers
from onelog.client.rustlog.answers import Fetched, FetchedRecord, PartitionState, Produced
from onelog.client.rustlog.connection import Connection
from onelog.client.rustlog.errors import RustLogError
from onelog.client.rustlog.forms import Form
from onelog.model import Address
from onelog.protocols.rustlog.errors import BinaryCode, Code
from onelog.protocols.rustlog.messages import json as messages

A = TypeVar("A", bound=answers.Answer)
T = TypeVar("T")

FETCH_BYTES_MAX = 1 << 20


class RustLogClient(Closing):
    """One broker. Safe to use from several threads. Close it, or use it in a `with`."""

    def __init__(
        self,
        bootstrap: str | Sequence[Address] = DEFAULT_BOOTSTRAP,
        *,
        timeout_s: float = 30.0,
        retrier: Retrier | None = None,
        form: Form = Form.JSON,
    ) -> None:
        self._addresses = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self._retrier = retrier or Retrier(RetryPolicy(timeout_s=timeout_s))
        self._form = form
        self._pool: Pool[Connection] = Pool(lambda address, deadline: Connection(address, deadline, form))

    def close(self) -> None:
        """Close the connections. Calls after it fail."""
        self._pool.close()

    def produce(self, topic: str, partition: int, records: Iterable[bytes]) -> list[Produced]:
        """Append records; where each request's worth of them went, when all are acknowledged."""
        return [self._produce(topic, partition, lot) for lot in lots(records, form=self._form)]

    def fetch(
        self, topic: str, partition: int, offset: int, *, bytes_max: int = FETCH_BYTES_MAX, group: str = ""
    ) -> Fetched:
        """The records from an offset on, about bytes_max of them; none at the end of the log.

        In the binary form a group reads from its position, whatever the offset says, and an
        offset of 0 is where the log begins.
        """
        request = messages.Fetch(
            group_id=group, topic=topic, partition=partition, offset=offset, max_bytes=bytes_max
        )
        return self._ask(request, Fetched, f"fetching from {topic}/{partition}")

    def iterate(self, topic: str, partition: int, offset: int) -> Iterator[FetchedRecord]:
        """Every record from an offset on, until there is none."""
        while (fetched := self.fetch(topic, partition, offset)).records:
            yield from fetched.records
            offset = fetched.next_offset

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Keep the next offset that a group will read."""
        request = messages.OffsetCommit(group=group, topic=topic, partition=partition, offset=offset)
        doing = f"committing a position of group {group!r}"
        if not self._ask(request, answers.Committed, doing).success:
            raise ClientError(
                f"group {group!r}, {topic}/{partition}: the broker did not take the position. "
                "Is there such a topic and partition, and has the group no members at work?"
            )

    def position(self, group: str, topic: str, partition: int) -> int | None:
        """The next offset that a group will read; None if it never said."""
        request = messages.OffsetFetch(group=group, topic=topic, partition=partition)
        doing = f"asking for a position of group {group!r}"
        return self._ask(request, answers.Position, doing).offset

    def create_topic(self, name: str, *, partition_count: int = 1) -> int:
        """Make a topic; the number of partitions it has got."""
        request = messages.CreateTopic(topic=name, partition_count=partition_count)
        lost = False

        def attempt(deadline: Deadline) -> int:
            nonlocal lost
            doing = f"creating topic {name}"
            try:
                made = self._attempt(request, answers.Created, doing, deadline)
            except ConnectionLost as error:
                lost = lost or error.sent
                raise
            except RustLogError as error:
                # An attempt whose answer was lost may have made it.
                if lost and self._partition_count(name, error) == partition_count:
                    return partition_count
                raise
            return partition_count if made.partition_count is None else made.partition_count

        return self._retrier.run(attempt)

    def _partition_count(self, name: str, error: RustLogError) -> object:
        """Of the topic that is there already, if that is what the error says."""
        if self._form is Form.BINARY and error.code == BinaryCode.TOPIC_EXISTS:
            return next((each.partition_count for each in self.topics() if each.name == name), None)
        return error.details.get("partition_count")

    def topics(self) -> list[messages.TopicSummary]:
        """Every topic, with its number of partitions."""
        return self._ask(messages.ListTopics(), answers.Topics, "listing topics").topics

    def describe_topic(self, name: str) -> list[PartitionState]:
        """The partitions of a topic, with their offsets."""
        request = messages.DescribeTopic(topic=name)
        return self._ask(request, answers.Described, f"describing topic {name}").partitions

    def describe_partition(self, topic: str, partition: int) -> PartitionState:
        """One partition of a topic, with its offsets."""
        request = messages.DescribePartition(topic=topic, partition=partition)
        [state] = self._ask(request, answers.Described, f"describing {topic}/{partition}").partitions
        return state

    def metrics(self) -> answers.Metrics:
        """The broker in numbers."""
        return self._ask(messages.MetricsFetch(), answers.Metrics, "asking for metrics")

    def ping(self) -> None:
        """Return when the broker answers."""
        self._ask(messages.Ping(), answers.Pong, "pinging")

    def _produce(self, topic: str, partition: int, records: list[bytes]) -> Produced:
        request = messages.Produce(topic=topic, partition=partition, records=records)

        def attempt(deadline: Deadline) -> Produced:
            doing = f"producing to {topic}/{partition}"
            try:
                return self._attempt(request, Produced, doing, deadline)
            except ConnectionLost as error:
                if error.sent:
                    raise OutcomeUnknown(error) from error
                raise
            except RustLogError as error:
                # Short of space it did nothing; after other failures of its own nobody can say.
                error.retriable = error.code == Code.INSUFFICIENT_SPACE
                raise

        return self._retrier.run(attempt)

    def _ask(self, request: messages.Request, expected: type[A], doing: str) -> A:
        return self._retrier.run(lambda deadline: self._attempt(request, expected, doing, deadline))

    def _attempt(self, request: messages.Request, expected: type[A], doing: str, deadline: Deadline) -> A:
        """One attempt at each address until one can be reached."""
        answer = self._reach(lambda c: c.ask(request, doing=doing, deadline=deadline), deadline)
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


def lots(records: Iterable[bytes], *, form: Form = Form.JSON) -> Iterator[list[bytes]]:
    """The records in their order, in lots that one Produce may carry; one too large is alone."""
    lot: list[bytes] = []
    size = 0
    for record in records:
        more = len(record) + 4
        if lot and (len(lot) == form.records_max or size + more > form.payload_bytes_max):
            yield lot
            lot, size = [], 0
        lot.append(record)
        size += more
    if lot:
        yield lot

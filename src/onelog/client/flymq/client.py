"""A FlyMQ broker as a client sees it: every request that is served here, typed.

What can be asked twice is asked again when the connection breaks. A produce cannot: the
protocol has no way to tell a repetition, so one whose answer was lost ends in OutcomeUnknown.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from onelog.client.address import DEFAULT_BOOTSTRAP, parse_bootstrap
from onelog.client.closing import Closing
from onelog.client.errors import BadAnswer, ConnectionLost, OutcomeUnknown
from onelog.client.flymq.connection import Connection
from onelog.client.flymq.errors import FlyMQError
from onelog.client.pool import Pool
from onelog.client.retry import Deadline, Retrier, RetryPolicy
from onelog.model import Address
from onelog.protocols.flymq.framing import Opcode
from onelog.protocols.flymq.messages.admin import (
    Auth,
    Authenticated,
    ClusterMetadata,
    ClusterState,
    Identity,
    WhoAmI,
)
from onelog.protocols.flymq.messages.fetch import Consume, Consumed, Fetch
from onelog.protocols.flymq.messages.groups import (
    Commit,
    DeleteGroup,
    DescribeGroup,
    GetLag,
    GetOffset,
    GroupDescribed,
    Groups,
    GroupSummary,
    Lag,
    ListGroups,
    Place,
    ResetOffset,
    SeekToTimestamp,
    Subscribe,
)
from onelog.protocols.flymq.messages.produce import AUTO, Produce
from onelog.protocols.flymq.messages.produce import Produced as ProducedAnswer
from onelog.protocols.flymq.messages.topics import (
    CreateTopic,
    DeleteTopic,
    Done,
    ListTopics,
    Metadata,
    PartitionEnds,
    TopicMetadata,
    TopicNames,
)
from onelog.protocols.flymq.recordset import FetchAnswer, Fetched

R = TypeVar("R")
T = TypeVar("T")

FETCH_COUNT_MAX = 1000
# What is sent before the answers to it are read: little enough for the sockets to hold either.
LOT_COUNT_MAX = 128
LOT_BYTES_MAX = 1 << 20
# Who asks an original broker where its partitions begin and end, which makes this a group there.
ASKING_GROUP = "onelog"


class Outgoing(NamedTuple):
    """A record to be written. No key is an empty one; without a partition the broker chooses."""

    value: bytes
    key: bytes | None = None
    partition: int | None = None


class Produced(NamedTuple):
    """Where a record went."""

    partition: int
    offset: int
    timestamp_ms: int


class FlyMQClient(Closing):
    """One broker. Safe to use from several threads. Close it, or use it in a `with`."""

    def __init__(
        self,
        bootstrap: str | Sequence[Address] = DEFAULT_BOOTSTRAP,
        *,
        user: str | None = None,
        password: str = "",
        timeout_s: float = 30.0,
        retrier: Retrier | None = None,
    ) -> None:
        self._addresses = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else list(bootstrap)
        self._retrier = retrier or Retrier(RetryPolicy(timeout_s=timeout_s))
        login = None if user is None else Auth(user=user, password=password)
        self._pool: Pool[Connection] = Pool(partial(Connection, login=login))

    def close(self) -> None:
        """Close the connections. Calls after it fail."""
        self._pool.close()

    # Records.

    def produce(
        self, topic: str, value: bytes, *, key: bytes | None = None, partition: int | None = None
    ) -> Produced:
        """Append one record; where it went, when it is acknowledged."""
        return self.produce_all(topic, [Outgoing(value, key, partition)])[0]

    def produce_all(self, topic: str, records: Iterable[Outgoing], *, packed: bool = False) -> list[Produced]:
        """Append records in their order, many on their way at a time. packed: each one gzipped.

        The first that is refused ends it; those before it, and some behind it, may have been taken.
        """
        return [made for lot in lots(records) for made in self._produce(topic, lot, packed=packed)]

    def fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        count_max: int = FETCH_COUNT_MAX,
        filter: str = "",
    ) -> FetchAnswer:
        """Records from an offset on, those that the filter wants; none at the end of the log."""
        request = Fetch(topic=topic, partition=partition, offset=offset, count_max=count_max, filter=filter)
        return self._ask(Opcode.FETCH, request, FetchAnswer, f"fetching from {topic}/{partition}")

    def iterate(self, topic: str, partition: int, offset: int, *, filter: str = "") -> Iterator[Fetched]:
        """Every record from an offset on that the filter wants, until there is none."""
        while True:
            fetched = self.fetch(topic, partition, offset, filter=filter)
            yield from fetched.records
            if fetched.next_offset == offset:
                return
            offset = fetched.next_offset

    def consume(self, topic: str, partition: int, offset: int) -> Consumed:
        """The one record at an offset."""
        request = Consume(topic=topic, partition=partition, offset=offset)
        return self._ask(Opcode.CONSUME, request, Consumed, f"consuming {topic}/{partition} at {offset}")

    # Topics.

    def create_topic(self, name: str, *, partition_count: int = 1) -> None:
        """Make a topic; one that is there stays as it is."""
        request = CreateTopic(topic=name, partitions=partition_count)
        self._ask(Opcode.CREATE_TOPIC, request, Done, f"creating topic {name}")

    def delete_topic(self, name: str) -> None:
        """Remove a topic, if there is one."""
        request = DeleteTopic(topic=name)
        self._ask(Opcode.DELETE_TOPIC, request, Done, f"deleting topic {name}")

    def topics(self) -> list[str]:
        """The names of all topics, but those that begin with two underscores."""
        return self._ask(Opcode.LIST_TOPICS, ListTopics(), TopicNames, "listing topics").topics

    def cluster(self, topic: str = "") -> ClusterState:
        """Who serves which partition, of one topic or of all."""
        request = ClusterMetadata(topic=topic)
        return self._ask(Opcode.CLUSTER_METADATA, request, ClusterState, "asking for the cluster's metadata")

    def partitions(self, topic: str) -> list[PartitionEnds]:
        """Where the partitions of a topic begin and end."""
        request = Metadata(topic=topic)
        try:
            return self._ask(Opcode.METADATA, request, TopicMetadata, f"describing topic {topic}").partitions
        except FlyMQError as error:
            if not error.is_unknown_opcode:
                raise
        # An original broker has the request in its document only.
        [state] = self.cluster(topic).topics
        return [self._ends(topic, each.partition) for each in state.partitions]

    # Groups.

    def subscribe(self, group: str, topic: str, partition: int, mode: str = "commit") -> int:
        """Where to begin to read: earliest, latest, or commit, which is earliest without one."""
        request = Subscribe(topic=topic, group=group, partition=partition, mode=mode)
        doing = f"subscribing to {topic}/{partition} for group {group!r}"
        return self._ask(Opcode.SUBSCRIBE, request, Place, doing).offset

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Keep the next offset that a group will read."""
        request = Commit(topic=topic, group=group, partition=partition, offset=offset)
        self._ask(Opcode.COMMIT, request, Done, f"committing a position of group {group!r}")

    def position(self, group: str, topic: str, partition: int) -> int | None:
        """The next offset that a group will read; None if there is no such group in the topic."""
        request = GetOffset(topic=topic, group=group, partition=partition)
        try:
            return self._ask(
                Opcode.GET_OFFSET, request, Place, f"asking for a position of group {group!r}"
            ).offset
        except FlyMQError as error:
            if error.is_unknown_group:
                return None
            raise

    def lag(self, group: str, topic: str, partition: int) -> Lag:
        """How far a group has read, and how much there is behind it."""
        request = GetLag(topic=topic, group=group, partition=partition)
        return self._ask(Opcode.GET_LAG, request, Lag, f"asking for the lag of group {group!r}")

    def reset(self, group: str, topic: str, partition: int, to: str | int) -> None:
        """Move a group's position: earliest, latest, or an offset."""
        mode, offset = ("offset", to) if isinstance(to, int) else (to, None)
        request = ResetOffset(topic=topic, group=group, partition=partition, mode=mode, offset=offset)
        self._ask(Opcode.RESET_OFFSET, request, Done, f"moving a position of group {group!r}")

    def seek(self, topic: str, partition: int, timestamp_ms: int, *, group: str = "") -> int:
        """The first offset at or after a time, or the end; kept as the group's position, if one is named."""
        request = SeekToTimestamp(topic=topic, group=group, partition=partition, timestamp_ms=timestamp_ms)
        doing = f"looking for a time in {topic}/{partition}"
        return self._ask(Opcode.SEEK_TO_TIMESTAMP, request, Place, doing).offset

    def groups(self) -> list[GroupSummary]:
        """Every group of every topic."""
        return self._ask(Opcode.LIST_GROUPS, ListGroups(), Groups, "listing groups").groups

    def describe_group(self, group: str, topic: str) -> GroupDescribed:
        """One group of a topic."""
        request = DescribeGroup(topic=topic, group=group)
        return self._ask(Opcode.DESCRIBE_GROUP, request, GroupDescribed, f"describing group {group!r}")

    def delete_group(self, group: str, topic: str) -> None:
        """Forget a group's positions in a topic."""
        request = DeleteGroup(topic=topic, group=group)
        self._ask(Opcode.DELETE_GROUP, request, Done, f"deleting group {group!r}")

    # Who we are.

    def whoami(self) -> Identity:
        """Who the broker believes us to be."""
        answer: Any = self._retrier.run(
            lambda deadline: self._attempt(Opcode.WHOAMI, WhoAmI(), "asking who we are", deadline)
        )
        if isinstance(answer, Authenticated):  # an original broker's form
            return Identity(
                authenticated=answer.success, user=answer.user, roles=answer.roles, permissions=[]
            )
        assert isinstance(answer, Identity)
        return answer

    def _produce(self, topic: str, lot: Sequence[Outgoing], *, packed: bool) -> list[Produced]:
        requests = [
            Produce(
                topic=topic,
                key=record.key or b"",
                value=record.value,
                partition=AUTO if record.partition is None else record.partition,
            )
            for record in lot
        ]
        doing = f"producing to {topic}"

        def attempt(deadline: Deadline) -> list[Produced]:
            try:
                answers = self._reach(
                    lambda c: c.ask_all(
                        Opcode.PRODUCE, requests, packed=packed, doing=doing, deadline=deadline
                    ),
                    deadline,
                )
            except ConnectionLost as error:
                if error.sent:
                    raise OutcomeUnknown(error) from error
                raise
            return [self._produced(answer, doing) for answer in answers]

        return self._retrier.run(attempt)

    def _produced(self, answer: Any, doing: str) -> Produced:
        if isinstance(answer, FlyMQError):
            answer.retriable = False  # others of its lot were taken
            raise answer
        made = self._expected(answer, ProducedAnswer, doing)
        return Produced(made.partition, made.offset, made.timestamp_ms)

    def _ends(self, topic: str, partition: int) -> PartitionEnds:
        oldest, newest = (
            self.subscribe(ASKING_GROUP, topic, partition, mode) for mode in ("earliest", "latest")
        )
        # Of an empty partition it says 1.
        if newest - oldest == 1 and not self.fetch(topic, partition, oldest, count_max=1).records:
            newest = oldest
        return PartitionEnds(partition=partition, leader_id=0, oldest=oldest, newest=newest)

    def _ask(self, opcode: Opcode, request: Any, expected: type[R], doing: str) -> R:
        return self._retrier.run(
            lambda deadline: self._expected(self._attempt(opcode, request, doing, deadline), expected, doing)
        )

    def _expected(self, answer: Any, expected: type[R], doing: str) -> R:
        if not isinstance(answer, expected):
            raise BadAnswer(
                f"{self._addresses[0]}: {type(answer).__name__} while {doing}; expected {expected.__name__}."
            )
        return answer

    def _attempt(self, opcode: Opcode, request: Any, doing: str, deadline: Deadline) -> Any:
        """One attempt at each address until one can be reached."""
        answer = self._reach(lambda c: c.ask(opcode, request, doing=doing, deadline=deadline), deadline)
        if isinstance(answer, FlyMQError):
            raise answer
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


def lots(records: Iterable[Outgoing]) -> Iterator[list[Outgoing]]:
    """The records in their order, in lots that may be on their way together; a large one is alone."""
    lot: list[Outgoing] = []
    size = 0
    for record in records:
        more = len(record.value) + len(record.key or b"")
        if lot and (len(lot) == LOT_COUNT_MAX or size + more > LOT_BYTES_MAX):
            yield lot
            lot, size = [], 0
        lot.append(record)
        size += more
    if lot:
        yield lot

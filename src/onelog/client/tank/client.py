"""A TANK broker as a client sees it: every request of the protocol, typed.

Messages have sequence numbers, from 1 on, which are the product's offsets + 1. What can be
asked twice is asked again when the connection breaks. A produce cannot: the protocol has no
way to tell a repetition, so one whose answer was lost ends in OutcomeUnknown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

from onelog.binary.errors import BinaryError
from onelog.client.address import DEFAULT_BOOTSTRAPS, parse_bootstrap
from onelog.client.closing import Closing
from onelog.client.errors import BadAnswer, ClientError, ConnectionLost, OutcomeUnknown
from onelog.client.pool import Pool
from onelog.client.retry import Deadline, Retrier, RetryPolicy
from onelog.client.tank.connection import Connection
from onelog.client.tank.errors import OutOfRange, TankError
from onelog.errors import InvalidRecord
from onelog.model import Address
from onelog.protocols.tank.errors import Code, CreateCode, ReloadCode
from onelog.protocols.tank.messages.admin import StatusRequest, StatusResponse
from onelog.protocols.tank.messages.bundle import KEY_BYTES_MAX, Buffer, encode_bundle, unpacked
from onelog.protocols.tank.messages.fetch import (
    SEQUENCE_END,
    SEQUENCE_FIRST,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    Outcome,
)
from onelog.protocols.tank.messages.produce import (
    ProduceEntry,
    ProduceNumberedRequest,
    ProduceRequest,
    ProduceResponse,
    ProduceTopic,
)
from onelog.protocols.tank.messages.topics import (
    CreateTopicRequest,
    CreateTopicResponse,
    DiscoverPartitionsRequest,
    DiscoverPartitionsResponse,
    DiscoverTopicsRequest,
    DiscoverTopicsResponse,
    PartitionSpan,
    ReloadConfigRequest,
    ReloadConfigResponse,
)
from onelog.records.record import Record

T = TypeVar("T")
Numbered = tuple[int, Record]

FIRST = SEQUENCE_FIRST
END = SEQUENCE_END
CLIENT_ID = b"onelog"
VERSION = 2
FETCH_BYTES_MAX = 1 << 20
# What one bundle is made of at most. Some readers lose count of bundles with more messages.
BUNDLE_MESSAGES_MAX = 255
BUNDLE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Fetched:
    """Messages in order of their sequences, where to go on, and the newest sequence of the partition."""

    messages: Sequence[Numbered]
    next_sequence: int
    last: int


class TankClient(Closing):
    """One broker. Safe to use from several threads. Close it, or use it in a `with`."""

    def __init__(
        self,
        bootstrap: str | Sequence[Address] = DEFAULT_BOOTSTRAPS["tank"],
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

    # ---- messages

    def produce(
        self, topic: str, partition: int, records: Iterable[Record], *, is_snappy: bool = False
    ) -> int:
        """Append records; how many, when all are acknowledged. The protocol does not tell where they went."""
        count = 0
        for lot in lots(enumerate(records)):
            bundle = encode_bundle(lot, is_snappy=is_snappy)
            entry = ProduceEntry(partition, bundle)
            self._produce(ProduceRequest(0, client_id=CLIENT_ID), topic, entry)
            count += len(lot)
        return count

    def produce_numbered(self, topic: str, partition: int, messages: Iterable[Numbered]) -> int:
        """Append records under these sequences, which rise and are all above the newest; how many."""
        count = 0
        for lot in lots((sequence - 1, record) for sequence, record in messages):
            bundle = encode_bundle(lot, is_sparse=True)
            entry = ProduceEntry(partition, bundle, base_sequence=lot[0][0] + 1)
            self._produce(ProduceNumberedRequest(0, client_id=CLIENT_ID), topic, entry)
            count += len(lot)
        return count

    def fetch(
        self,
        topic: str,
        partition: int,
        sequence: int,
        *,
        bytes_max: int = FETCH_BYTES_MAX,
        wait_ms: int = 0,
        bytes_min: int = 0,
    ) -> Fetched:
        """The messages from a sequence on, FIRST or END; none if none came in wait_ms."""
        wanted = {partition: sequence}
        return self.fetch_many(topic, wanted, bytes_max=bytes_max, wait_ms=wait_ms, bytes_min=bytes_min)[
            partition
        ]

    def fetch_many(
        self,
        topic: str,
        sequences: Mapping[int, int],
        *,
        bytes_max: int = FETCH_BYTES_MAX,
        wait_ms: int = 0,
        bytes_min: int = 0,
    ) -> dict[int, Fetched]:
        """The same of several partitions of a topic, at most 255; waits only if none has anything."""
        wanted = [
            FetchPartition(partition=partition, sequence=sequence, bytes_max=bytes_max)
            for partition, sequence in sequences.items()
        ]
        request = FetchRequest(
            version=VERSION,
            client_id=CLIENT_ID,
            wait_ms=wait_ms,
            bytes_min=bytes_min,
            topics=[FetchTopic(name=_name(topic), partitions=wanted)],
        )
        doing = f"fetching from {topic}"

        def attempt(deadline: Deadline) -> dict[int, Fetched]:
            answer: FetchResponse = self._attempt(request, doing, deadline)
            entries = answer.topics[0].partitions if answer.topics else None
            if entries is None:
                raise TankError(Code.UNKNOWN_TOPIC, Code, doing=doing)
            if [entry.partition for entry in entries] != list(sequences):
                raise BadAnswer(f"{self._addresses[0]}: other partitions than asked for while {doing}.")
            return {e.partition: _fetched(e, sequences[e.partition], doing) for e in entries}

        deadline = self._retrier.deadline(longer_s=wait_ms / 1000)
        return self._retrier.run(attempt, deadline=deadline)

    def iterate(self, topic: str, partition: int, sequence: int = FIRST) -> Iterator[Numbered]:
        """Every message from a sequence on, until there is none."""
        while (fetched := self.fetch(topic, partition, sequence)).messages:
            yield from fetched.messages
            sequence = fetched.next_sequence

    # ---- topics

    def create_topic(
        self, name: str, *, partition_count: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        """Make a topic. config: TANK's settings, like {"log.retention.secs": "2d"}."""
        lines = "".join(f"{key}={value}\n" for key, value in (config or {}).items())
        request = CreateTopicRequest(name=_name(name), partition_count=partition_count, config=lines.encode())
        doing = f"creating topic {name}"
        lost = False

        def attempt(deadline: Deadline) -> None:
            nonlocal lost
            try:
                answer: CreateTopicResponse = self._attempt(request, doing, deadline)
            except ConnectionLost as error:
                lost = lost or error.sent
                raise
            # An attempt whose answer was lost may have made it.
            if answer.code != CreateCode.CREATED and not (lost and answer.code == CreateCode.EXISTS):
                raise TankError(answer.code, CreateCode, doing=doing)

        self._retrier.run(attempt)

    def topics(self) -> dict[str, int]:
        """Every topic, with its number of partitions."""
        answer: DiscoverTopicsResponse = self._ask(DiscoverTopicsRequest(), "listing topics")
        return {topic.name.decode("latin-1"): topic.partition_count for topic in answer.topics}

    def partitions(self, topic: str) -> list[PartitionSpan]:
        """The first and the last sequence of each partition."""
        doing = f"describing topic {topic}"
        request = DiscoverPartitionsRequest(0, _name(topic))
        answer: DiscoverPartitionsResponse = self._ask(request, doing)
        if not answer.spans:
            raise TankError(Code.UNKNOWN_TOPIC, Code, doing=doing)
        return answer.spans

    def reload_config(self, topic: str, partition: int) -> None:
        """Have a partition read its settings again."""
        doing = f"reloading the settings of {topic}/{partition}"
        request = ReloadConfigRequest(topic=_name(topic), partition=partition)
        answer: ReloadConfigResponse = self._ask(request, doing)
        _require(answer.code, ReloadCode, doing)

    # ---- the broker

    def status(self) -> StatusResponse:
        """How much there is, and since when."""
        found: StatusResponse = self._ask(StatusRequest(), "asking for the status")
        return found

    def ping(self) -> None:
        """Return when a broker has pinged us: on a new connection it does so first."""

        def attempt(deadline: Deadline) -> None:
            Connection(self._addresses[0], deadline).close()

        self._retrier.run(attempt)

    def _produce(self, request: ProduceRequest, topic: str, entry: ProduceEntry) -> None:
        request.topics = [ProduceTopic(_name(topic), [entry])]
        doing = f"producing to {topic}/{entry.partition}"

        def attempt(deadline: Deadline) -> None:
            try:
                answer: ProduceResponse = self._attempt(request, doing, deadline)
            except ConnectionLost as error:
                if error.sent:
                    raise OutcomeUnknown(error) from error
                raise
            if not answer.codes:
                raise BadAnswer(f"{self._addresses[0]}: no code for the bundle while {doing}.")
            _require(answer.codes[0], Code, doing)

        self._retrier.run(attempt)

    def _ask(self, request: Any, doing: str) -> Any:
        return self._retrier.run(lambda deadline: self._attempt(request, doing, deadline))

    def _attempt(self, request: Any, doing: str, deadline: Deadline) -> Any:
        """One attempt at each address until one can be reached."""
        return self._reach(lambda c: c.ask(request, doing=doing, deadline=deadline), deadline)

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


def lots(numbered: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """The records in their order, in lots of a bundle each; one too large is alone."""
    lot: list[Numbered] = []
    size = 0
    for offset, record in numbered:
        key, value = record.key, record.value
        if value is None or record.headers or (key is not None and len(key) > KEY_BYTES_MAX):
            raise ClientError(f"TANK cannot say headers, null, or a key of more than {KEY_BYTES_MAX} bytes.")
        more = len(value) + len(key or b"") + 16
        if lot and (len(lot) == BUNDLE_MESSAGES_MAX or size + more > BUNDLE_BYTES_MAX):
            yield lot
            lot, size = [], 0
        lot.append((offset, record))
        size += more
    if lot:
        yield lot


def _fetched(entry: FetchedPartition, asked: int, doing: str) -> Fetched:
    if entry.outcome is Outcome.OUT_OF_RANGE:
        raise OutOfRange(first_available=entry.first_available, last=entry.last, doing=doing)
    if entry.outcome not in (Outcome.FETCHED, Outcome.FETCHED_SPARSE):
        raise TankError(entry.outcome, Outcome, doing=doing)
    chunk: Buffer = entry.chunk
    try:
        found = unpacked(chunk, base=entry.base, where=doing)
    except (BinaryError, InvalidRecord) as error:
        raise BadAnswer(f"a bad bundle while {doing}: {error}") from error
    if not found:
        if chunk:
            raise ClientError(f"{doing}: the next bundle has more than {len(chunk)} bytes; ask for more.")
        return Fetched((), entry.last + 1 if asked in (FIRST, END) else asked, entry.last)
    least = 0 if asked == END else asked
    # A chunk begins with the whole bundle that holds the message asked for.
    wanted = [numbered for numbered in found if numbered[0] >= least]
    return Fetched(wanted, found[-1][0] + 1, entry.last)


def _require(code: int, kind: type[IntEnum], doing: str) -> None:
    if code:
        raise TankError(code, kind, doing=doing)


def _name(topic: str) -> bytes:
    try:
        return topic.encode("latin-1")
    except UnicodeEncodeError as error:
        raise ClientError(f"{topic!r} cannot be a topic of TANK.") from error

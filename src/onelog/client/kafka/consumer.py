"""Batches and records out of partitions, from an offset on.

A fetch hands out whole batches as views of the received frame: no record is touched until
somebody asks for it. The first batch may begin before the offset that was asked for; who
takes records from batches leaves out what is before. No group, no state on the broker.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onelog.client.errors import BadAnswer
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.connection import ANY_VERSION
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.metadata import TopicView
from onelog.client.retry import Deadline
from onelog.errors import CorruptBatch, InvalidRecord
from onelog.model import NO_TOPIC_ID, Address, Isolation
from onelog.protocols.kafka.errors import Code
from onelog.protocols.kafka.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from onelog.protocols.kafka.recordset import received
from onelog.records.batch import Batch
from onelog.records.codec import validate
from onelog.records.control import Aborted, data_batches
from onelog.records.record import Record

FETCH_BYTES_MAX = 16 << 20
WAIT_MS = 500
# From the next version on a topic goes by its id, which old clusters do not tell.
FETCH_BY_NAME_MAX = 12
FULL_SESSION_EPOCH = -1


@dataclass(frozen=True)
class Fetched:
    """What one fetch brought of one partition.

    The marks are the partition's at that moment: records below `log_start` are gone, at
    `high_watermark` the next one will be; `last_stable` is as far as committed readers see.
    """

    topic: str
    partition: int
    offset: int
    batches: Sequence[Batch]
    high_watermark: int
    last_stable: int
    log_start: int
    aborted: Sequence[Aborted] | None = None

    @property
    def next_offset(self) -> int:
        """Where to go on: behind the last batch, markers included."""
        return self.batches[-1].offset_end if self.batches else self.offset

    def data_batches(self) -> Iterator[Batch]:
        """The batches that hold data, without markers and without aborted transactions."""
        return data_batches(self.batches, aborted=self.aborted)

    def records(self) -> Iterator[tuple[int, Record]]:
        """The records from the asked offset on, each with its offset."""
        for batch in self.data_batches():
            for offset, record in batch.numbered():
                if offset >= self.offset:
                    yield offset, record


class Consumer:
    """Reads any partition of one cluster. Holds no state: safe to use from several threads."""

    def __init__(
        self,
        client: KafkaClient,
        *,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
        check_crc: bool = True,
    ) -> None:
        self._client = client
        self._isolation = isolation
        self._check_crc = check_crc

    def fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        bytes_max: int = FETCH_BYTES_MAX,
        wait_ms: int = WAIT_MS,
        isolation: Isolation | None = None,
    ) -> Fetched:
        """The batches from an offset on: at least one if there is any, else none after wait_ms."""
        return self.fetch_many(
            topic, {partition: offset}, bytes_max=bytes_max, wait_ms=wait_ms, isolation=isolation
        )[partition]

    def fetch_many(
        self,
        topic: str,
        offsets: Mapping[int, int],
        *,
        bytes_max: int = FETCH_BYTES_MAX,
        wait_ms: int = WAIT_MS,
        isolation: Isolation | None = None,
    ) -> dict[int, Fetched]:
        """The same for several partitions, with one request to each of their leaders.

        It waits at the only leader there is; with several, each gets its share of the time.
        """
        isolation = isolation or self._isolation

        def attempt(deadline: Deadline) -> dict[int, Fetched]:
            view = self._client.topic(topic, deadline)
            by_leader: dict[Address, list[int]] = {}
            for partition in offsets:
                by_leader.setdefault(self._client.leader(view, partition), []).append(partition)
            fetched: dict[int, Fetched] = {}
            for address, partitions in by_leader.items():
                # Who has data already is not kept waiting for the others.
                patience_ms = 0 if any(f.batches for f in fetched.values()) else wait_ms // len(by_leader)
                some = [_asked(p, offsets[p], bytes_max // len(partitions)) for p in partitions]
                request = _request(view, some, bytes_max=bytes_max, wait_ms=patience_ms, isolation=isolation)
                fetched |= self._ask(address, view, request, offsets, deadline)
            return fetched

        return self._client.run(attempt, longer_s=wait_ms / 1000)

    def iterate(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        offset_end: int | None = None,
        bytes_max: int = FETCH_BYTES_MAX,
        wait_ms: int = WAIT_MS,
    ) -> Iterator[tuple[int, Record]]:
        """Every record from an offset on, with its offset, up to offset_end, which is exclusive.

        Without an end it stops where the partition ended when the first fetch was answered.
        """
        while offset_end is None or offset < offset_end:
            fetched = self.fetch(topic, partition, offset, bytes_max=bytes_max, wait_ms=wait_ms)
            if offset_end is None:
                committed = self._isolation is Isolation.READ_COMMITTED
                offset_end = fetched.last_stable if committed else fetched.high_watermark
            for at, record in fetched.records():
                if at >= offset_end:
                    return
                yield at, record
            offset = fetched.next_offset

    def _ask(
        self,
        address: Address,
        view: TopicView,
        request: FetchRequest,
        offsets: Mapping[int, int],
        deadline: Deadline,
    ) -> dict[int, Fetched]:
        answer = self._client.ask(
            address,
            request,
            FetchResponse,
            doing=f"fetching from {view.name}",
            deadline=deadline,
            version_max=FETCH_BY_NAME_MAX if view.id == NO_TOPIC_ID else ANY_VERSION,
        )
        if answer.error_code != Code.NONE:
            raise KafkaError(answer.error_code, where=view.name)
        parts = [part for each in answer.responses for part in each.partitions]
        asked = {p.partition for p in request.topics[0].partitions}
        if {part.partition_index for part in parts} != asked:
            raise BadAnswer(f"{address}: fetched from {view.name} and got other partitions than asked for.")
        return {part.partition_index: self._taken(view.name, part, offsets) for part in parts}

    def _taken(self, topic: str, part: PartitionData, offsets: Mapping[int, int]) -> Fetched:
        partition = part.partition_index
        offset = offsets[partition]
        where = f"{topic}/{partition}"
        if part.error_code != Code.NONE:
            found = None
            if part.error_code == Code.OFFSET_OUT_OF_RANGE:
                found = (
                    f"asked for offset {offset}; `onelog topics describe {topic}` shows what the log holds"
                )
            raise KafkaError(part.error_code, where=where, message=found)
        try:
            batches = received(part.records, where=where)
            if self._check_crc:
                for batch in batches:
                    validate(batch.data, where=f"{where}, batch at offset {batch.base_offset}")
        except (CorruptBatch, InvalidRecord) as error:
            raise BadAnswer(f"{error} The broker sent it like that.") from error
        aborted = part.aborted_transactions
        return Fetched(
            topic=topic,
            partition=partition,
            offset=offset,
            # What lies wholly before the offset is the rest of a large read; it was not asked for.
            batches=[batch for batch in batches if batch.offset_end > offset],
            high_watermark=part.high_watermark,
            last_stable=part.last_stable_offset if part.last_stable_offset >= 0 else part.high_watermark,
            log_start=part.log_start_offset,
            aborted=None if aborted is None else [Aborted(a.producer_id, a.first_offset) for a in aborted],
        )


def _asked(partition: int, offset: int, bytes_max: int) -> FetchPartition:
    return FetchPartition(
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max(bytes_max, 1),
    )


def _request(
    view: TopicView, partitions: list[FetchPartition], *, bytes_max: int, wait_ms: int, isolation: Isolation
) -> FetchRequest:
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=bytes_max,
        isolation_level=isolation.value,
        session_id=0,
        session_epoch=FULL_SESSION_EPOCH,
        topics=[FetchTopic(topic=view.name, topic_id=view.id, partitions=partitions)],
    )
